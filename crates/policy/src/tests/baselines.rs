//! The strategies that slowhand is compared with.

use super::World;
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);

fn two_access_points(policy: Policy) -> World {
    let mut world = World::new(policy);
    world.up(9, LinkKind::Cellular, Role::Primary, 12, 60);
    world.add(0, LinkKind::Wifi, Role::Primary, 20, 10);
    world.add(1, LinkKind::Wifi, Role::Primary, 20, 10);
    world.set_signal(0, -50.0);
    world.run(3 * S);
    world
}

fn asked_for(world: &World, since: Instant, wanted: &Action) -> bool {
    world
        .done
        .iter()
        .any(|(at, action)| *at >= since && action == wanted)
}

#[test]
fn hand_over_waits_for_ten_beacons_more() {
    let mut world = two_access_points(Policy::Handover);
    world.open(1, 0);
    let since = world.now;
    // The second is heard as well as the first: 20 beacons each, no reason to switch.
    world.set_signal(1, -45.0);
    world.run(4 * S);
    assert!(!asked_for(&world, since, &Action::Leave(LinkId(0))));
    // The first is not heard any longer: after about a second the second has ten more.
    world.links.get_mut(&LinkId(0)).unwrap().signal = None;
    let gone = world.now;
    world.run(3 * S);
    let left = world.asked(gone, |action| *action == Action::Leave(LinkId(0)));
    assert!(
        (900..1_200).contains(&(left[0] - gone).as_millis()),
        "{:?}",
        left[0] - gone
    );
    assert_eq!(world.in_use(), [1]);
}

#[test]
fn warm_hand_over_has_the_next_access_point_associated() {
    let mut world = two_access_points(Policy::HandoverWarm);
    world.open(1, 0);
    let since = Instant::ZERO;
    world.set_signal(1, -60.0);
    world.run(3 * S);
    assert!(asked_for(&world, since, &Action::Associate(LinkId(1))));
    assert!(
        !world
            .done
            .iter()
            .any(|(_, action)| matches!(action, Action::Leave(_)))
    );
    assert_eq!(world.joined(), [0]);
}

#[test]
fn hand_over_does_without_cellular_unless_asked() {
    let mut world = two_access_points(Policy::HandoverWarm);
    world.open(1, 0);
    world.run(2 * S);
    assert_eq!(world.joined(), [0]);
    let mut world = two_access_points(Policy::HandoverCell);
    world.open(1, 0);
    world.run(2 * S);
    assert_eq!(world.in_use(), [0, 9]);
}

#[test]
fn wifi_first_uses_cellular_only_without_wifi() {
    let mut world = two_access_points(Policy::WifiFirst);
    world.open(1, 0);
    world.run(2 * S);
    assert_eq!(world.joined(), [0]);
    world.links.get_mut(&LinkId(0)).unwrap().signal = None;
    world.tell(Input::Link(LinkId(0), LinkEvent::Carrier(false)));
    world.tell(Input::Link(LinkId(0), LinkEvent::Usable(false)));
    world.run(S);
    assert_eq!(world.joined(), [9]);
}

#[test]
fn the_kernel_is_given_an_endpoint_for_every_address() {
    let mut world = two_access_points(Policy::Mptcp);
    assert!(world.engine.uses_kernel_path_manager());
    for link in [0, 9] {
        assert!(asked_for(
            &world,
            Instant::ZERO,
            &Action::Endpoint(LinkId(link), true)
        ));
    }
    world.tell(Input::Link(LinkId(9), LinkEvent::Usable(false)));
    assert!(asked_for(
        &world,
        Instant::ZERO,
        &Action::Endpoint(LinkId(9), false)
    ));
    assert!(
        !world
            .done
            .iter()
            .any(|(_, action)| matches!(action, Action::Join { .. } | Action::Probe { .. }))
    );
}

#[test]
fn plain_tcp_touches_only_its_link() {
    let world = two_access_points(Policy::Tcp(LinkId(0)));
    let others = |action: &Action| {
        matches!(
            action,
            Action::Associate(LinkId(1)) | Action::DefaultRoute(_, Some(LinkId(9))) | Action::Endpoint(..)
        )
    };
    assert!(world.asked(Instant::ZERO, others).is_empty());
    for family in Family::ALL {
        let route = Action::DefaultRoute(family, Some(LinkId(0)));
        assert!(asked_for(&world, Instant::ZERO, &route));
    }
}

/// Two access points that are up without any reported beacon, as on a host without a monitor interface, and a
/// modem.
fn without_beacons(policy: Policy) -> World {
    let mut world = World::new(policy);
    world.up(9, LinkKind::Cellular, Role::Primary, 12, 60);
    world.up_without_channel(0, 20, 10);
    world.up_without_channel(1, 20, 10);
    world.open(1, 9);
    world.run(3 * S);
    world
}

#[test]
fn without_beacons_the_first_usable_access_point_is_kept() {
    let expected = [
        (Policy::Handover, vec![0], vec![1]),
        (Policy::HandoverWarm, vec![0], vec![1]),
        (Policy::HandoverCell, vec![0, 9], vec![1, 9]),
        (Policy::WifiFirst, vec![0], vec![1]),
    ];
    for (policy, first, second) in expected {
        let mut world = without_beacons(policy);
        assert_eq!(world.in_use(), first, "{policy:?}");
        assert_eq!(
            world.engine.explain()[0].why,
            "the first access point with a carrier and an address, since no beacons are reported"
        );
        world.tell(Input::Link(LinkId(0), LinkEvent::Usable(false)));
        world.run(S);
        assert_eq!(world.in_use(), second, "{policy:?}");
        world.tell(Input::Link(LinkId(0), LinkEvent::Usable(true)));
        world.run(S);
        assert_eq!(world.in_use(), second, "{policy:?} has no reason to go back");
    }
}

#[test]
fn the_first_beacon_ends_the_choice_without_beacons() {
    let mut world = without_beacons(Policy::HandoverWarm);
    world.set_signal(1, -50.0);
    world.run(S);
    assert_eq!(world.in_use(), [1], "the only one that is heard");
    assert!(
        world.engine.explain()[1]
            .why
            .starts_with("most beacons when it was chosen")
    );
}

#[test]
fn an_access_point_once_heard_is_not_chosen_while_silent() {
    let mut world = two_access_points(Policy::WifiFirst);
    world.open(1, 0);
    world.set_signal(1, -50.0);
    world.run(3 * S);
    for id in 0..2 {
        world.links.get_mut(&LinkId(id)).unwrap().signal = None;
    }
    world.run(3 * S);
    world.tell(Input::Link(LinkId(0), LinkEvent::Carrier(false)));
    world.run(S);
    assert_eq!(world.joined(), [9]);
}
