//! Steering through the engine: frames of two access points on one channel go in, marks and priorities come
//! out.

mod world;

use policy::reason::{Choice, Steer};
use policy::steer::{CAP, Form};
use policy::{Action, Input, LinkEvent, LinkId, Policy, Reason, Verb};
use units::{Duration, Ratio};
use world::plans::BOTH;
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const SWAPPED: &[Step] = &[
    Step::Air {
        id: 0,
        mbps: 54,
        loss_percent: 5,
    },
    Step::Air {
        id: 1,
        mbps: 6,
        loss_percent: 10,
    },
    Step::Signal {
        id: 0,
        dbm: -50,
        db_per_s: 0.0,
    },
    Step::Signal {
        id: 1,
        dbm: -79,
        db_per_s: 0.0,
    },
    Step::Run(Duration::from_secs(6)),
];

fn ecn() -> World {
    World::after(Policy::Ecn(Form::DEFAULT), BOTH)
}

#[test]
fn the_poor_access_point_is_marked_in_small_steps_and_the_good_one_never() {
    let mut world = ecn();
    world.follow(&[Step::Run(15 * S)]);
    assert_eq!(world.in_use(), [0, 1]);
    let marks = world.marks(0);
    assert!(marks.len() > 5, "{marks:?}");
    assert!(
        marks
            .windows(2)
            .all(|pair| pair[1].1.as_raw() <= pair[0].1.as_raw() * 13 / 10 + 1),
        "a step is larger than the ramp allows: {marks:?}"
    );
    let last = marks.last().unwrap().1;
    assert!(last > Ratio::from_ppm(500) && last <= CAP, "{last}");
    assert!(world.marks(1).iter().all(|(_, rate)| *rate == Ratio::ZERO));
}

#[test]
fn a_data_plane_marks_the_requested_share_of_packets() {
    let mut world = ecn();
    world.follow(&[Step::Run(15 * S)]);
    let rate = world.link(0).mark;
    let (packets, marked) = (world.link(0).packets, world.link(0).marked);
    world.follow(&[Step::Run(5 * S)]);
    let more = world.link(0).packets - packets;
    let expected = (u128::from(more) * u128::from(rate.as_raw())) >> 32;
    let made = u128::from(world.link(0).marked - marked);
    // The rate may have changed by one step in the meantime.
    assert!(
        made * 10 >= expected * 7 && made * 7 <= expected * 10 + 20,
        "{made} of {more} packets were marked at {rate}"
    );
}

#[test]
fn every_mark_is_explained_with_its_numbers() {
    let mut world = ecn();
    world.follow(&[Step::Run(5 * S)]);
    let notes = world.notes(Verb::Mark);
    let last = notes.last().expect("marks are explained");
    assert_eq!((last.link, last.verb.id()), (Some(LinkId(0)), "mark"));
    assert!(
        matches!(last.reason, Reason::Choice(Choice::Steer(Steer::Marked { .. }))),
        "{last:?}"
    );
    let why = world.explanation(1).why;
    assert!(
        why.contains("frames got through at the first attempt at 54.0 Mb/s"),
        "{why}"
    );
}

#[test]
fn marks_change_sides_when_the_good_one_becomes_the_poor_one() {
    let mut world = ecn();
    world.follow(&[Step::Run(10 * S)]);
    assert!(world.link(0).mark > Ratio::ZERO);
    world.follow(SWAPPED);
    assert_eq!(
        world.link(0).mark,
        Ratio::ZERO,
        "the better link loses its mark at once"
    );
    assert!(world.link(1).mark > Ratio::ZERO);
}

#[test]
fn a_marked_link_that_is_lost_is_not_marked_when_it_comes_back() {
    let mut world = ecn();
    world.follow(&[Step::Run(10 * S)]);
    assert!(world.link(0).mark > Ratio::ZERO);
    world.follow(&[Step::Up(0, false), Step::Run(S)]);
    assert_eq!(world.link(0).mark, Ratio::ZERO);
}

