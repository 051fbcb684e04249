use super::*;

/// Two access points on two channels, and a client with a single radio.
fn plan(more: &str) -> Plan {
    let text = format!(
        "sentence = \"One radio.\"\nduration_s = 10\nmedium = \"exact\"\n\
         [aps.one]\nat_m = [0, 0]\nchannel = 36\nstandard = \"a\"\nbackhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n\
         [aps.two]\nat_m = [8, 0]\nchannel = 44\nstandard = \"a\"\nbackhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n\
         [walkers.client]\nat_m = [4, 0]\n{more}\n[flows.download]\ndirection = \"down\"\n"
    );
    let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
    scenario::parse("test.toml", text.as_bytes(), &[], &no_files)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn single() -> SingleRadio {
    SingleRadio::new(&plan("radio = \"single\"")).expect("a single radio")
}

fn orders(radio: &mut SingleRadio) -> Vec<Order> {
    std::iter::from_fn(|| radio.next_order()).collect()
}

const ONE: LinkId = LinkId(0);
const TWO: LinkId = LinkId(1);
const NOTHING: fn(LinkId) -> Bytes = |_| Bytes::ZERO;

fn told(event: RadioEvent) -> Order {
    Order::Tell(Input::Radio(RADIO, event))
}

fn serves(link: LinkId) -> Order {
    told(RadioEvent::Serves { link, weight: 1 })
}

fn slot(occupant: Occupant, channel: u16) -> Slot {
    Slot {
        occupant,
        channel,
        switch: Duration::from_millis(5),
        stays: Duration::from_millis(60),
    }
}

/// The radio serves one access point, after its search.
fn serving() -> SingleRadio {
    let mut radio = single();
    radio.begin();
    radio.associate(ONE, Bytes::ZERO);
    radio.reports(Instant::ZERO, RadioReport::CycleEnded, NOTHING);
    radio.state(Instant::ZERO, ONE, LinkState::Up);
    orders(&mut radio);
    radio
}

#[test]
fn a_radio_on_each_channel_takes_no_turns() {
    assert!(SingleRadio::new(&plan("")).is_none());
    assert_eq!(caveat(&plan("")), None);
    assert!(caveat(&plan("radio = \"single\"")).is_some());
}

#[test]
fn it_searches_all_channels_before_it_joins() {
    let mut radio = single();
    radio.begin();
    let begun = orders(&mut radio);
    let Some(Order::TakeTurns(turns)) = begun.last() else {
        panic!("{begun:?}");
    };
    let channels: Vec<(u8, Option<links::LinkId>)> =
        turns.iter().map(|turn| (turn.channel, turn.serves)).collect();
    assert_eq!(channels, [(36, None), (44, None)]);
    for link in [TWO, ONE, TWO] {
        radio.associate(link, Bytes::ZERO);
    }
    assert_eq!(orders(&mut radio), [], "it listens first");
    radio.reports(Instant::ZERO, RadioReport::CycleEnded, NOTHING);
    let joined = [
        serves(ONE),
        Order::Associate(ONE),
        serves(TWO),
        Order::Associate(TWO),
    ];
    assert_eq!(orders(&mut radio), joined);
}

#[test]
fn a_cycle_reports_what_each_access_point_brought() {
    let mut radio = serving();
    let reported = |radio: &mut SingleRadio, kib: u64| {
        radio.reports(Instant::ZERO, RadioReport::CycleEnded, |_| Bytes::from_kib(kib));
        orders(radio)
    };
    for (so_far, brought) in [(100, 100), (130, 30)] {
        let expected = [
            told(RadioEvent::Brought(ONE, Bytes::from_kib(brought))),
            told(RadioEvent::CycleEnded),
        ];
        assert_eq!(reported(&mut radio, so_far), expected);
    }
}

#[test]
fn what_was_sent_elsewhere_counts_as_unheard() {
    let mut radio = serving();
    radio.reports(Instant::ZERO, RadioReport::Turned { channel: 44 }, NOTHING);
    assert_eq!(orders(&mut radio), []);
    radio.reports(Instant::ZERO, RadioReport::Turned { channel: 36 }, NOTHING);
    assert_eq!(
        orders(&mut radio),
        [Order::Tell(Input::Link(ONE, LinkEvent::Away))]
    );
}

#[test]
fn a_failed_join_keeps_its_slot_for_a_while() {
    let mut radio = serving();
    radio.associate(TWO, Bytes::ZERO);
    radio.state(Instant::ZERO, TWO, LinkState::Down);
    orders(&mut radio);
    let left = |radio: &mut SingleRadio, seconds: u64| {
        let now = Instant::from_secs(seconds);
        radio.reports(now, RadioReport::CycleEnded, NOTHING);
        orders(radio).contains(&told(RadioEvent::Leaves(TWO)))
    };
    assert!(!left(&mut radio, 2));
    assert!(left(&mut radio, 3));
}

#[test]
fn an_association_that_ends_loses_its_slot_and_nothing_to_serve_means_a_search() {
    let mut radio = serving();
    radio.state(Instant::ZERO, ONE, LinkState::Down);
    assert_eq!(orders(&mut radio), [told(RadioEvent::Leaves(ONE))]);
    let scan = slot(Occupant::Scan, 36);
    radio.take_turns(&[scan], NOTHING);
    let search = orders(&mut radio);
    assert!(
        matches!(&search[..], [Order::TakeTurns(turns)] if turns.len() == 2),
        "{search:?}"
    );
    radio.take_turns(&[scan], NOTHING);
    assert_eq!(orders(&mut radio), [], "it searches already");
}

#[test]
fn a_search_may_be_ended_by_a_plan_and_a_join_by_a_leave() {
    let mut radio = single();
    radio.begin();
    radio.associate(ONE, Bytes::ZERO);
    radio.associate(TWO, Bytes::ZERO);
    radio.stop_serving(ONE);
    orders(&mut radio);
    radio.take_turns(&[slot(Occupant::Network(TWO), 44)], NOTHING);
    let ended = orders(&mut radio);
    assert!(
        matches!(&ended[..], [Order::TakeTurns(_), told, Order::Associate(TWO)] if *told == serves(TWO)),
        "{ended:?}"
    );
}

#[test]
fn a_loss_that_is_reported_late_takes_no_slot_away() {
    let mut radio = serving();
    radio.associate(TWO, Bytes::ZERO);
    radio.state(Instant::ZERO, TWO, LinkState::Down);
    radio.state(Instant::ZERO, TWO, LinkState::Up);
    orders(&mut radio);
    radio.reports(Instant::from_secs(9), RadioReport::CycleEnded, NOTHING);
    assert!(!orders(&mut radio).contains(&told(RadioEvent::Leaves(TWO))));
}

#[test]
fn the_slice_changes_with_the_first_cycle_that_ends_after_its_time() {
    let slots = "radio = \"single\"\nslots = { weights = { two = 2 }, \
        slices = [{ at_s = 2, slice_ms = 50 }, { at_s = 3, slice_ms = 40 }, { at_s = 8, slice_ms = 60 }] }";
    let of_peers = |peers: &str| {
        let mut plan = plan(slots);
        if !peers.is_empty() {
            let scenario::LinkKind::Wifi(ap) = &mut plan.links[1].kind else {
                panic!("an access point");
            };
            ap.ad_hoc = true;
        }
        let mut radio = SingleRadio::new(&plan).expect("a single radio");
        radio.associate(TWO, Bytes::ZERO);
        orders(&mut radio);
        let changes = [1_999, 2_000, 2_500, 8_000, 9_000].map(|ms| {
            radio.reports(Instant::from_millis(ms), RadioReport::CycleEnded, NOTHING);
            let mut orders = orders(&mut radio);
            assert_eq!(orders.pop(), Some(told(RadioEvent::CycleEnded)));
            orders.retain(|order| !matches!(order, Order::Tell(Input::Radio(_, RadioEvent::Brought(..)))));
            orders
        });
        changes.to_vec()
    };
    let slice = |ms| told(RadioEvent::Slice(Duration::from_millis(ms)));
    let stays = |ms| {
        told(RadioEvent::AdHoc {
            link: TWO,
            stays: Duration::from_millis(ms),
        })
    };
    // The cycle that ends after 8 s has missed the second change.
    let plain = [vec![], vec![slice(50)], vec![], vec![slice(60)], vec![]];
    assert_eq!(of_peers(""), plain);
    let peers = [
        vec![],
        vec![slice(50), stays(100)],
        vec![],
        vec![slice(60), stays(120)],
        vec![],
    ];
    assert_eq!(of_peers("two"), peers);
}
