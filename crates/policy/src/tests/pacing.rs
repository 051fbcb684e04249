//! The slow start of an upload, slowed down once.

use super::World;
use crate::reason::Queue;
use crate::*;
use units::{Bitrate, Bytes, Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn uploads(kind: LinkKind) -> World {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, kind, Role::Primary, 30, 50);
    world.open(1, 0);
    // Only acknowledgements arrive.
    world.demand = 0.02;
    world.run(100 * MS);
    world
}

/// An upload over a link that another upload, another download, or nothing has long been filling.
fn beside(kind: LinkKind, demand: f64, unacked: u32) -> World {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, kind, Role::Primary, 30, 50);
    world.open(1, 0);
    (world.demand, world.unacked) = (demand, unacked);
    world.run(Duration::from_secs(3));
    world.open(2, 0);
    world
}

/// Samples of the second connection's subflow, which starts and fills a queue, before its world can report
/// the effect.
fn second_fills(world: &mut World) {
    for n in 1..=3 {
        let sample = SubflowSample {
            unacked: 150,
            bytes_acked: Bytes::from_kib(40 * n),
            srtt: 90 * MS,
            min_rtt: 50 * MS,
            ..SubflowSample::default()
        };
        world.now += 10 * MS;
        world.tell(Input::Subflow(SubflowId(1), SubflowEvent::Sample(sample)));
    }
}

/// Five samples with `unacked` segments in flight and this round trip, while acknowledgements arrive at this
/// rate.
fn read(world: &mut World, unacked: u32, rtt_ms: u64, mbps: u64) {
    for _ in 0..5 {
        world.now += 10 * MS;
        let sample = SubflowSample {
            unacked,
            bytes_acked: Bitrate::from_mbps(mbps) * (world.now - Instant::ZERO),
            srtt: Duration::from_millis(rtt_ms),
            min_rtt: 50 * MS,
            ..SubflowSample::default()
        };
        world.tell(Input::Subflow(SubflowId(0), SubflowEvent::Sample(sample)));
    }
}

fn caps(world: &World) -> Vec<(Bitrate, Duration)> {
    let asked = world.done.iter().filter_map(|(_, action)| match *action {
        Action::CapPacing { rate, lasts, .. } => Some((rate, lasts)),
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_slow_start_that_fills_a_queue_is_capped_below_its_arrivals_once() {
    let mut world = uploads(LinkKind::Cable);
    read(&mut world, 100, 51, 25);
    read(&mut world, 10, 80, 25);
    assert_eq!(caps(&world), [], "no queue; a few segments fill none");
    read(&mut world, 150, 64, 25);
    assert_eq!(caps(&world), [(Bitrate::from_kbps(17_500), 512 * MS)]);
    read(&mut world, 300, 120, 25);
    assert_eq!(caps(&world).len(), 1, "once");
    let because = Reason::Queue(Queue::SlowStart {
        rate: Bitrate::from_kbps(17_500),
        lasts: 512 * MS,
        rtt: 64 * MS,
    });
    let told = world.asked(
        Instant::ZERO,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Pace && note.reason == because),
    );
    assert_eq!(told.len(), 1);
    let of_link = world.asked(
        Instant::ZERO,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Pace && note.conn.is_none()),
    );
    assert_eq!(of_link.len(), 0, "about the connection, not the link");
}

#[test]
fn an_old_rate_is_not_used() {
    let mut world = uploads(LinkKind::Cable);
    read(&mut world, 150, 51, 2);
    // 150 segments of 1,448 bytes in 64 ms are 27.15 Mb/s. Half of it certainly arrives, and seven tenths of
    // that are 9.5.
    read(&mut world, 150, 64, 2);
    let [(rate, _)] = caps(&world)[..] else { panic!() };
    assert_eq!(rate.as_bps() / 100_000, 95);
}

#[test]
fn neither_radio_nor_a_settled_subflow_is_slowed() {
    let mut radio = uploads(LinkKind::Wifi);
    read(&mut radio, 150, 90, 25);
    assert_eq!(caps(&radio), []);
    let mut old = uploads(LinkKind::Cable);
    old.run(Duration::from_millis(1_500));
    read(&mut old, 150, 90, 25);
    assert_eq!(caps(&old), []);
    let mut stock = World::new(Policy::SlowhandNoWindow);
    stock.up(0, LinkKind::Cable, Role::Primary, 30, 50);
    stock.open(1, 0);
    stock.run(100 * MS);
    read(&mut stock, 150, 90, 25);
    assert_eq!(caps(&stock), []);
}

#[test]
fn neither_a_farther_peer_nor_an_established_one_is_slowed() {
    let mut far = uploads(LinkKind::Cable);
    let sample = |acked, min_rtt| SubflowSample {
        unacked: 150,
        bytes_acked: Bytes::from_kib(acked),
        srtt: 90 * MS,
        min_rtt,
        ..SubflowSample::default()
    };
    far.tell(Input::Subflow(
        SubflowId(0),
        SubflowEvent::Sample(sample(10, 85 * MS)),
    ));
    assert_eq!(caps(&far), [], "the link's least round trip is 50 ms, its own 85");
    far.tell(Input::Subflow(
        SubflowId(0),
        SubflowEvent::Sample(sample(20, 50 * MS)),
    ));
    assert_eq!(caps(&far).len(), 1);

    let mut found = World::new(Policy::Slowhand);
    found.up(0, LinkKind::Cable, Role::Primary, 30, 50);
    found.open(1, 0);
    for acked in [10_000, 10_020] {
        found.now += 10 * MS;
        found.tell(Input::Subflow(
            SubflowId(0),
            SubflowEvent::Sample(sample(acked, 50 * MS)),
        ));
    }
    assert_eq!(caps(&found), []);
}

#[test]
fn the_queue_of_another_subflow_does_not_slow_it() {
    for (demand, unacked, times) in [(0.02, 100, 0), (1.0, 0, 0), (0.001, 0, 1)] {
        let mut world = beside(LinkKind::Cable, demand, unacked);
        second_fills(&mut world);
        assert_eq!(
            caps(&world).len(),
            times,
            "beside {demand} and {unacked} in flight"
        );
    }
}
