//! Queues on links, and the marks that shorten them.

use super::World;
use crate::reason::Queue;
use crate::*;
use units::{Bitrate, Duration, Instant, Ratio};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn three(policy: Policy) -> World {
    let mut world = World::new(policy);
    for (id, rtt) in [(0, 20), (1, 30), (2, 50)] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, rtt);
    }
    world.open(1, 0);
    world.run(2 * S);
    world
}

/// How often marks were requested on this link.
fn doses(world: &World, link: u16) -> usize {
    world
        .asked(Instant::ZERO, |action| match action {
            Action::Mark(of, rate) => of.0 == link && *rate > Ratio::ZERO,
            _ => false,
        })
        .len()
}

fn set_queue(world: &mut World, link: u16, queue: Duration) {
    world.links.get_mut(&LinkId(link)).unwrap().queue = queue;
}

#[test]
fn a_standing_queue_is_marked_and_only_while_it_stands() {
    let mut world = three(Policy::Slowhand);
    assert!(world.engine.asks_for_ecn());
    set_queue(&mut world, 1, 100 * MS);
    world.run(S / 2);
    let asked = [0, 1, 2].map(|link| doses(&world, link));
    assert!(
        asked[0] == 0 && (1..=2).contains(&asked[1]) && asked[2] == 0,
        "{asked:?}"
    );
    let told = world.asked(Instant::ZERO, |action| match action {
        Action::Note(note) => {
            note.verb == Verb::Mark
                && matches!(note.reason, Reason::Queue(Queue::Marked { queue, target: Some(_), .. }) if queue == 100 * MS)
        }
        _ => false,
    });
    assert_eq!(told.len(), 1);
    set_queue(&mut world, 1, Duration::ZERO);
    world.run(2 * S);
    assert_eq!(doses(&world, 1), asked[1]);
}

#[test]
fn a_slow_start_that_fills_a_queue_is_marked_within_a_few_readings() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 20), (1, 30)] {
        world.up(id, LinkKind::Cable, Role::Primary, 30, rtt);
    }
    world.open(1, 0);
    world.run(S / 2);
    assert_eq!([0, 1].map(|link| doses(&world, link)), [0, 0]);
    // Less than the 22 ms that are permitted later.
    set_queue(&mut world, 1, 10 * MS);
    world.run(50 * MS);
    assert_eq!([0, 1].map(|link| doses(&world, link)), [0, 1]);
    let told = world.asked(Instant::ZERO, |action| match action {
        Action::Note(note) => {
            note.verb == Verb::Mark
                && matches!(note.reason, Reason::Queue(Queue::Marked { target: None, .. }))
        }
        _ => false,
    });
    assert_eq!(told.len(), 1);
    world.run(5 * S);
    assert_eq!(doses(&world, 1), 1, "once");
}

#[test]
fn an_uploads_queue_is_marked_on_its_way_out() {
    let mut world = three(Policy::Slowhand);
    // Only acknowledgements arrive.
    (world.demand, world.unacked) = (0.02, 100);
    set_queue(&mut world, 2, 100 * MS);
    world.run(S);
    let sent = |world: &World, link: u16| {
        let asked = world.asked(Instant::ZERO, |action| match action {
            Action::MarkSent(of, rate) => of.0 == link && *rate > Ratio::ZERO,
            _ => false,
        });
        asked.len()
    };
    let marked = [0, 1, 2].map(|link| sent(&world, link));
    assert!(
        marked[..2] == [0, 0] && (1..=3).contains(&marked[2]),
        "{marked:?}"
    );
    world.unacked = 5;
    world.run(2 * S);
    assert_eq!(sent(&world, 2), marked[2], "a few segments fill no queue");
}

#[test]
fn low_demand_fills_no_queue() {
    let mut world = three(Policy::Slowhand);
    world.demand = 0.02;
    world.run(S);
    let before = doses(&world, 1);
    set_queue(&mut world, 1, 400 * MS);
    world.run(3 * S);
    assert_eq!(doses(&world, 1), before, "an echo of long ago");
}

/// The kernel takes no round trip from small segments, and reports the time of a whole receive window
/// instead.
#[test]
fn small_segments_show_no_queue() {
    let mut world = three(Policy::Slowhand);
    (world.demand, world.segment) = (0.004, 125.0);
    world.run(10 * S);
    assert_eq!(world.in_use(), [0]);
    let before = doses(&world, 0);
    let roles = |world: &World| {
        let changed = world.asked(Instant::ZERO, |action| matches!(action, Action::SetBackup { .. }));
        changed.len()
    };
    let changed = roles(&world);
    (0..3).for_each(|link| set_queue(&mut world, link, 5 * S));
    world.run(10 * S);
    assert_eq!((doses(&world, 0), roles(&world) - changed), (before, 0));
    // Full ones do.
    (world.demand, world.segment) = (0.2, 1_448.0);
    world.run(S);
    assert!(doses(&world, 0) > before);
}

#[test]
fn without_the_window_nothing_is_marked() {
    let mut world = three(Policy::SlowhandNoWindow);
    assert!(!world.engine.asks_for_ecn());
    set_queue(&mut world, 1, 100 * MS);
    world.run(S);
    assert_eq!(doses(&world, 1), 0);
}

#[test]
fn low_traffic_uses_the_quickest_link_and_high_traffic_all() {
    let mut world = three(Policy::Slowhand);
    assert_eq!(world.in_use(), [0, 1, 2]);
    world.demand = 0.002;
    world.run(3 * S);
    assert_eq!(world.in_use(), [0]);
    world.demand = 1.0;
    world.run(S / 2);
    assert_eq!(world.in_use(), [0, 1, 2]);
}

fn set_rate(world: &mut World, link: u16, mbps: u64) {
    world.links.get_mut(&LinkId(link)).unwrap().rate = Bitrate::from_mbps(mbps);
}

#[test]
fn over_radio_a_queue_is_marked_only_while_another_link_is_starved() {
    let mut world = World::new(Policy::Slowhand);
    for (id, rtt) in [(0, 45), (1, 25)] {
        world.up(id, LinkKind::Cellular, Role::Primary, 20, rtt);
    }
    world.open(1, 0);
    world.run(3 * S);
    set_queue(&mut world, 1, 90 * MS);
    world.run(3 * S);
    assert_eq!(
        [0, 1].map(|link| doses(&world, link)),
        [0, 0],
        "both bring what they can"
    );
    set_rate(&mut world, 0, 8);
    world.run(S);
    let asked = [0, 1].map(|link| doses(&world, link));
    assert!(asked[0] == 0 && (1..=4).contains(&asked[1]), "{asked:?}");
    set_queue(&mut world, 0, 90 * MS);
    world.run(S);
    let before = doses(&world, 1);
    world.run(3 * S);
    assert_eq!(
        doses(&world, 1),
        before,
        "what has a queue before it is not given too little"
    );
}
