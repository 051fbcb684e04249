//! A slow access point that loses segments at random: its connection is better off with it as a backup.

mod world;

use policy::{Action, LinkKind, Policy};
use units::{Bytes, Duration};
use world::{Step, World};

const S: Duration = Duration::from_secs(1);
/// The access point, which carries an eighth of what the cables do.
const WIFI: u16 = 2;

const fn cable(id: u16) -> Step {
    Step::Wire {
        id,
        kind: LinkKind::Cable,
        mbps: 100,
    }
}

/// A connection that has found the rates of two cables and of a slow access point.
fn beside_cables() -> World {
    let wifi = Step::AccessPoint {
        id: WIFI,
        channel: 6,
        mbps: 54,
        loss_percent: 0,
    };
    let strong = Step::Signal {
        id: WIFI,
        dbm: -50,
        db_per_s: 0.0,
    };
    let world = World::after(
        Policy::Slowhand,
        &[
            cable(0),
            cable(1),
            wifi,
            strong,
            Step::Up(0, true),
            Step::Up(1, true),
            Step::Open(0),
            Step::Run(6 * S),
        ],
    );
    assert_eq!(world.in_use(), [0, 1, WIFI]);
    assert!(!has_demoted(&world));
    world
}

/// The same world 5 s later: the access point has lost this percentage of its segments, and this many bytes
/// of the connection are out of order.
fn played(lost_percent: u64, held: Bytes) -> World {
    let mut world = beside_cables();
    world.link(WIFI).lost_percent = lost_percent;
    world.held = held;
    world.follow(&[Step::Run(5 * S)]);
    world
}

fn has_demoted(world: &World) -> bool {
    let demotes = |action: &Action| matches!(action, Action::SetBackup { backup: true, .. });
    world.done.iter().any(|(_, action)| demotes(action))
}

#[test]
fn a_slow_access_point_that_loses_segments_becomes_a_backup() {
    let world = played(1, Bytes::from_kib(300));
    assert!(has_demoted(&world));
    assert_eq!(world.in_use(), [0, 1], "the access point");
    assert_eq!(world.joined(), [0, 1, WIFI], "it stays joined");
    let why = world.explanation(WIFI).why;
    assert!(why.contains("head-of-line blocking"), "{why}");
}

#[test]
fn without_losses_it_is_not_blamed_for_what_is_out_of_order() {
    let world = played(0, Bytes::from_kib(300));
    assert!(!has_demoted(&world));
    assert_eq!(world.in_use(), [0, 1, WIFI]);
}

#[test]
fn losses_that_no_byte_waits_for_cost_no_link() {
    let world = played(1, Bytes::ZERO);
    assert!(!has_demoted(&world));
    assert_eq!(world.in_use(), [0, 1, WIFI]);
}
