//! A usable access point of which no beacon was ever heard and whose channel nobody knows, as on a host whose
//! radio reports nothing: every policy that a live host accepts uses it.

mod world;

use policy::energy_schedule::Variant;
use policy::steer::Form;
use policy::{Action, Input, LinkEvent, LinkId, LinkKind, Policy};
use units::Duration;
use world::{Step, World};

/// An access point whose channel nobody knows.
fn unknown(world: &mut World, id: u16) {
    let point = Step::AccessPoint {
        id,
        channel: 6,
        mbps: 24,
        loss_percent: 0,
    };
    world.follow(&[point]);
    world.link(id).spec.channel = None;
    let spec = world.link(id).spec.clone();
    world.tell(Input::Link(LinkId(id), LinkEvent::Appeared(spec)));
    world.follow(&[Step::Up(id, true)]);
}

/// The links in use after two seconds, in which a connection began on a modem (link 2). The others are access
/// points. A policy of the kernel's path manager
/// names its endpoints instead, and plain TCP the link of new connections.
fn used(policy: Policy, points: u16) -> Vec<u16> {
    let mut world = World::new(policy);
    world.monitor = false;
    (0..points).for_each(|id| unknown(&mut world, id));
    let modem = Step::Wire {
        id: 2,
        kind: LinkKind::Cellular,
        mbps: 5,
    };
    world.follow(&[
        modem,
        Step::Up(2, true),
        Step::Open(2),
        Step::Run(Duration::from_secs(2)),
    ]);
    let endpoints = world.done.iter().filter_map(|(_, action)| match action {
        Action::Endpoint(link, true) | Action::DefaultRoute(_, Some(link)) => Some(link.0),
        _ => None,
    });
    let mut used = world.in_use();
    used.extend(endpoints);
    used.sort_unstable();
    used.dedup();
    used
}

#[test]
fn every_policy_uses_an_access_point_that_was_never_heard() {
    for policy in [
        Policy::Tcp(LinkId(0)),
        Policy::Handover,
        Policy::HandoverWarm,
        Policy::HandoverCell,
        Policy::WifiFirst,
        Policy::Mptcp,
        Policy::Ecn(Form::DEFAULT),
        Policy::OneAtATime,
        Policy::Energy(Variant::Probing),
        Policy::Energy(Variant::AssociationAware),
        Policy::Slowhand,
        Policy::SlowhandNoWindow,
    ] {
        let used = used(policy, 1);
        assert!(used.contains(&0), "{policy:?}: {used:?}");
    }
}

#[test]
fn access_points_of_unknown_channels_are_not_taken_for_rivals_of_one_air() {
    for policy in [Policy::OneAtATime, Policy::Slowhand, Policy::SlowhandNoWindow] {
        let used = used(policy, 2);
        assert!(used.contains(&0) && used.contains(&1), "{policy:?}: {used:?}");
    }
}

#[test]
fn policies_that_need_foresight_use_nothing_without_it() {
    // A live host refuses them, with that reason.
    assert_eq!(used(Policy::Omniscient, 1), [2]);
}
