//! Replacing the subflow over the slow link that survives.

use super::World;
use crate::*;
use units::{Bitrate, Bytes, Duration, Instant};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const QUICK: u16 = 0;
const SLOW: u16 = 1;

/// A quick link with the first subflow, and one that takes a second for 64 KiB. Many bytes are out of order.
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

/// A third link that is slower still. The first subflow is over `first`.
fn three(first: u16) -> World {
    let mut world = World::new(Policy::Slowhand);
    for (id, kbps, rtt) in [(QUICK, 3_000, 70), (SLOW, 500, 190), (2, 300, 200)] {
        world.up(id, LinkKind::Cable, Role::Primary, 1, rtt);
        world.links.get_mut(&LinkId(id)).unwrap().rate = Bitrate::from_kbps(kbps);
    }
    world.open(1, first);
    world.run(3 * S);
    assert_eq!(world.in_use(), [QUICK, SLOW, 2]);
    world.held = Bytes::from_kib(20);
    world
}

/// Runs until `done`, within two seconds.
fn until(world: &mut World, done: impl Fn(&World) -> bool) {
    for _ in 0..400 {
        if done(world) {
            return;
        }
        world.run(5 * MS);
    }
    panic!("it did not happen in time");
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
fn lost_bytes_do_not_wait_behind_a_slow_links_queue() {
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
fn the_dead_link_has_a_place_again_when_it_replies() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.set_alive(QUICK, false);
    world.run(2 * S);
    world.set_alive(QUICK, true);
    world.run(8 * S);
    assert_eq!(world.in_use(), [QUICK, SLOW]);
}

#[test]
fn without_a_free_place_the_first_subflow_stays() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.places = 1;
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    assert_eq!(joins(&world, cut).len(), 1, "the engine does not know");
    assert_eq!(ends(&world, cut).len(), 1, "the dead one");
    assert_eq!((world.in_use(), world.state_of(SLOW)), (vec![SLOW], "use"));
}

/// The engine considers the join failed by then.
#[test]
fn a_join_that_is_late_leaves_one_subflow() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !joins(world, cut).is_empty());
    world.delay_joins(4 * S);
    world.run(4 * S);
    assert_eq!(world.state_of(SLOW), "use", "the first one continues");
    world.run(S);
    assert_eq!((joins(&world, cut).len(), world.joined()), (1, vec![SLOW]));
}

/// RM_ADDR for its address, sent while another join over it was pending, would have been about that join.
#[test]
fn a_link_that_dies_while_it_is_joined_again_is_withdrawn_when_that_has_failed() {
    let mut world = three(2);
    let slow = world.joined_as(SLOW);
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !joins(world, cut).is_empty());
    let begun = world.now;
    world.set_alive(SLOW, false);
    world.run(5 * S);
    let of_slow = |action: &Action| *action == Action::Withdraw(slow);
    let told = world.asked(begun, of_slow);
    assert!(told.iter().any(|at| *at - begun < 2 * S), "{told:?}");
    assert!(told.iter().any(|at| *at - begun >= 3 * S), "{told:?}");
}

/// No other subflow gets the place of a connection's first subflow.
#[test]
fn the_first_subflow_stays_where_the_peer_has_too_few_places() {
    let mut world = three(SLOW);
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    assert!(!world.withdrawn(cut).is_empty());
    assert_eq!(joins(&world, cut), []);
    assert_eq!(world.joined(), [SLOW, 2]);
}

#[test]
fn a_join_that_is_lost_costs_nothing() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !joins(world, cut).is_empty());
    world.lose_joins();
    world.run(4 * S);
    assert_eq!(ends(&world, cut).len(), 1, "the dead one");
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn nothing_is_replaced_if_nothing_waits_or_the_others_are_quick() {
    let mut nothing_waits = beside_a_slow_link(Policy::Slowhand);
    nothing_waits.held = Bytes::ZERO;
    let mut quick = beside_a_slow_link(Policy::Slowhand);
    quick.links.get_mut(&LinkId(SLOW)).unwrap().rate = Bitrate::from_mbps(3);
    quick.run(S);
    let unbounded = beside_a_slow_link(Policy::SlowhandNoWindow);
    let mut uploads = beside_a_slow_link(Policy::Slowhand);
    uploads.unacked = 20;
    for mut world in [nothing_waits, quick, unbounded, uploads] {
        let cut = world.now;
        world.set_alive(QUICK, false);
        world.run(2 * S);
        assert!(!world.withdrawn(cut).is_empty());
        assert_eq!(joins(&world, cut), []);
        assert_eq!(world.in_use(), [SLOW]);
    }
}

