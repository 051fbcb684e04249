//! A radio that listens to several networks in turn. The world runs the cycles that the engine plans and
//! reports what they carried.

mod world;

use policy::reason::Cycle;
use policy::slot::{self, Occupant, Refused, Rules, Slot};
use policy::{Action, Division, Input, LinkId, LinkKind, Policy, RadioEvent, RadioId, Reason, Verb};
use units::{Bitrate, Bytes, Duration, Instant};
use world::{Step, World};

const RADIO: RadioId = RadioId(0);
const MS: Duration = Duration::from_millis(1);

const fn access_point(id: u16, channel: u16) -> Step {
    Step::AccessPoint {
        id,
        channel,
        mbps: 54,
        loss_percent: 0,
    }
}

const fn radio(event: RadioEvent) -> Step {
    Step::Tell(Input::Radio(RADIO, event))
}

const fn serves(link: u16, weight: u32) -> Step {
    radio(RadioEvent::Serves {
        link: LinkId(link),
        weight,
    })
}

const ADAPTIVE: RadioEvent = RadioEvent::Appeared(Division::Adaptive(Rules::NSDI15));
const WEIGHTED: RadioEvent = RadioEvent::Appeared(Division::Weighted {
    radio: slot::Radio::JUGGLER,
    slice: Duration::from_millis(100),
});

/// Two access points on different channels, one radio.
const TWO: &[Step] = &[
    access_point(0, 36),
    access_point(1, 44),
    radio(ADAPTIVE),
    serves(0, 1),
    serves(1, 1),
];

/// Every plan that the engine issued.
fn plans(world: &World) -> Vec<Vec<Slot>> {
    let plan = |(_, action): &(Instant, Action)| match action {
        Action::Slots(RADIO, slots) => Some(slots.clone()),
        _ => None,
    };
    world.done.iter().filter_map(plan).collect()
}

fn length(plan: &[Slot]) -> Duration {
    plan.iter().map(|slot| slot.switch + slot.stays).sum()
}

fn stay(plan: &[Slot], link: u16) -> Duration {
    let slot = plan
        .iter()
        .find(|slot| slot.occupant == Occupant::Network(LinkId(link)));
    slot.expect("the network has a slot").stays
}

/// Runs cycles in which each access point carries this many Mb/s while the radio listens to it.
fn run_cycles(world: &mut World, count: u32, mbps: [u64; 2]) {
    for _ in 0..count {
        let plan = plans(world).pop().expect("there is a plan");
        for (link, mbps) in (0..).zip(mbps) {
            let brought = Bitrate::from_mbps(mbps) * stay(&plan, link);
            world.tell(Input::Radio(RADIO, RadioEvent::Brought(LinkId(link), brought)));
        }
        world.follow(&[Step::Run(length(&plan)), radio(RadioEvent::CycleEnded)]);
    }
}

#[test]
fn a_radio_gives_its_time_to_whom_it_pays() {
    let mut world = World::after(Policy::Slowhand, TWO);
    let first = plans(&world).pop().unwrap();
    assert_eq!(stay(&first, 0), stay(&first, 1), "no rate is known yet");
    run_cycles(&mut world, 12, [20, 10]);
    let plan = plans(&world).pop().unwrap();
    assert_eq!(length(&plan), 200 * MS);
    // 200 ms minus two switches and two minimum slots leave 170 ms, divided 4 to 1.
    assert!((stay(&plan, 0).abs_diff(146 * MS)) < MS, "{plan:?}");
    assert!((stay(&plan, 1).abs_diff(44 * MS)) < MS, "{plan:?}");
}

#[test]
fn a_radio_with_nothing_from_one_network_still_listens_to_it() {
    let mut world = World::after(Policy::Slowhand, TWO);
    run_cycles(&mut world, 20, [20, 0]);
    let plan = plans(&world).pop().unwrap();
    assert!(stay(&plan, 1) >= 10 * MS, "{plan:?}");
    run_cycles(&mut world, 12, [0, 20]);
    let plan = plans(&world).pop().unwrap();
    assert!(
        stay(&plan, 1) > 180 * MS * 9 / 10,
        "the change was not noticed: {plan:?}"
    );
}

