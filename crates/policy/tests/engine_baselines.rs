//! Baselines that know more, or save battery, in a world that gives them what they need.

mod world;

use policy::energy_schedule::{PROBE, USE, Variant};
use policy::estimate::energy::{Set, Technology};
use policy::reason::{Choice, Energy, Handover};
use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Policy, Reason, Verb};
use units::{Bytes, Duration, Instant};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn foreseen(link: u16, megabytes: u64) -> Step {
    Step::Tell(Input::Link(
        LinkId(link),
        LinkEvent::Foreseen(Bytes::new(megabytes * 1_000_000)),
    ))
}

/// An access point and a modem, both up, with the connection on the modem.
const PHONE: &[Step] = &[
    Step::AccessPoint {
        id: 0,
        channel: 6,
        mbps: 24,
        loss_percent: 10,
    },
    Step::Wire {
        id: 1,
        kind: LinkKind::Cellular,
        mbps: 2,
    },
    Step::Signal {
        id: 0,
        dbm: -60,
        db_per_s: 0.0,
    },
    Step::Up(0, true),
    Step::Up(1, true),
];

fn phone(policy: Policy) -> World {
    World::after(policy, PHONE)
}

/// Links in use at the end of every second.
fn followed(world: &mut World, seconds: u32) -> Vec<Vec<u16>> {
    let mut used = Vec::new();
    for _ in 0..seconds {
        world.follow(&[Step::Run(S)]);
        used.push(world.in_use());
    }
    used
}

#[test]
fn the_omniscient_path_is_the_best_of_every_ten_seconds() {
    let mut world = phone(Policy::Omniscient);
    world.follow(&[foreseen(0, 5), foreseen(1, 2), Step::Open(0)]);
    assert!(followed(&mut world, 9).iter().all(|used| *used == [0]));
    world.follow(&[foreseen(0, 1), foreseen(1, 2)]);
    assert_eq!(world.in_use(), [0], "no change before the ten seconds are over");
    let used = followed(&mut world, 9);
    assert!(used[2..].iter().all(|used| *used == [1]), "{used:?}");
    let carries = Bytes::new(2_000_000);
    let last = &world.notes(Verb::Use).last().unwrap().reason;
    assert_eq!(*last, Choice::Foreseen { carries }.into());
}

#[test]
fn without_foresight_the_omniscient_path_changes_nothing() {
    let mut world = phone(Policy::Omniscient);
    world.follow(&[Step::Open(1), Step::Run(5 * S)]);
    assert_eq!(world.in_use(), [1]);
    assert!(world.notes(Verb::Use).is_empty());
}

/// Two access points whose beacons all arrive, and a modem. The one in use is 19 dB above the noise.
fn between_two_access_points(policy: Policy) -> World {
    let access_point = |id, channel| Step::AccessPoint {
        id,
        channel,
        mbps: 24,
        loss_percent: 10,
    };
    let modem = Step::Wire {
        id: 2,
        kind: LinkKind::Cellular,
        mbps: 10,
    };
    let signal = |id, dbm| Step::Signal {
        id,
        dbm,
        db_per_s: 0.0,
    };
    let mut plan = vec![access_point(0, 1), access_point(1, 6), modem];
    plan.extend([signal(0, -60), signal(1, -77)]);
    plan.extend((0..3).map(|link| Step::Up(link, true)));
    plan.extend([Step::Open(0), Step::Run(3 * S), signal(0, -75)]);
    let mut world = World::after(policy, &plan);
    world.follow(&[Step::Run(3 * S)]);
    world
}

fn second_is_heard(world: &mut World, dbm: i32) -> Vec<u16> {
    let db_per_s = 0.0;
    world.follow(&[Step::Signal { id: 1, dbm, db_per_s }, Step::Run(3 * S)]);
    world.in_use()
}

#[test]
fn with_cellular_a_weak_access_point_is_left_for_a_clearly_stronger_one() {
    let mut world = between_two_access_points(Policy::HandoverCell);
    assert_eq!(world.in_use(), [0, 2]);
    assert_eq!(second_is_heard(&mut world, -74), [0, 2], "1 dB more is not clear");
    assert_eq!(second_is_heard(&mut world, -70), [1, 2]);
    let last = &world.notes(Verb::Use).last().unwrap().reason;
    assert_eq!(*last, Choice::Handover(Handover::Stronger).into());
}

#[test]
fn a_strong_access_point_is_kept_and_so_is_any_without_cellular() {
    let mut world = between_two_access_points(Policy::HandoverCell);
    let (id, dbm, db_per_s) = (0, -70, 0.0);
    world.follow(&[Step::Signal { id, dbm, db_per_s }, Step::Run(3 * S)]);
    assert_eq!(second_is_heard(&mut world, -60), [0, 2]);
    let mut world = between_two_access_points(Policy::HandoverWarm);
    assert_eq!(second_is_heard(&mut world, -60), [0]);
}