#[test]
fn without_a_monitor_interface_nothing_is_steered() {
    let mut world = ecn();
    world.monitor = false;
    world.follow(&[Step::Run(10 * S)]);
    assert!(world.marks(0).is_empty() && world.marks(1).is_empty());
}

#[test]
fn alike_access_points_are_not_steered() {
    let mut world = ecn();
    world.follow(&[Step::Air {
        id: 0,
        mbps: 54,
        loss_percent: 6,
    }]);
    world.follow(&[Step::Run(10 * S)]);
    assert!(
        world.marks(0).is_empty() && world.marks(1).is_empty(),
        "{:?}",
        world.marks(0)
    );
}

#[test]
fn one_at_a_time_silences_the_poor_one_by_priority() {
    let mut world = World::after(Policy::OneAtATime, BOTH);
    world.follow(&[Step::Run(6 * S)]);
    assert_eq!((world.in_use(), world.joined()), (vec![1], vec![0, 1]));
    let silenced = world
        .done
        .iter()
        .any(|(_, action)| matches!(action, Action::SetBackup { backup: true, .. }));
    assert!(silenced && world.marks(0).is_empty());
    world.follow(SWAPPED);
    assert_eq!(world.in_use(), [0], "it switches when the other is better");
}

#[test]
fn the_closed_loop_uses_the_efficient_one_and_says_why() {
    let mut world = World::after(Policy::Slowhand, BOTH);
    world.follow(&[Step::Run(8 * S)]);
    assert_eq!(world.in_use(), [1]);
    let notes = world.notes(Verb::Demote);
    let last = notes.last().expect("a demotion is explained");
    let is_fading = matches!(last.reason, Reason::Choice(Choice::Fading { .. }));
    assert!(is_fading && last.link == Some(LinkId(0)), "{last:?}");
    assert!(world.joined().contains(&0), "the other stays joined");
}

#[test]
fn alike_access_points_are_both_used_by_the_closed_loop() {
    let mut world = World::after(Policy::Slowhand, BOTH);
    world.follow(&[
        Step::Air {
            id: 0,
            mbps: 54,
            loss_percent: 5,
        },
        Step::Signal {
            id: 0,
            dbm: -50,
            db_per_s: 0.0,
        },
        Step::Run(8 * S),
    ]);
    assert_eq!(world.in_use(), [0, 1]);
}

#[test]
fn a_doubt_about_the_good_one_does_not_promote_the_poor_one() {
    let (added, started) = BOTH.split_at(2);
    let mut world = World::after(Policy::Slowhand, added);
    for id in [0, 1] {
        world.link(id).rtt = Duration::from_millis(200);
    }
    let air = |mbps, loss_percent| Step::Air {
        id: 0,
        mbps,
        loss_percent,
    };
    let loud = Step::Signal {
        id: 0,
        dbm: -50,
        db_per_s: 0.0,
    };
    world.follow(started);
    world.follow(&[air(54, 5), loud, Step::Run(8 * S)]);
    assert_eq!(world.in_use(), [0, 1]);
    world.follow(&[air(6, 10), Step::Run(6 * S)]);
    assert_eq!(world.in_use(), [1]);
    let (done, doubts) = (world.done.len(), world.notes(Verb::Suspect).len());
    world.link(1).silent = true;
    world.follow(&[Step::Run(Duration::from_millis(150))]);
    world.link(1).silent = false;
    world.follow(&[Step::Run(S / 2)]);
    assert!(
        world.notes(Verb::Suspect).len() > doubts,
        "the silence is noticed"
    );
    let promoted = |action: &Action| matches!(action, Action::SetBackup { backup: false, .. });
    assert!(!world.done[done..].iter().any(|(_, action)| promoted(action)));
}

#[test]
fn frames_of_unknown_links_change_nothing() {
    let mut world = World::after(Policy::Ecn(Form::DEFAULT), BOTH);
    let mut stranger = world::air::Transmitter::new(9, 54, 0);
    for frame in stranger.send(200) {
        world.tell(Input::Link(LinkId(77), LinkEvent::Frame(frame)));
    }
    assert!(
        world
            .engine
            .explain()
            .iter()
            .all(|explanation| explanation.link != LinkId(77))
    );
}
