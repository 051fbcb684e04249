//! Links that die, seem to die, and come back.

use super::World;
use crate::*;
use units::{Bytes, Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn three_cables() -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0, 1, 2]);
    world
}

#[test]
fn a_busy_link_that_dies_is_removed_within_150_ms() {
    for victim in 0..3 {
        let mut world = three_cables();
        let cut = world.now;
        world.set_alive(victim, false);
        world.run(S);
        let told = world.withdrawn(cut);
        assert!(told[0] - cut <= 150 * MS, "link {victim}: {:?}", told[0] - cut);
        assert_eq!(world.state_of(victim), "dead");
        assert!(!world.in_use().contains(&victim));
    }
}

#[test]
fn a_dead_link_is_joined_again_when_it_replies() {
    let mut world = three_cables();
    world.set_alive(1, false);
    world.run(2 * S);
    assert_eq!(world.in_use(), [0, 2]);
    world.set_alive(1, true);
    world.run(4 * S);
    assert_eq!(world.in_use(), [0, 1, 2]);
}

#[test]
fn a_dead_link_is_probed_ever_more_rarely() {
    let mut world = three_cables();
    world.set_alive(1, false);
    world.run(S);
    assert_eq!(world.state_of(1), "dead");
    let since = world.now;
    world.run(60 * S);
    let asked = world.asked(since, |action| {
        matches!(action, Action::Probe { link: LinkId(1), .. })
    });
    let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!((8..=16).contains(&asked.len()), "{pauses:?}");
    // Steps of the world are 5 ms long.
    assert!(
        pauses.windows(2).all(|pair| pair[1] + 5 * MS >= pair[0]),
        "{pauses:?}"
    );
    let longest = *pauses.last().unwrap();
    assert!(longest >= 6 * S && longest <= 7 * S, "{pauses:?}");
}

#[test]
fn rm_addr_is_sent_twice_in_case_the_first_was_lost() {
    let mut world = three_cables();
    let cut = world.now;
    world.set_alive(1, false);
    world.run(S);
    let told = world.withdrawn(cut);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1] - told[0] >= 100 * MS && told[1] - told[0] <= 400 * MS,
        "{told:?}"
    );
}

#[test]
fn a_dead_path_is_never_made_a_backup_first() {
    let mut world = three_cables();
    let cut = world.now;
    world.set_alive(1, false);
    world.run(S);
    let demoted = world.asked(cut, |action| matches!(action, Action::SetBackup { .. }));
    assert!(
        demoted.is_empty(),
        "the word would leave on a path that delivers nothing: {demoted:?}"
    );
}

/// Next to nothing moves over this link when it dies.
fn is_found_by_probes(world: &mut World, link: u16) {
    let cut = world.now;
    world.set_alive(link, false);
    world.run(2 * S);
    let probed = world.asked(
        cut,
        |action| matches!(action, Action::Probe { link: over, .. } if over.0 == link),
    );
    let told = world.withdrawn(cut);
    assert!(probed.len() >= 3 && !told.is_empty(), "{probed:?}, {told:?}");
    assert!(
        told[0] > probed[2] && told[0] - cut <= 600 * MS,
        "{:?}",
        told[0] - cut
    );
}

#[test]
fn a_low_traffic_path_that_dies_is_found_by_probes() {
    let mut world = three_cables();
    world.demand = 0.004;
    world.run(5 * S);
    is_found_by_probes(&mut world, 1);
}

#[test]
fn the_only_link_in_use_of_little_traffic_that_dies_is_found_by_probes() {
    let mut world = three_cables();
    world.demand = 0.001;
    world.run(5 * S);
    assert_eq!(world.in_use(), [0], "little goes over the quickest");
    // At this low rate a segment arrives every 230 ms, and a probe is sent when one is late.
    is_found_by_probes(&mut world, 0);
    assert_eq!(world.in_use(), [1]);
}

#[test]
fn a_slow_start_in_bursts_costs_no_link() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.open(1, 0);
    let since = world.now;
    // Slow start: a burst in every round trip, twice as long as the previous one.
    for doubling in 0..6 {
        let burst = (1 << doubling) * MS;
        world.demand = 1.0;
        world.run(burst.max(5 * MS));
        world.demand = 0.0;
        world.run((50 * MS).saturating_sub(burst));
    }
    world.demand = 1.0;
    world.run(2 * S);
    assert!(world.withdrawn(since).is_empty());
    assert_eq!(world.in_use(), [0, 1, 2]);
    // The cost of not waiting for the end of slow start: this many small packets, once.
    let asked = [0, 1, 2].map(|link| {
        let probe = |action: &Action| matches!(action, Action::Probe { link: of, .. } if of.0 == link);
        world.asked(since, probe).len()
    });
    assert!(asked.iter().all(|&probes| (1..=9).contains(&probes)), "{asked:?}");
    assert!(asked.iter().sum::<usize>() <= 20, "{asked:?}");
}

