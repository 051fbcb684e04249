//! Backups that are probed, and those that are left asleep.

use super::World;
use crate::estimate::energy::{Set, Technology};
use crate::*;
use units::{Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// A cable in use and backups, two of which the peer accepts.
fn with_reserves(reserves: u16) -> World {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
    for id in 1..=reserves {
        world.up(id, LinkKind::Cable, Role::Backup, 50, 20 + 10 * u64::from(id));
    }
    world.open(1, 0);
    world.run(3 * S);
    assert_eq!(world.in_use(), [0]);
    world
}

fn probes(world: &World, since: Instant, link: u16) -> usize {
    let probe = |action: &Action| matches!(action, Action::Probe { link: of, .. } if of.0 == link);
    world.asked(since, probe).len()
}

fn known_after(world: &mut World, victim: u16) -> Duration {
    let cut = world.now;
    world.set_alive(victim, false);
    while world.state_of(victim) != "dead" {
        world.run(5 * MS);
        assert!(world.now - cut <= 20 * S, "{}", world.state_of(victim));
    }
    world.now - cut
}

#[test]
fn a_dead_backup_is_found_before_it_is_needed() {
    let mut world = with_reserves(3);
    assert_eq!(world.joined(), [0, 1, 2]);
    let since = world.now;
    let took = known_after(&mut world, 1);
    assert!(took <= 8 * S, "{took:?}");
    world.run(S);
    assert_eq!(world.joined(), [0, 2, 3], "another one has its place");
    assert_eq!(world.in_use(), [0]);
    let cut = world.now;
    world.set_alive(0, false);
    world.run(S);
    assert_eq!(world.in_use(), [2]);
    let raised = world.asked(cut, |action| {
        matches!(action, Action::SetBackup { backup: false, .. })
    });
    assert!(raised[0] - cut <= 150 * MS, "{:?}", raised[0] - cut);
    assert!(
        world
            .asked(since, |action| matches!(action, Action::SetBackup { .. }))
            .len()
            <= 2
    );
}

#[test]
fn a_live_backup_is_probed_occasionally_and_stays_sound() {
    let mut world = with_reserves(1);
    let since = world.now;
    world.run(60 * S);
    assert!(
        (10..=13).contains(&probes(&world, since, 1)),
        "{}",
        probes(&world, since, 1)
    );
    let doubts = |action: &Action| matches!(action, Action::Note(note) if note.verb == Verb::Suspect);
    assert!(world.asked(since, doubts).is_empty());
    world.demand = 0.0;
    world.run(2 * S);
    let idle = world.now;
    world.run(180 * S);
    assert!(
        (2..=4).contains(&probes(&world, idle, 1)),
        "{}",
        probes(&world, idle, 1)
    );
    assert!(world.withdrawn(since).is_empty());
}

#[test]
fn a_reply_delayed_by_a_neighbours_queue_is_awaited() {
    // The engine's estimate for the link is 30 ms.
    for answers_after in [200, 900, 1_500] {
        let mut world = with_reserves(1);
        let since = world.now;
        world.links.get_mut(&LinkId(1)).unwrap().answers_after = answers_after * MS;
        world.run(300 * S);
        assert!(world.withdrawn(since).is_empty(), "{answers_after} ms");
        let asked = probes(&world, since, 1);
        assert!(
            asked >= 40 && (answers_after > 1_000 || asked <= 61),
            "{answers_after} ms: {asked}"
        );
    }
}

#[test]
fn a_demoted_slow_link_is_probed_too() {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps, rtt) in [(0, 30, 20), (1, 30, 30), (2, 3, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, rtt);
    }
    world.open(1, 0);
    world.run_blocked(3 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![0, 1], vec![0, 1, 2]));
    let took = known_after(&mut world, 2);
    assert!(took <= 8 * S, "{took:?}");
}

#[test]
fn the_backups_of_low_traffic_are_probed_too() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 50, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    world.demand = 0.001;
    world.run(5 * S);
    assert_eq!(world.in_use(), [0]);
    let took = known_after(&mut world, 1);
    assert!(took <= 8 * S, "{took:?}");
    world.run(S);
    assert_eq!(world.joined(), [0, 2]);
}

#[test]
fn radios_and_metered_links_are_left_asleep() {
    for kind in [LinkKind::Cellular, LinkKind::Wifi] {
        let mut world = World::new(Policy::Slowhand);
        world.up(0, LinkKind::Cable, Role::Primary, 50, 20);
        world.up(1, kind, Role::Backup, 20, 30);
        if kind == LinkKind::Wifi {
            world.set_signal(1, -50.0);
        }
        world.open(1, 0);
        world.run(3 * S);
        assert_eq!(world.joined(), [0, 1]);
        let since = world.now;
        world.run(120 * S);
        assert_eq!(probes(&world, since, 1), 0, "{kind:?}");
        let awake = Set::Mobisys2012
            .radio(Technology::Wifi)
            .unwrap()
            .with_tail(Duration::ZERO);
        world.tell(Input::Link(LinkId(1), LinkEvent::Draws(awake)));
        world.run(60 * S);
        let asked = probes(&world, since, 1);
        assert_eq!(
            asked >= 10,
            kind == LinkKind::Wifi,
            "{kind:?}, which need not sleep: {asked}"
        );
    }
    let mut world = with_reserves(1);
    let metered = crate::Tariff::Metered { cap: None };
    world.tell(Input::Link(LinkId(1), LinkEvent::Tariff(metered)));
    let since = world.now;
    world.run(60 * S);
    assert_eq!(probes(&world, since, 1), 0);
}
