//! Roaming with an address that stays: a hand-off without a new subflow (cla §IV).

mod world;

use policy::reason::Trend;
use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Policy, Reason, Verb};
use units::Duration;
use world::{Step, World};

const S: Duration = Duration::from_secs(1);
const ROAM: Step = Step::Tell(Input::Link(LinkId(0), LinkEvent::Roamed));

/// A fading access point in use beside a modem, and another one that is as good.
fn fading(policy: Policy) -> World {
    let access_point = |id| Step::AccessPoint {
        id,
        channel: 6,
        mbps: 54,
        loss_percent: 40,
    };
    let signal = |id, dbm, db_per_s| Step::Signal { id, dbm, db_per_s };
    let modem = Step::Wire {
        id: 2,
        kind: LinkKind::Cellular,
        mbps: 10,
    };
    let ups = [
        Step::Up(2, true),
        Step::Up(0, true),
        Step::Open(0),
        Step::Run(S * 5 / 2),
    ];
    let air = [access_point(0), access_point(1), modem];
    let signals = [signal(0, -50, -3.0), signal(1, -55, 0.0)];
    World::after(policy, &[&air[..], &signals, &ups].concat())
}

fn handed_off(world: &World) -> Vec<u16> {
    let link = |(_, action): &(_, Action)| match action {
        Action::HandedOff(link) => Some(link.0),
        _ => None,
    };
    world.done.iter().filter_map(link).collect()
}

/// Whether reports about the signal of link 0 say that it fades.
fn fades(world: &World, from: usize) -> Vec<bool> {
    let fades = |(_, action): &(_, Action)| match action {
        Action::Outlook(LinkId(0), outlook) => Some(outlook.fading),
        _ => None,
    };
    world.done[from..].iter().filter_map(fades).collect()
}

#[test]
fn roaming_is_a_hand_off_of_the_living_subflows() {
    let mut world = fading(Policy::Mptcp);
    assert!(fades(&world, 0).contains(&true), "the signal falls");
    let (before, subflows) = (world.done.len(), world.joined());
    let stronger = Step::Signal {
        id: 0,
        dbm: -45,
        db_per_s: 0.0,
    };
    world.follow(&[ROAM, stronger, Step::Run(S)]);
    assert_eq!(handed_off(&world), [0], "once");
    assert_eq!(world.joined(), subflows, "no subflow is new");
    let reasons = Vec::from_iter(world.notes(Verb::Fade).into_iter().map(|note| &note.reason));
    assert_eq!(reasons.last(), Some(&&Reason::Trend(Trend::Roamed)));
    assert_eq!(fades(&world, before), [], "its own signal was never seen to fall");
}

#[test]
fn what_was_measured_over_the_other_access_point_is_void() {
    let losses = |events: &[Step]| {
        let mut world = fading(Policy::Slowhand);
        let better = Step::Air {
            id: 0,
            mbps: 54,
            loss_percent: 0,
        };
        world.follow(&[&[better], events, &[Step::Run(S / 5)]].concat());
        let why = world.explanation(0).why;
        let (before, _) = why.split_once(" % of ").expect(&why);
        before.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let (mixed, own) = (losses(&[]), losses(&[ROAM]));
    assert!(mixed < 95.0, "half a second counts: {mixed} % delivered");
    assert!(own > 99.0, "{own} % delivered");
}

#[test]
fn a_roamed_link_stays_in_use() {
    let mut world = fading(Policy::Slowhand);
    let in_use = world.in_use();
    world.follow(&[ROAM, Step::Run(S / 10)]);
    assert_eq!(world.in_use(), in_use);
    assert!(world.carries(LinkId(0)), "{}", world.explanation(0).why);
}

#[test]
fn a_link_without_subflows_and_a_cable_are_not_handed_off() {
    let mut world = World::after(
        Policy::Mptcp,
        &[
            Step::AccessPoint {
                id: 0,
                channel: 6,
                mbps: 54,
                loss_percent: 0,
            },
            Step::Up(0, true),
            ROAM,
            Step::Run(S),
        ],
    );
    let roamed = |world: &World| world.notes(Verb::Fade).len();
    assert_eq!((handed_off(&world), roamed(&world)), (vec![], 1));
    let cable = Step::Wire {
        id: 1,
        kind: LinkKind::Cable,
        mbps: 10,
    };
    let roams = Step::Tell(Input::Link(LinkId(1), LinkEvent::Roamed));
    world.follow(&[cable, Step::Up(1, true), Step::Open(1), roams, Step::Run(S)]);
    assert_eq!((handed_off(&world), roamed(&world)), (vec![], 1));
}