/// Round trips of 100 ms in which a sender uses up its window in 35 ms, and then waits.
fn send_in_bursts(world: &mut World, round_trips: u32) {
    for _ in 0..round_trips {
        world.demand = 1.0;
        world.run(35 * MS);
        world.demand = 0.0;
        world.run(65 * MS);
    }
}

/// An access point of one channel for each signal.
fn access_points(signals: &[f64]) -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, dbm) in (0..).zip(signals) {
        world.up(id, LinkKind::Wifi, Role::Primary, 30, 100);
        world.set_signal(id, *dbm);
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0]);
    world
}

/// When a backup was promoted.
fn promoted(world: &World, since: Instant) -> Vec<Instant> {
    let is_promotion = |action: &Action| matches!(action, Action::SetBackup { backup: false, .. });
    world.asked(since, is_promotion)
}

#[test]
fn pauses_that_return_every_round_trip_promote_a_backup_once() {
    let mut world = access_points(&[-50.0, -70.0]);
    let start = world.now;
    send_in_bursts(&mut world, 5);
    assert_eq!(promoted(&world, start).len(), 1);
    let usual = world.now;
    send_in_bursts(&mut world, 20);
    let probed = world.asked(usual, |action| {
        matches!(action, Action::Probe { link: LinkId(0), .. })
    });
    assert!(!probed.is_empty(), "the pauses are doubted");
    assert!(
        promoted(&world, usual).is_empty(),
        "{:?}",
        promoted(&world, usual)
    );
    let cut = world.now;
    world.set_alive(0, false);
    world.demand = 1.0;
    world.run(S);
    // The reply to the last probe arrives after the cut, and clears that silence for 500 ms.
    let again = *promoted(&world, cut)
        .first()
        .expect("a longer silence has another cause");
    assert!(again - cut <= 500 * MS, "{:?}", again - cut);
}

#[test]
fn a_promotion_that_was_needed_makes_nobody_wary() {
    let mut world = access_points(&[-50.0, -70.0]);
    world.set_alive(0, false);
    world.run(S);
    assert_eq!(world.in_use(), [1]);
    world.set_alive(0, true);
    world.run(5 * S);
    assert_eq!(world.in_use(), [0]);
    let since = world.now;
    send_in_bursts(&mut world, 5);
    assert!(!promoted(&world, since).is_empty());
}

#[test]
fn a_doubt_without_a_backup_makes_nobody_wary() {
    let mut world = access_points(&[-50.0]);
    let alone = world.now;
    send_in_bursts(&mut world, 5);
    let probed = world.asked(alone, |action| matches!(action, Action::Probe { .. }));
    assert!(!probed.is_empty(), "the pauses are doubted");
    world.demand = 1.0;
    world.up(1, LinkKind::Wifi, Role::Primary, 30, 100);
    world.set_signal(1, -70.0);
    world.run(2 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![0], vec![0, 1]));
    let since = world.now;
    send_in_bursts(&mut world, 5);
    assert_eq!(promoted(&world, since).len(), 1);
}

#[test]
fn a_place_is_freed_without_a_signal_over_a_path_in_doubt() {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps) in [(0, 30), (1, 20), (2, 1)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, 20);
    }
    world.open(1, 0);
    world.run(3 * S);
    world.set_alive(2, false);
    while world.state_of(2) != "in-doubt" {
        world.run(5 * MS);
    }
    let doubted = world.now;
    world.add(3, LinkKind::Wifi, Role::Primary, 30, 20);
    world.set_signal(3, -45.0);
    for _ in 0..3 {
        let beacon = LinkEvent::Beacon(units::Dbm::from_mbm(-4_500));
        world.tell(Input::Link(LinkId(3), beacon));
    }
    world.tell(Input::Link(LinkId(3), LinkEvent::Carrier(true)));
    world.tell(Input::Link(LinkId(3), LinkEvent::Usable(true)));
    let demoted = |world: &World| {
        world.asked(doubted, |action| {
            matches!(action, Action::SetBackup { backup: true, .. })
        })
    };
    assert_eq!(world.state_of(2), "in-doubt");
    assert!(demoted(&world).is_empty(), "{:?}", demoted(&world));
    world.set_alive(2, true);
    world.run(50 * MS);
    assert_eq!(demoted(&world).len(), 1, "it delivers again: now it can be told");
    world.run(2 * S);
    assert_eq!(world.joined(), [0, 1, 3]);
}

