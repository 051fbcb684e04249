//! An upload's slow start, held back once.

use super::World;
use crate::*;
use units::{Bitrate, Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn uploads(kind: LinkKind) -> World {
    let mut world = World::new(Policy::Slowhand);
    world.up(0, kind, Role::Primary, 30, 50);
    world.open(1, 0);
    // Acknowledgements are all that comes.
    world.demand = 0.02;
    world.run(100 * MS);
    world
}

/// Five readings with so much under way and this round trip, while acknowledgements come at this rate.
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
fn a_slow_start_that_fills_a_queue_is_held_under_what_arrives_and_once() {
    let mut world = uploads(LinkKind::Cable);
    read(&mut world, 100, 51, 25);
    read(&mut world, 10, 80, 25);
    assert_eq!(caps(&world), [], "no queue; a few segments fill none");
    read(&mut world, 150, 64, 25);
    assert_eq!(caps(&world), [(Bitrate::from_kbps(17_500), 512 * MS)]);
    read(&mut world, 300, 120, 25);
    assert_eq!(caps(&world).len(), 1, "once");
    let told = world.asked(
        Instant::ZERO,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Pace && note.why.starts_with("17.5 Mb/s for 512 ms")),
    );
    assert_eq!(told.len(), 1);
    let stands = world.asked(
        Instant::ZERO,
        |action| matches!(action, Action::Note(note) if note.verb == Verb::Pace && note.conn.is_none()),
    );
    assert_eq!(stands.len(), 0, "of the connection, not how the link stands");
}

#[test]
fn a_rate_of_long_before_is_not_believed() {
    let mut world = uploads(LinkKind::Cable);
    read(&mut world, 150, 51, 2);
    // 150 segments of 1,448 bytes in 64 ms are 27.15 Mb/s; half of it is sure to arrive, and seven tenths of that are 9.5.
    read(&mut world, 150, 64, 2);
    let [(rate, _)] = caps(&world)[..] else { panic!() };
    assert_eq!(rate.as_bps() / 100_000, 95);
}

#[test]
fn neither_radio_nor_what_is_long_past_its_start_is_held_back() {
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
