//! Invariants of selection, its baselines and their limits, wherever the user walks.

mod world;

use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Policy, Tariff, Trust};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);
const TENTH: Duration = Duration::from_millis(100);
const MODEM: u16 = 9;

/// Access points on two channels, and a modem that stays.
fn town(policy: Policy, count: u16) -> World {
    let mut world = World::new(policy);
    world.monitor = false;
    let points: Vec<Step> = (0..count)
        .map(|id| Step::AccessPoint {
            id,
            channel: 1 + 5 * (id % 2),
            mbps: 54,
            loss_percent: 5,
        })
        .collect();
    world.follow(&points);
    world.follow(&[
        Step::Wire {
            id: MODEM,
            kind: LinkKind::Cellular,
            mbps: 8,
        },
        Step::Up(MODEM, true),
        Step::Open(MODEM),
    ]);
    world
}

/// Signal of each access point from now on, and its slope.
fn walks() -> impl Strategy<Value = Vec<Vec<(i32, f64)>>> {
    prop::collection::vec(prop::collection::vec((-95_i32..-35, -8.0..8.0), 4), 1..8)
}

fn hear(world: &mut World, signals: &[(i32, f64)]) {
    for (id, &(dbm, db_per_s)) in (0..).zip(signals) {
        world.follow(&[Step::Signal { id, dbm, db_per_s }]);
    }
}

/// Number of changes of a backup flag.
fn changes(world: &World, since: Instant) -> usize {
    let change =
        |(at, action): &&(Instant, Action)| *at >= since && matches!(action, Action::SetBackup { .. });
    world.done.iter().filter(change).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn wherever_one_walks_an_allowed_link_carries_and_no_forbidden_one(walk in walks(), cap_kb in 0_u64..20_000) {
        let mut world = town(Policy::Slowhand, 4);
        world.tell(Input::Link(LinkId(3), LinkEvent::Trust(Trust::Open)));
        world.tell(Input::Link(LinkId(2), LinkEvent::Tariff(Tariff::Metered { cap: Some(Bytes::new(cap_kb * 1_000)) })));
        world.tell(Input::Link(LinkId(2), LinkEvent::Carried(Bytes::ZERO)));
        for signals in &walk {
            hear(&mut world, signals);
            for _ in 0..20 {
                world.follow(&[Step::Run(TENTH)]);
                prop_assert!(!world.in_use().is_empty());
                prop_assert!(!world.joined().contains(&3), "an open network is not allowed");
                prop_assert!(world.joined().len() <= 3, "the peer accepts two added subflows");
            }
            let carried = world.link(2).packets * world::PAYLOAD;
            world.tell(Input::Link(LinkId(2), LinkEvent::Carried(Bytes::new(carried))));
            if carried >= cap_kb * 1_000 {
                prop_assert!(!world.joined().contains(&2), "{} of {} kB are used", carried / 1_000, cap_kb);
            }
        }
    }

    /// Two access points on each of two channels, one of them clearly better.
    #[test]
    fn standing_still_nothing_flaps(
        channels in prop::collection::vec((-78_i32..-44, 0_i32..20), 2), noise in prop::collection::vec(prop::collection::vec(-2_i32..=2, 4), 250),
    ) {
        let mut world = town(Policy::Slowhand, 4);
        let means = [channels[0].0, channels[1].0, channels[0].0 - channels[0].1, channels[1].0 - channels[1].1];
        for tenth in &noise {
            let signals: Vec<(i32, f64)> = means.iter().zip(tenth).map(|(mean, noise)| (mean + noise, 0.0)).collect();
            hear(&mut world, &signals);
            world.follow(&[Step::Run(TENTH)]);
        }
        // In the last twenty seconds, at most one exchange (two changes) per channel.
        let changes = changes(&world, Instant::from_secs(5));
        prop_assert!(changes <= 4, "{changes} changes among {means:?}");
    }

    #[test]
    fn no_hand_over_without_ten_beacons_more(heard in prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 10..60)) {
        let mut world = town(Policy::Handover, 3);
        let mut counted: Vec<Vec<bool>> = Vec::new();
        let mut current = None;
        for present in heard.iter().flat_map(|present| std::iter::repeat_n(present, 5)) {
            for (id, present) in (0..).zip(present) {
                world.link(id).signal = present.then_some((-50.0, 0.0));
            }
            let from = world.now;
            world.follow(&[Step::Run(TENTH)]);
            counted.push(present.clone());
            let count = |id: u16| counted.iter().rev().take(21).filter(|heard| heard[usize::from(id)]).count();
            for (_, action) in world.done.iter().filter(|(at, _)| *at > from) {
                match action {
                    Action::Leave(old) => current = Some(old.0),
                    Action::Associate(new) => if let Some(old) = current.take() {
                        prop_assert!(count(new.0) + 1 >= count(old) + 10, "{} of {}, {} of {old}", count(new.0), new.0, count(old));
                    },
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn a_cap_holds_however_late_it_is_reported() {
    let mut world = town(Policy::Slowhand, 0);
    world.follow(&[Step::Run(S)]);
    let cap = LinkEvent::Tariff(Tariff::Metered {
        cap: Some(Bytes::new(1)),
    });
    world.tell(Input::Link(LinkId(MODEM), cap));
    world.tell(Input::Link(
        LinkId(MODEM),
        LinkEvent::Period { used: Bytes::new(2) },
    ));
    world.follow(&[Step::Run(S)]);
    assert_eq!(world.joined(), [0; 0]);
}