#[test]
fn idle_and_low_traffic_never_cost_a_link() {
    for demand in [0.0, 0.0005, 0.02] {
        let mut world = three_cables();
        world.demand = demand;
        let since = world.now;
        world.run(60 * S);
        assert!(world.withdrawn(since).is_empty(), "demand {demand}");
        assert_eq!(world.joined(), [0, 1, 2]);
    }
}

#[test]
fn stop_and_go_traffic_never_costs_a_link() {
    let mut world = three_cables();
    let since = world.now;
    for _ in 0..50 {
        world.demand = 0.0;
        world.run(700 * MS);
        world.demand = 1.0;
        world.run(300 * MS);
    }
    assert!(world.withdrawn(since).is_empty());
}

#[test]
fn a_mobile_network_may_be_silent_for_half_a_second() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cellular, Role::Primary, 12, 60);
    world.up(1, LinkKind::Cable, Role::Primary, 20, 30);
    world.open(1, 0);
    world.run(2 * S);
    let since = world.now;
    for _ in 0..20 {
        world.set_alive(0, false);
        world.run(500 * MS);
        world.set_alive(0, true);
        world.run(3 * S);
    }
    assert!(world.withdrawn(since).is_empty());
}

#[test]
fn the_last_path_is_never_closed() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.open(1, 0);
    world.run(2 * S);
    world.set_alive(0, false);
    world.run(20 * S);
    assert_eq!(world.joined(), [0]);
}

#[test]
fn when_every_link_was_gone_the_first_that_returns_is_joined_at_once() {
    let mut world = three_cables();
    for id in 0..3 {
        world.set_alive(id, false);
        world.tell(Input::Link(LinkId(id), LinkEvent::Carrier(false)));
        world.tell(Input::Link(LinkId(id), LinkEvent::Usable(false)));
    }
    world.run(5 * S);
    let back = world.now;
    world.set_alive(2, true);
    world.tell(Input::Link(LinkId(2), LinkEvent::Carrier(true)));
    world.tell(Input::Link(LinkId(2), LinkEvent::Usable(true)));
    let joins = world.asked(back, |action| {
        matches!(action, Action::Join { link: LinkId(2), .. })
    });
    assert_eq!(joins, [back]);
    world.run(S);
    assert_eq!(world.in_use(), [2]);
}

#[test]
fn a_lost_carrier_is_proof_by_itself() {
    let mut world = three_cables();
    let cut = world.now;
    world.set_alive(0, false);
    world.tell(Input::Link(LinkId(0), LinkEvent::Carrier(false)));
    assert_eq!(world.withdrawn(cut), [cut]);
}

#[test]
fn a_backup_takes_over_when_the_only_good_link_dies() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.up(1, LinkKind::Cable, Role::Backup, 50, 30);
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![0], vec![0, 1]));
    let cut = world.now;
    world.set_alive(0, false);
    world.run(S);
    assert_eq!(world.in_use(), [1]);
    let raised = world.asked(cut, |action| {
        matches!(action, Action::SetBackup { backup: false, .. })
    });
    assert!(raised[0] - cut <= 150 * MS, "{:?}", raised[0] - cut);
}

#[test]
fn a_stalled_upload_is_noticed_by_its_missing_acknowledgements() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    world.up(1, LinkKind::Cable, Role::Primary, 50, 20);
    world.demand = 0.0;
    world.open(1, 0);
    world.run(S);
    let cut = world.now;
    world.set_alive(0, false);
    let acked = SubflowSample {
        bytes_acked: units::Bytes::new(1),
        unacked: 20,
        srtt: 20 * MS,
        ..SubflowSample::default()
    };
    for n in 1..60 {
        world.now = cut + 5 * n * MS;
        world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(acked)));
        world.engine.tick(world.now);
        world.tell(Input::Conn(ConnId(9), ConnEvent::Closed));
    }
    let told = world.withdrawn(cut);
    assert!(!told.is_empty() && told[0] - cut <= 200 * MS, "{told:?}");
}