#[test]
fn a_scanning_slot_visits_one_channel_after_another() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[radio(RadioEvent::Scan(20 * MS))]);
    run_cycles(&mut world, 5, [20, 20]);
    let plans = plans(&world);
    let scanned: Vec<u16> = plans
        .iter()
        .flatten()
        .filter(|slot| slot.occupant == Occupant::Scan)
        .map(|slot| slot.channel)
        .collect();
    assert_eq!(scanned[..6], [1, 6, 11, 1, 6, 11]);
    assert!(plans.iter().all(|plan| length(plan) == 200 * MS));
}

#[test]
fn peers_without_an_access_point_keep_their_slot() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[
        access_point(2, 1),
        radio(RadioEvent::AdHoc {
            link: LinkId(2),
            stays: 20 * MS,
        }),
    ]);
    run_cycles(&mut world, 6, [20, 2]);
    let plan = plans(&world).pop().unwrap();
    let ad_hoc = plan
        .iter()
        .find(|slot| slot.occupant == Occupant::AdHoc(LinkId(2)));
    assert_eq!(ad_hoc.unwrap().stays, 20 * MS);
}

#[test]
fn weights_divide_as_juggler_does() {
    let mut world = World::after(
        Policy::Slowhand,
        &[
            access_point(0, 1),
            access_point(1, 6),
            radio(WEIGHTED),
            serves(0, 9),
            serves(1, 1),
        ],
    );
    let plan = plans(&world).pop().unwrap();
    assert_eq!(length(&plan), 1_000 * MS);
    assert!(stay(&plan, 0) > 895 * MS && stay(&plan, 1) > 95 * MS, "{plan:?}");
    world.follow(&[radio(RadioEvent::CycleEnded)]);
    assert_eq!(plans(&world).last(), Some(&plan), "nothing adapts");
}

/// A cycle is a ring: where it begins changes nothing about anybody's share.
#[test]
fn a_cycle_begins_with_the_network_that_came_last() {
    let order = |world: &World| -> Vec<(Occupant, Duration)> {
        let plan = plans(world).pop().expect("there is a plan");
        plan.iter()
            .map(|slot| (slot.occupant, slot.switch + slot.stays))
            .collect()
    };
    let network = |link, slices| (Occupant::Network(LinkId(link)), MS * 100 * slices);
    let scan = (Occupant::Scan, 100 * MS);
    let mut world = World::after(
        Policy::Slowhand,
        &[
            access_point(0, 1),
            access_point(1, 6),
            access_point(2, 11),
            radio(WEIGHTED),
            radio(RadioEvent::Scan(100 * MS)),
            serves(0, 5),
            serves(2, 1),
        ],
    );
    assert_eq!(order(&world)[0], network(2, 1));
    world.follow(&[serves(1, 3)]);
    // Channels follow one another, from that of the newcomer on. The scan is on channel 6, and then on 11.
    assert_eq!(order(&world), [network(1, 3), scan, network(2, 1), network(0, 5)]);
    // In later cycles too, so that the next visit is a cycle after the first one.
    world.follow(&[radio(RadioEvent::CycleEnded)]);
    assert_eq!(order(&world), [network(1, 3), network(2, 1), scan, network(0, 5)]);
    // One that is tried again is no newcomer.
    world.follow(&[serves(0, 5), radio(RadioEvent::CycleEnded)]);
    assert_eq!(order(&world)[0], network(1, 3));
    world.follow(&[radio(RadioEvent::Leaves(LinkId(1)))]);
    assert_eq!(order(&world).len(), 3);
}

