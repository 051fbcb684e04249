//! Slow links that a connection demotes.

use super::World;
use crate::*;
use units::Duration;

const S: Duration = Duration::from_secs(1);

#[test]
fn two_slow_links_are_both_backups_and_both_take_over() {
    let mut world = World::new(Policy::Slowhand);
    for (id, mbps, rtt) in [(0, 60, 20), (1, 3, 30), (2, 3, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, mbps, rtt);
    }
    world.open(1, 0);
    world.run_blocked(6 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![0], vec![0, 1, 2]));
    assert_eq!(
        [0, 1, 2].map(|id| world.state_of(id)),
        ["use", "demote", "demote"]
    );
    world.set_alive(0, false);
    world.run(S);
    assert_eq!(world.in_use(), [1, 2]);
}