#[test]
fn facts_about_what_is_gone_change_nothing() {
    let mut world = three_cables();
    let since = world.now + MS;
    world.now = since;
    world.tell(Input::Subflow(SubflowId(99), SubflowEvent::Closed));
    world.tell(Input::Subflow(
        SubflowId(99),
        SubflowEvent::Sample(SubflowSample::default()),
    ));
    world.tell(Input::Conn(ConnId(99), ConnEvent::Closed));
    world.tell(Input::Link(LinkId(99), LinkEvent::Carrier(false)));
    world.tell(Input::Link(
        LinkId(0),
        LinkEvent::ProbeAnswered {
            probe: 12_345,
            rtt: MS,
        },
    ));
    assert!(world.asked(since, |_| true).is_empty());
    assert!(Instant::ZERO < since);
}

#[test]
fn a_starved_host_decides_no_doubt_before_it_has_read_the_replies() {
    let mut world = three_cables();
    let since = world.now;
    // Data stops (the sender paused), probes are sent, and this host does not run for half a second.
    world.demand = 0.0;
    world.run(45 * MS);
    assert!(
        !world
            .asked(since, |action| matches!(action, Action::Probe { .. }))
            .is_empty()
    );
    world.now += 500 * MS;
    world.engine.tick(world.now);
    assert!(world.withdrawn(since).is_empty());
    world.run(S);
    assert!(world.withdrawn(since).is_empty());
}

/// A modem, a cable, and an access point whose signal falls until it is a backup.
fn faded() -> World {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cellular, Role::Primary, 12, 60);
    world.up(1, LinkKind::Cable, Role::Primary, 20, 20);
    world.add(2, LinkKind::Wifi, Role::Primary, 20, 20);
    world.set_signal(2, -50.0);
    world.open(1, 0);
    world.run(6 * S);
    assert_eq!(world.in_use(), [0, 1, 2]);
    let mut signal = -50.0;
    while world.in_use() == [0, 1, 2] {
        signal -= 0.9;
        world.set_signal(2, signal);
        world.run(S / 10);
    }
    assert_eq!(world.joined(), [0, 1, 2], "a backup at {signal} dBm");
    world
}

fn windows(world: &World, since: Instant) -> Vec<(Instant, Bytes)> {
    let set = |(at, action): &(Instant, Action)| match action {
        Action::Window(_, Some(ahead)) if *at >= since => Some((*at, ahead.window)),
        _ => None,
    };
    world.done.iter().filter_map(set).collect()
}

#[test]
fn an_empty_subflow_is_closed_when_little_is_in_flight() {
    let mut world = faded();
    world.run(300 * MS);
    let gone = world.now;
    let (_, wide) = *windows(&world, Instant::ZERO).last().unwrap();
    world.tell(Input::Link(LinkId(2), LinkEvent::Gone));
    world.run(2 * S);
    let told = world.withdrawn(gone)[0];
    let set = windows(&world, gone);
    let (before, after): (Vec<_>, Vec<_>) = set.into_iter().partition(|(at, _)| *at <= told);
    let (narrowed, narrow) = *before.last().unwrap();
    assert!(narrow <= wide / 3, "{narrow} of {wide}");
    assert!(told - narrowed >= 60 * MS && told - narrowed <= 400 * MS);
    let (at, window) = after[0];
    assert!(at - told <= 300 * MS && window >= narrow * 2, "{window} at {at}");
}

#[test]
fn a_narrow_window_is_explained() {
    let mut world = faded();
    world.run(300 * MS);
    let gone = world.now;
    let why = |world: &World| world.engine.explain_connections()[0].window.clone().unwrap();
    assert!(why(&world).contains(" × "), "{}", why(&world));
    world.tell(Input::Link(LinkId(2), LinkEvent::Gone));
    while windows(&world, gone).is_empty() && world.now - gone < S {
        world.run(5 * MS);
    }
    let (_, narrow) = windows(&world, gone)[0];
    assert_eq!(why(&world), format!("{narrow} while an empty subflow is closed"));
    world.run(2 * S);
    assert!(why(&world).contains(" × "), "{}", why(&world));
}

#[test]
fn a_busy_subflow_without_carrier_is_closed_at_once() {
    let mut world = three_cables();
    let down = world.now;
    world.tell(Input::Link(LinkId(2), LinkEvent::Carrier(false)));
    world.run(S);
    assert!(world.withdrawn(down)[0] - down <= 60 * MS);
}
