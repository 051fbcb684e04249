//! Which links get the few places of a peer.

use super::World;
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);

/// Cables with these rates, in this order, and a connection over the first.
fn cables(mbps: [u64; 4], role_of_last: Role) -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps) in (0..).zip(mbps) {
        let role = if id == 3 { role_of_last } else { Role::Primary };
        world.up(id, LinkKind::Cable, role, mbps, 20);
    }
    world.open(1, 0);
    world
}

fn joins(world: &World, since: Instant) -> usize {
    world
        .asked(since, |action| matches!(action, Action::Join { .. }))
        .len()
}

#[test]
fn the_fastest_of_four_cables_gets_a_place_although_it_came_last() {
    let mut world = cables([10, 20, 30, 100], Role::Primary);
    world.run(4 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
    world.run(56 * S);
    assert_eq!(world.in_use(), [0, 2, 3]);
    let settled = world.now;
    world.run(300 * S);
    assert_eq!(joins(&world, settled), 0);
}

#[test]
fn a_slower_fourth_is_tried_only_once() {
    let mut world = cables([30, 20, 10, 5], Role::Primary);
    let before = world.now;
    world.run(600 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
    assert_eq!(
        world
            .asked(before, |action| matches!(
                action,
                Action::Join { link: LinkId(3), .. }
            ))
            .len(),
        1
    );
    // Two at the start, the trial, and back.
    assert_eq!(joins(&world, before), 4);
}

#[test]
fn places_stay_as_they_are_while_demand_is_low() {
    let mut world = cables([10, 20, 30, 100], Role::Primary);
    world.run(60 * S);
    let settled = world.now;
    for demand in [0.3, 0.001, 0.0, 0.02, 1.0, 0.0, 1.0] {
        world.demand = demand;
        world.run(45 * S);
    }
    assert_eq!(world.joined(), [0, 2, 3]);
    assert_eq!(joins(&world, settled), 0);
}

#[test]
fn an_idle_connection_shows_no_capacity() {
    let mut world = cables([10, 20, 30, 100], Role::Primary);
    world.run(60 * S);
    world.idle = Some(ConnId(2));
    world.open(2, 0);
    world.run(4 * S);
    let settled = world.now;
    world.run(120 * S);
    assert_eq!(joins(&world, settled), 0);
}

#[test]
fn backups_and_metered_links_are_not_tried() {
    let mut reserve = cables([10, 20, 30, 100], Role::Backup);
    let mut metered = cables([10, 20, 30, 100], Role::Primary);
    let tariff = crate::Tariff::Metered { cap: None };
    metered.tell(Input::Link(LinkId(3), LinkEvent::Tariff(tariff)));
    for world in [&mut reserve, &mut metered] {
        world.run(60 * S);
        assert_eq!(world.joined(), [0, 1, 2]);
    }
}

#[test]
fn nothing_is_tried_while_demand_is_low() {
    let mut world = cables([10, 20, 30, 100], Role::Primary);
    world.run(3 * S);
    world.demand = 0.02;
    world.run(60 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
}

#[test]
fn nothing_is_tried_while_a_signal_falls() {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 10, 20);
    world.up(1, LinkKind::Wifi, Role::Primary, 20, 20);
    world.up(2, LinkKind::Cable, Role::Primary, 30, 20);
    world.up(3, LinkKind::Cable, Role::Primary, 100, 20);
    let mut signal = -72.0;
    world.set_signal(1, signal);
    world.open(1, 0);
    world.run(S);
    assert_eq!(world.joined(), [0, 1, 2]);
    while world.in_use().contains(&1) {
        assert_eq!(world.joined(), [0, 1, 2], "at {signal} dBm");
        signal -= 0.1;
        world.set_signal(1, signal);
        world.run(S / 10);
    }
    let now = world.now;
    assert!(
        now >= Instant::from_secs(7),
        "{now} {signal}: the links had been busy for long enough"
    );
}

#[test]
fn a_link_that_has_become_slow_while_the_others_are_full_loses_its_place() {
    let mut world = cables([10, 20, 30, 100], Role::Primary);
    world.run(60 * S);
    assert_eq!(world.joined(), [0, 2, 3]);
    world.links.get_mut(&LinkId(3)).unwrap().rate = units::Bitrate::from_mbps(5);
    world.run(60 * S);
    assert_eq!(world.joined(), [0, 1, 2]);
}
