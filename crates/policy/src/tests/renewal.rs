//! A fresh subflow over the slow link that is left.

use super::World;
use crate::*;
use units::{Bitrate, Bytes, Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const QUICK: u16 = 0;
const SLOW: u16 = 1;

/// A quick link with the first subflow, and one that takes a second for 64 KiB; much of what came waits for earlier bytes.
fn beside_a_slow_link(policy: Policy) -> World {
    let mut world = World::new(policy);
    world.up(QUICK, LinkKind::Cable, Role::Primary, 3, 70);
    world.up(SLOW, LinkKind::Cable, Role::Primary, 1, 190);
    world.links.get_mut(&LinkId(SLOW)).unwrap().rate = Bitrate::from_kbps(500);
    world.open(1, QUICK);
    world.run(3 * S);
    assert_eq!(world.in_use(), [QUICK, SLOW]);
    world.held = Bytes::from_kib(50);
    world
}

fn joins(world: &World, since: Instant) -> Vec<Instant> {
    world.asked(since, |action| {
        matches!(
            action,
            Action::Join {
                link: LinkId(SLOW),
                ..
            }
        )
    })
}

fn ends(world: &World, since: Instant) -> Vec<Instant> {
    world.asked(since, |action| matches!(action, Action::Destroy(_)))
}

fn ended(world: &World, since: Instant) -> Vec<SubflowId> {
    let done = world.done.iter().filter(|(at, _)| *at >= since);
    let ended = done.filter_map(|(_, action)| match action {
        Action::Destroy(subflow) => Some(*subflow),
        _ => None,
    });
    ended.collect()
}

#[test]
fn what_is_lost_with_a_link_does_not_wait_behind_a_slow_ones_queue() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    let (joins, ends) = (joins(&world, cut), ends(&world, cut));
    let given_up = world.withdrawn(cut)[0];
    assert_eq!(joins, [given_up], "at once, and once");
    assert_eq!(ends.len(), 2, "the dead one and the replaced one: {ends:?}");
    let made = ends[1] - joins[0];
    assert!(
        made >= 190 * MS && made <= 300 * MS,
        "not before the other is there: {made:?}"
    );
    assert_eq!(world.joined(), [SLOW]);
    let told: Vec<SubflowId> = world.heard.iter().map(|(_, subflow)| *subflow).collect();
    assert!(
        told.iter().all(|subflow| *subflow == SubflowId(0)),
        "its address is in use: {told:?}"
    );
}

#[test]
fn the_dead_link_has_a_place_again_when_it_answers() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.set_alive(QUICK, false);
    world.run(2 * S);
    world.set_alive(QUICK, true);
    world.run(8 * S);
    assert_eq!(world.in_use(), [QUICK, SLOW]);
}

#[test]
fn where_the_peer_has_no_place_the_first_one_stays() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.places = 1;
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    assert_eq!(joins(&world, cut).len(), 1, "the engine does not know");
    assert_eq!(ends(&world, cut).len(), 1, "the dead one");
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn a_join_that_is_lost_costs_nothing() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    while joins(&world, cut).is_empty() {
        world.run(5 * MS);
    }
    world.lose_joins();
    world.run(4 * S);
    assert_eq!(ends(&world, cut).len(), 1, "the dead one");
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn nothing_is_replaced_where_nothing_waits_or_the_rest_is_quick() {
    let mut nothing_waits = beside_a_slow_link(Policy::Slowhand);
    nothing_waits.held = Bytes::ZERO;
    let mut quick = beside_a_slow_link(Policy::Slowhand);
    quick.links.get_mut(&LinkId(SLOW)).unwrap().rate = Bitrate::from_mbps(3);
    quick.run(S);
    let unbounded = beside_a_slow_link(Policy::SlowhandNoWindow);
    for mut world in [nothing_waits, quick, unbounded] {
        let cut = world.now;
        world.set_alive(QUICK, false);
        world.run(2 * S);
        assert!(!world.withdrawn(cut).is_empty());
        assert_eq!(joins(&world, cut), []);
        assert_eq!(world.in_use(), [SLOW]);
    }
}

/// What the peer has not heard is sent again, over what was a backup until now: 520 kB at 500 kb/s.
#[test]
fn a_backup_that_takes_over_begins_behind_what_has_come_already() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.links.get_mut(&LinkId(QUICK)).unwrap().rate = Bitrate::from_mbps(60);
    world.held = Bytes::from_kib(500);
    world.run(6 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![QUICK], vec![QUICK, SLOW]));
    (world.held, world.repeats) = (Bytes::ZERO, true);
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    assert_eq!(joins(&world, cut), [world.withdrawn(cut)[0]]);
    assert_eq!(ended(&world, cut), [SubflowId(0), SubflowId(1)]);
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn what_comes_and_leads_no_further_is_seen_after_two_round_trips() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.held = Bytes::ZERO;
    let cut = world.now;
    world.set_alive(QUICK, false);
    while world.withdrawn(cut).is_empty() {
        world.run(5 * MS);
    }
    world.repeats = true;
    let since = world.now;
    world.run(2 * S);
    let begun = joins(&world, cut)[0] - since;
    assert!(begun >= 380 * MS && begun <= 500 * MS, "{begun:?}");
    assert_eq!(ended(&world, cut), [SubflowId(0), SubflowId(1)]);
}

#[test]
fn where_what_was_lost_has_come_meanwhile_the_first_one_stays() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    while joins(&world, cut).is_empty() {
        world.run(5 * MS);
    }
    world.held = Bytes::ZERO;
    world.run(2 * S);
    assert_eq!(
        ended(&world, cut),
        [SubflowId(0), SubflowId(2)],
        "the second one over the slow link"
    );
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn a_slow_link_that_dies_is_given_up_and_no_more() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(SLOW, false);
    world.run(S);
    assert!(!world.withdrawn(cut).is_empty());
    assert_eq!((joins(&world, cut).len(), ends(&world, cut).len()), (0, 1));
    assert_eq!(world.in_use(), [QUICK]);
}