#[test]
fn a_slice_changes_with_the_next_cycle_and_keeps_requested_times() {
    let begin = [
        access_point(0, 1),
        access_point(1, 6),
        radio(WEIGHTED),
        serves(0, 3),
        serves(1, 1),
        radio(RadioEvent::Scan(100 * MS)),
    ];
    let mut world = World::after(Policy::Slowhand, &begin);
    let before = plans(&world);
    assert_eq!(length(before.last().unwrap()), 500 * MS);
    world.follow(&[radio(RadioEvent::Slice(30 * MS))]);
    assert_eq!(plans(&world), before, "the present cycle keeps its slots");
    world.follow(&[radio(RadioEvent::CycleEnded)]);
    // Four slices of 30 ms, and as many as cover 100 ms for scanning.
    assert_eq!(length(&plans(&world).pop().unwrap()), 240 * MS);
    world.follow(&[radio(RadioEvent::Slice(100 * MS)), radio(RadioEvent::CycleEnded)]);
    assert_eq!(
        length(&plans(&world).pop().unwrap()),
        500 * MS,
        "nothing is lost by rounding"
    );
}

#[test]
fn a_slice_that_a_change_of_channel_uses_up_is_refused_and_the_old_plan_stays() {
    for slice in [Duration::ZERO, 3 * MS] {
        let begin = [
            access_point(0, 1),
            access_point(1, 6),
            radio(WEIGHTED),
            serves(0, 1),
            serves(1, 1),
        ];
        let mut world = World::after(Policy::Slowhand, &begin);
        let before = plans(&world);
        world.follow(&[radio(RadioEvent::Slice(slice)), radio(RadioEvent::CycleEnded)]);
        assert_eq!(plans(&world), before);
        let reason = &world.notes(Verb::Slots).last().unwrap().reason;
        assert!(
            matches!(
                reason,
                Reason::Cycle(Cycle::Undivided {
                    refused: Refused::TooShort { .. },
                    ..
                })
            ),
            "{reason:?}"
        );
    }
}

#[test]
fn an_adaptive_cycle_has_no_slice() {
    let mut world = World::after(Policy::Slowhand, TWO);
    let before = plans(&world).pop().unwrap();
    world.follow(&[radio(RadioEvent::Slice(30 * MS))]);
    run_cycles(&mut world, 1, [20, 20]);
    assert_eq!(length(&plans(&world).pop().unwrap()), length(&before));
}

#[test]
fn if_not_all_channels_fit_the_best_are_used_and_the_others_named() {
    let mut world = World::after(Policy::Slowhand, TWO);
    let channels: Vec<Step> = (2..20).map(|id| access_point(id, 36 + 4 * id)).collect();
    world.follow(&channels);
    // Even ones are near, odd ones far.
    let signals = (0..20).map(|id| Step::Signal {
        id,
        dbm: if id % 2 == 0 { -50 } else { -75 },
        db_per_s: 0.0,
    });
    world.follow(&signals.collect::<Vec<_>>());
    world.follow(&[Step::Run(2_000 * MS)]);
    world.follow(&(2..20).map(|id| serves(id, 1)).collect::<Vec<_>>());
    let taken = |world: &World| -> Vec<u16> {
        let plan = plans(world).pop().unwrap();
        assert_eq!(length(&plan), 200 * MS, "{plan:?}");
        let links = plan.iter().map(|slot| match slot.occupant {
            Occupant::Network(link) => link.0,
            other => panic!("{other} was not requested"),
        });
        links.collect()
    };
    // Thirteen slots of 10 ms with their switches fit: all the near ones, and three of the far ones.
    let first = taken(&world);
    assert_eq!(first.len(), 13);
    assert!((0..10).all(|near| first.contains(&(2 * near))), "{first:?}");
    let reason = &world.notes(Verb::Slots).last().unwrap().reason;
    assert!(
        matches!(reason, Reason::Cycle(Cycle::Divided { left_out, .. }) if left_out.contains(&LinkId(19))),
        "{reason:?}"
    );
    // A far one comes near: it is selected, but not before the current choice has lasted for a while.
    world.follow(&[
        Step::Signal {
            id: 19,
            dbm: -45,
            db_per_s: 0.0,
        },
        Step::Run(2_000 * MS),
        radio(RadioEvent::CycleEnded),
    ]);
    assert_eq!(taken(&world), first);
    world.follow(&[Step::Run(5_000 * MS), radio(RadioEvent::CycleEnded)]);
    assert!(taken(&world).contains(&19));
}

