//! 802.11n: aggregates and block acks compared with the standard's durations and with another simulator. Also
//! RTS/CTS.

use links::Position;
use links::air::{AirConfig, Ht, StationConfig, StationId};
use sim::World;
use sim::cells::saturated;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Mode, Width, subframe_bytes};
use units::{Bitrate, Duration};

const PAYLOAD: u32 = 1_470;

fn station(name: &str, metres: i64, ht: Option<Ht>) -> StationConfig {
    place(name, metres * 1_000, ht)
}

fn place(name: &str, x_mm: i64, ht: Option<Ht>) -> StationConfig {
    let position = Position { x_mm, y_mm: 0 };
    StationConfig {
        ht,
        ..StationConfig::new(name, Standard::A, position)
    }
}

fn run(stations: Vec<StationConfig>, pairs: &[(u32, u32)], seconds: u64) -> World {
    let flows = pairs.iter().map(|&(from, to)| saturated(from, to, PAYLOAD));
    let mut world = World::new(1, &AirConfig::new(Standard::A, stations), flows.collect()).unwrap();
    world.run_for(Duration::from_secs(seconds));
    world
}

fn goodput(world: &World, seconds: u64) -> f64 {
    world.total().mbps(Duration::from_secs(seconds))
}

/// One saturated flow over a distance of `mm` millimetres.
fn alone(ht: Ht, mm: i64) -> World {
    run(
        vec![place("ap", 0, Some(ht)), place("client", mm, Some(ht))],
        &[(0, 1)],
        5,
    )
}

#[test]
fn goodput_agrees_with_ns_3() {
    let ours = goodput(&alone(Ht::new(1, Width::Mhz20, Guard::Long), 5_000), 5);
    // ns-3 3.37: 802.11n at 5 GHz, MCS 7, 20 MHz, aggregates of 65,535 bytes.
    assert!((ours / 59.709 - 1.0).abs() < 0.04, "{ours}");
}

#[test]
fn throughput_follows_from_the_durations() {
    for streams in 1..=4 {
        for (width, guard) in [
            (Width::Mhz20, Guard::Long),
            (Width::Mhz20, Guard::Short),
            (Width::Mhz40, Guard::Long),
            (Width::Mhz40, Guard::Short),
        ] {
            let ht = Ht::new(streams, width, guard);
            let mode = Mode::new(ht.mcs, width, guard).unwrap();
            let subframe = subframe_bytes(PAYLOAD + 28 + 38);
            let fits = |frames: &u32| {
                let time = mode.frame_time(frames * subframe, units::wifi::ht::Band::Ghz5);
                *frames <= 64 && frames * subframe <= 65_535 && time <= ht.time
            };
            let frames = (1..=64).take_while(fits).last().unwrap();
            let data = mode.frame_time(frames * subframe, units::wifi::ht::Band::Ghz5);
            // AIFS and the mean backoff, aggregate, SIFS, and a block ack of 32 bytes at 24 Mb/s.
            let cycle = 43.0 + 67.5 + data.as_micros() as f64 + 16.0 + 32.0;
            let expected = f64::from(frames * PAYLOAD * 8) / cycle;
            let ours = goodput(&alone(ht, 2_000), 5);
            assert!(
                (ours / expected - 1.0).abs() < 0.01,
                "{streams} streams, {width:?}, {guard:?}: {ours} against {expected}"
            );
        }
    }
}

#[test]
fn frames_of_an_aggregate_are_lost_and_retransmitted_one_by_one() {
    // A distance at which MCS 7 loses some frames.
    let lossy = (100..400)
        .map(|tenths| alone(Ht::new(1, Width::Mhz20, Guard::Long), tenths * 100))
        .find(|world| {
            let sender = world.air().counters(StationId(0));
            sender.failures > sender.attempts / 10
        })
        .unwrap();
    let sender = lossy.air().counters(StationId(0));
    assert!(sender.failures < sender.attempts / 3, "{sender:?}");
    let on_air = sender.attempts - sender.failures - sender.acknowledged;
    assert!(on_air <= 64, "{sender:?}");
    // If aggregates were lost as a whole, none would pass.
    assert!(goodput(&lossy, 5) > 35.0, "{}", goodput(&lossy, 5));
    assert!(sender.given_up < sender.acknowledged / 100, "{sender:?}");
}

#[test]
fn a_station_without_802_11n_gets_single_frames() {
    let ht = Ht::new(2, Width::Mhz20, Guard::Long);
    let stations = vec![
        station("ap", 0, Some(ht)),
        station("old", 3, None),
        station("new", 3, Some(ht)),
    ];
    let world = run(stations, &[(0, 1), (0, 2)], 5);
    let tallies = world.tallies();
    assert!(world.air().counters(StationId(0)).aggregates > 100);
    // One FIFO queue: both get about the same, and the air time of the slow one is lost to the other.
    assert!(
        tallies[0].received > 3_000 && tallies[1].received > 3_000,
        "{tallies:?}"
    );
}

#[test]
fn rts_protects_hidden_terminals() {
    let config = |rts| {
        let hidden = |name: &str, metres| StationConfig {
            rate: Bitrate::from_mbps(6),
            rts,
            ..station(name, metres, None)
        };
        vec![
            hidden("left", 0),
            hidden("right", 80),
            hidden("middle", 40),
            hidden("too", 40),
        ]
    };
    let pairs = [(0, 2), (1, 2)];
    let without = goodput(&run(config(None), &pairs, 20), 20);
    let with = run(config(Some(500)), &pairs, 20);
    assert!(
        goodput(&with, 20) > 2.0 * without,
        "{} {without}",
        goodput(&with, 20)
    );
    assert!(with.air().counters(StationId(0)).requests > 1_000);
    // Without hidden stations, the time for RTS and CTS is lost.
    let cost = [None, Some(500)].map(|rts| goodput(&run(config(rts), &pairs[..1], 5), 5));
    let expected = {
        let (rts, cts) = (20.0 + 28.0, 20.0 + 24.0);
        let exchange = 34.0 + 67.5 + 20.0 + 2_048.0 + 16.0 + 44.0;
        exchange / (exchange + rts + cts + 2.0 * 16.0)
    };
    assert!((cost[1] / cost[0] - expected).abs() < 0.01, "{cost:?} {expected}");
}