/// The peer resends what it has no ACK for, over what was a backup until now: 520 kB at 500 kb/s.
#[test]
fn a_promoted_backup_starts_behind_bytes_already_received() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.links.get_mut(&LinkId(QUICK)).unwrap().rate = Bitrate::from_mbps(60);
    world.run_blocked(6 * S);
    assert_eq!((world.in_use(), world.joined()), (vec![QUICK], vec![QUICK, SLOW]));
    (world.held, world.repeats) = (Bytes::ZERO, true);
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.run(2 * S);
    assert_eq!(joins(&world, cut), [world.withdrawn(cut)[0]]);
    assert_eq!(ended(&world, cut), [SubflowId(0), SubflowId(1)]);
    assert_eq!(world.in_use(), [SLOW]);
}

/// Its rate is known although it has carried nothing for longer than rates are remembered, and carries
/// nothing until the other link is removed.
#[test]
fn the_rate_of_a_backup_is_known_when_it_is_promoted() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.links.get_mut(&LinkId(QUICK)).unwrap().rate = Bitrate::from_mbps(60);
    world.links.get_mut(&LinkId(SLOW)).unwrap().queue = 190 * MS;
    world.held = Bytes::ZERO;
    world.run(4 * S);
    (world.held, world.demand) = (Bytes::from_kib(500), 0.6);
    until(&mut world, |world| world.in_use() == [QUICK]);
    (world.held, world.repeats, world.demand) = (Bytes::ZERO, true, 1.0);
    world.run(14 * S);
    assert_eq!(world.in_use(), [QUICK], "it has not been tried yet");
    let cut = world.now;
    world.set_alive(QUICK, false);
    world.idle = Some(ConnId(1));
    until(&mut world, |world| !world.withdrawn(cut).is_empty());
    assert_eq!(joins(&world, cut), world.withdrawn(cut), "at once");
}

/// Nothing was assigned to it before the loss.
#[test]
fn a_subflow_joined_after_the_loss_stays() {
    let mut world = World::new(Policy::Slowhand);
    world.up(SLOW, LinkKind::Cable, Role::Primary, 1, 100);
    world.links.get_mut(&LinkId(SLOW)).unwrap().rate = Bitrate::from_kbps(500);
    world.open(1, SLOW);
    world.run(3 * S);
    world.held = Bytes::from_kib(50);
    let moved = world.now;
    world.tell(Input::Link(LinkId(SLOW), LinkEvent::Usable(false)));
    world.run(500 * MS);
    world.tell(Input::Link(LinkId(SLOW), LinkEvent::Usable(true)));
    world.run(3 * S);
    assert_eq!(joins(&world, moved).len(), 1, "its successor");
    assert_eq!((world.joined(), world.in_use()), (vec![SLOW], vec![SLOW]));
}

/// A join that cannot succeed any longer does not prevent the next one.
#[test]
fn a_join_that_was_refused_is_over_at_once() {
    let mut world = three(2);
    world.places = 2;
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !joins(world, cut).is_empty());
    world.places = 0;
    world.run(S);
    assert_eq!(ends(&world, cut).len(), 1, "the first one continues");
    world.places = 2;
    world.set_alive(2, false);
    let again = world.now;
    world.run(2 * S);
    assert_eq!(joins(&world, again).len(), 1);
}

#[test]
fn arrivals_without_in_order_data_are_seen_after_two_round_trips() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    world.held = Bytes::ZERO;
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !world.withdrawn(cut).is_empty());
    world.repeats = true;
    let since = world.now;
    world.run(2 * S);
    let begun = joins(&world, cut)[0] - since;
    assert!(begun >= 380 * MS && begun <= 500 * MS, "{begun:?}");
    assert_eq!(ended(&world, cut), [SubflowId(0), SubflowId(1)]);
}

#[test]
fn a_replacement_is_completed_even_if_the_lost_bytes_have_arrived() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(QUICK, false);
    until(&mut world, |world| !joins(world, cut).is_empty());
    world.held = Bytes::ZERO;
    world.run(2 * S);
    assert_eq!(ended(&world, cut), [SubflowId(0), SubflowId(1)]);
    assert_eq!(world.in_use(), [SLOW]);
}

#[test]
fn a_slow_link_that_dies_is_removed_without_a_replacement() {
    let mut world = beside_a_slow_link(Policy::Slowhand);
    let cut = world.now;
    world.set_alive(SLOW, false);
    world.run(S);
    assert!(!world.withdrawn(cut).is_empty());
    assert_eq!((joins(&world, cut).len(), ends(&world, cut).len()), (0, 1));
    assert_eq!(world.in_use(), [QUICK]);
}