#[test]
fn the_energy_scheduler_probes_both_radios_and_then_uses_the_better_one() {
    let mut world = phone(Policy::Energy(Variant::Probing));
    world.follow(&[Step::Open(1)]);
    let used = followed(&mut world, 125);
    assert!(used[1..9].iter().all(|used| *used == [0, 1]), "{:?}", &used[..10]);
    let (probe, long) = (PROBE.as_secs() as usize, USE.as_secs() as usize);
    assert!(
        used[probe + 1..probe + long - 1].iter().all(|used| *used == [0]),
        "{used:?}"
    );
    assert!(used[probe + long + 1..][..8].iter().all(|used| *used == [0, 1]));
    let last = &world.notes(Verb::Use).last().unwrap().reason;
    assert!(
        matches!(last, Reason::Choice(Choice::Energy(Energy::Best { .. }))),
        "{last:?}"
    );
}

#[test]
fn a_radio_whose_user_is_lost_is_replaced_at_once() {
    let mut world = phone(Policy::Energy(Variant::Probing));
    world.follow(&[Step::Open(1)]);
    followed(&mut world, 30);
    world.link(0).signal = None;
    world.follow(&[Step::Run(3 * S), Step::Up(0, false)]);
    let used = followed(&mut world, 3);
    assert_eq!(used.last().unwrap(), &[1]);
}

/// A phone whose associations last two seconds, with a modem that has this tail.
fn restless(tail: Duration) -> World {
    let mut world = phone(Policy::Energy(Variant::AssociationAware));
    let modem = Set::Mobisys2012.radio(Technology::Lte).unwrap().with_tail(tail);
    world.tell(Input::Link(LinkId(1), LinkEvent::Draws(modem)));
    world.follow(&[Step::Open(1)]);
    for _ in 0..3 {
        world.follow(&[
            Step::Run(2 * S),
            Step::Up(0, false),
            Step::Run(S),
            Step::Up(0, true),
        ]);
    }
    world
}

#[test]
fn short_associations_keep_the_modem_awake() {
    let mut world = restless(11 * S);
    let used = followed(&mut world, 25);
    assert!(used[15..].iter().all(|used| *used == [0, 1]), "{used:?}");
    let last = &world.notes(Verb::Use).last().unwrap().reason;
    assert_eq!(last.id(), "energy-short-associations");
}

#[test]
fn a_modem_with_a_short_tail_may_sleep() {
    let mut world = restless(S);
    let used = followed(&mut world, 25);
    assert!(used[15..].iter().all(|used| *used == [0]), "{used:?}");
}

/// Number of radio changes while two radios take turns at being better, each for `every`.
fn changes(variant: Variant, every: Duration) -> usize {
    let mut world = phone(Policy::Energy(variant));
    let powers = [(0, Technology::Wifi), (1, Technology::ThreeG)];
    for (link, technology) in powers {
        let radio = Set::Mobiarch11.radio(technology).unwrap();
        world.tell(Input::Link(LinkId(link), LinkEvent::Draws(radio)));
    }
    world.follow(&[foreseen(0, 4), foreseen(1, 2), Step::Open(0), Step::Run(2 * S)]);
    let (mut before, mut count, end) = (world.in_use(), 0, world.now + 80 * S);
    let mut wifi = 4;
    let mut next = world.now + every;
    while world.now < end {
        if world.now >= next {
            wifi = 5 - wifi;
            world.follow(&[foreseen(0, wifi)]);
            next = world.now + every;
        }
        world.follow(&[Step::Run(S)]);
        count += usize::from(world.in_use() != before);
        before = world.in_use();
    }
    count
}

#[test]
fn the_omniscient_variant_follows_every_change_and_the_damped_one_waits() {
    let (hasty, damped) = (
        changes(Variant::Omniscient, 5 * S),
        changes(Variant::Damped, 5 * S),
    );
    assert!(hasty >= 12, "{hasty}");
    assert_eq!(damped, 0, "the damped variant needs ten seconds");
    assert!(changes(Variant::Damped, 20 * S) >= 3);
}

#[test]
fn radios_that_are_off_have_no_subflow() {
    let mut world = phone(Policy::Energy(Variant::Omniscient));
    world.follow(&[foreseen(0, 4), foreseen(1, 2), Step::Open(1), Step::Run(3 * S)]);
    assert_eq!(world.joined(), [0]);
    let withdrawn = |(_, action): &(Instant, Action)| matches!(action, Action::Withdraw(_));
    assert!(world.done.iter().any(withdrawn), "no subflow was withdrawn");
}