#[test]
fn a_division_that_cannot_fit_is_refused_and_the_old_plan_stays() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[access_point(2, 1)]);
    let before = plans(&world).pop().unwrap();
    let stays = 190 * MS;
    world.follow(&[radio(RadioEvent::AdHoc {
        link: LinkId(2),
        stays,
    })]);
    assert_eq!(plans(&world).pop().unwrap(), before);
    let reason = &world.notes(Verb::Slots).last().unwrap().reason;
    let does_not_fit = |refused: &Refused| matches!(refused, Refused::DoesNotFit { .. });
    assert!(
        matches!(reason, Reason::Cycle(Cycle::Undivided { refused, .. }) if does_not_fit(refused)),
        "{reason:?}"
    );
}

#[test]
fn a_link_that_is_gone_is_not_listened_to() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.tell(Input::Link(LinkId(1), policy::LinkEvent::Gone));
    let plan = plans(&world).pop().unwrap();
    assert_eq!(plan.len(), 1);
    assert_eq!((plan[0].switch, plan[0].stays), (Duration::ZERO, 200 * MS));
    world.follow(&[radio(RadioEvent::Leaves(LinkId(0)))]);
    assert_eq!(
        plans(&world).pop(),
        Some(Vec::new()),
        "the radio has no slots to switch between"
    );
}

#[test]
fn switches_within_a_channel_take_as_long_as_juggler_measured() {
    let mut world = World::new(Policy::Slowhand);
    world.follow(&[
        access_point(0, 6),
        access_point(1, 6),
        radio(ADAPTIVE),
        serves(0, 1),
        serves(1, 1),
    ]);
    let plan = plans(&world).pop().unwrap();
    assert!(
        plan.iter().all(|slot| slot.switch == Duration::from_micros(381)),
        "{plan:?}"
    );
}

#[test]
fn facts_about_unknown_radios_and_links_are_ignored() {
    let mut world = World::new(Policy::Slowhand);
    world.follow(&[
        serves(0, 1),
        radio(RadioEvent::Brought(LinkId(0), Bytes::new(1))),
        radio(ADAPTIVE),
        serves(7, 1),
        radio(RadioEvent::CycleEnded),
        Step::Wire {
            id: 3,
            kind: LinkKind::Cable,
            mbps: 1,
        },
        serves(3, 1),
    ]);
    assert!(plans(&world).is_empty());
}

/// Doubts and removals of links while a radio is with one access point for half a cycle, and then with the
/// other one.
fn doubts_in_turns(plan: &[Step]) -> usize {
    let mut world = World::after(Policy::Slowhand, plan);
    world.follow(&[Step::Up(0, true), Step::Up(1, true), Step::Open(0)]);
    world.follow(&[Step::Run(2_000 * MS)]);
    assert_eq!(world.in_use(), [0, 1]);
    for _ in 0..10 {
        for away in [0, 1] {
            world.link(away).silent = true;
            world.link(1 - away).silent = false;
            world.follow(&[Step::Run(100 * MS)]);
        }
    }
    world.notes(Verb::Suspect).len() + world.notes(Verb::Remove).len()
}

#[test]
fn a_link_is_not_doubted_while_its_radio_listens_to_another() {
    assert_eq!(doubts_in_turns(TWO), 0);
    assert!(
        doubts_in_turns(&TWO[..2]) > 0,
        "with a radio of their own they are"
    );
}

#[test]
fn a_link_that_dies_under_a_radio_that_takes_turns_is_removed() {
    let mut world = World::after(Policy::Slowhand, TWO);
    world.follow(&[Step::Up(0, true), Step::Up(1, true), Step::Open(0)]);
    world.follow(&[Step::Run(2_000 * MS)]);
    world.link(1).silent = true;
    world.follow(&[Step::Run(600 * MS)]);
    assert_eq!(world.in_use(), [0]);
    assert!(!world.notes(Verb::Remove).is_empty());
}
