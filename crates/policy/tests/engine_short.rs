//! Plans short enough that their recordings are kept in `golden/record`: facts and policies that few worlds have.

mod world;

use policy::energy_schedule::Variant;
use policy::estimate::energy::{Set, Technology};
use policy::estimate::phy::Phy;
use policy::slot::Rules;
use policy::{
    Action, Division, HostEvent, HostId, Input, LinkEvent, LinkId, LinkKind, Policy, RadioEvent, RadioId,
    SubflowEvent, SubflowId, Verb,
};
use units::wifi::Standard;
use units::{Bytes, Duration};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);

const fn cable(id: u16) -> Step {
    Step::Wire {
        id,
        kind: LinkKind::Cable,
        mbps: 2,
    }
}

const fn about(link: u16, event: LinkEvent) -> Step {
    Step::Tell(Input::Link(LinkId(link), event))
}

const TWO_CABLES: &[Step] = &[cable(0), cable(1), Step::Up(0, true), Step::Up(1, true)];

#[test]
fn the_omniscient_policy_leaves_the_link_that_will_carry_less() {
    let foreseen = |link, kb| about(link, LinkEvent::Foreseen(Bytes::from_kib(kb)));
    let mut world = World::after(Policy::Omniscient, TWO_CABLES);
    // It chooses for whole tens of seconds.
    world.follow(&[foreseen(0, 10), foreseen(1, 900), Step::Run(10 * S)]);
    world.follow(&[Step::Open(0), Step::Run(S)]);
    assert_eq!(world.in_use(), [1]);
}

#[test]
fn the_policy_of_one_access_point_at_a_time_uses_the_one_that_loses_less() {
    let access_point = |id, loss_percent| Step::AccessPoint {
        id,
        channel: 6,
        mbps: 2,
        loss_percent,
    };
    let plan = [
        access_point(0, 60),
        access_point(1, 0),
        Step::Up(0, true),
        Step::Up(1, true),
        Step::Open(0),
    ];
    let mut world = World::after(Policy::OneAtATime, &plan);
    let phy = |link| about(link, LinkEvent::Phy(Phy::Legacy(Standard::B)));
    world.follow(&[
        phy(0),
        phy(1),
        Step::Run(3 * S),
        about(1, LinkEvent::Away),
        Step::Run(3 * S),
    ]);
    assert_eq!(world.in_use(), [1]);
    assert!(!world.notes(Verb::Demote).is_empty());
}

#[test]
fn the_energy_scheduler_measures_every_radio_first() {
    let cell = Step::Wire {
        id: 1,
        kind: LinkKind::Cellular,
        mbps: 2,
    };
    let lte = LinkEvent::Draws(Set::Mobisys2012.radio(Technology::Lte).unwrap());
    let mut world = World::after(
        Policy::Energy(Variant::Probing),
        &[
            cable(0),
            cell,
            about(1, lte),
            Step::Up(0, true),
            Step::Up(1, true),
        ],
    );
    world.follow(&[Step::Open(0), Step::Run(S)]);
    assert_eq!(world.in_use(), [0, 1]);
}

#[test]
fn a_probe_that_could_not_be_sent_condemns_no_link() {
    let mut world = World::after(Policy::Slowhand, TWO_CABLES);
    let host = |event| about(0, LinkEvent::Host(HostId(3), event));
    world.follow(&[
        host(HostEvent::Heard),
        Step::Run(S),
        host(HostEvent::Unanswered),
        Step::Run(S / 2),
    ]);
    let asked = world.done.iter().find_map(|(_, action)| match action {
        Action::Ask { probe, .. } => Some(*probe),
        _ => None,
    });
    let probe = asked.expect("the host is asked");
    world.follow(&[about(0, LinkEvent::ProbeFailed { probe }), Step::Run(S / 10)]);
    assert!(world.notes(Verb::Remove).is_empty());
}

#[test]
fn a_host_that_slept_keeps_its_links_and_joins_a_closed_subflow_again() {
    let mut world = World::after(Policy::Slowhand, TWO_CABLES);
    world.follow(&[Step::Open(0), Step::Run(S)]);
    assert_eq!(world.joined(), [0, 1]);
    let joins = |world: &World| {
        let is_join = |(_, action): &&(_, Action)| matches!(action, Action::Join { .. });
        world.done.iter().filter(is_join).count()
    };
    let before = joins(&world);
    let closed = Step::Tell(Input::Subflow(SubflowId(1), SubflowEvent::Closed));
    world.follow(&[Step::Tell(Input::Resumed), closed, Step::Run(S)]);
    assert!(joins(&world) > before && world.notes(Verb::Remove).is_empty());
}

#[test]
fn a_radio_that_is_gone_has_no_slots() {
    let radio = |event| Step::Tell(Input::Radio(RadioId(0), event));
    let access_point = |id, channel| Step::AccessPoint {
        id,
        channel,
        mbps: 6,
        loss_percent: 0,
    };
    let serves = |link| {
        radio(RadioEvent::Serves {
            link: LinkId(link),
            weight: 1,
        })
    };
    let appears = radio(RadioEvent::Appeared(Division::Adaptive(Rules::NSDI15)));
    let mut world = World::after(
        Policy::Slowhand,
        &[access_point(0, 1), access_point(1, 11), appears],
    );
    world.follow(&[
        serves(0),
        serves(1),
        radio(RadioEvent::Gone),
        radio(RadioEvent::CycleEnded),
    ]);
    let slots = world
        .done
        .iter()
        .filter(|(_, action)| matches!(action, Action::Slots(..)));
    assert_eq!(
        slots.count(),
        2,
        "one plan for each link, and none after the radio is gone"
    );
}
