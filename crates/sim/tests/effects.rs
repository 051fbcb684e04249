//! Effects that papers report must follow from geometry and contention: hidden and exposed terminals,
//! capture, the performance anomaly.

use links::Position;
use links::air::{AirConfig, Rules, StationConfig, StationId};
use sim::cells::saturated;
use sim::theory::{Cell, Costs, countdown};
use sim::{Flow, World};
use units::wifi::Standard;
use units::{Bitrate, Db, Dbm, Duration};

const PAYLOAD: u32 = 1_470;

fn station(name: &str, metres: i64, mbps: u64) -> StationConfig {
    let position = Position {
        x_mm: metres * 1_000,
        y_mm: 0,
    };
    StationConfig {
        rate: Bitrate::from_mbps(mbps),
        ..StationConfig::new(name, Standard::A, position)
    }
}

/// Goodput of each flow over 20 s, in Mb/s.
fn goodputs(config: &AirConfig, flows: &[Flow]) -> Vec<f64> {
    let mut world = World::new(1, config, flows.to_vec()).unwrap();
    let time = Duration::from_secs(20);
    world.run_for(time);
    world.tallies().iter().map(|tally| tally.mbps(time)).collect()
}

/// A receiver between two access points that cannot hear each other, 80 m apart. At 15 dBm a preamble is
/// detected within 43 m.
///
/// Senders are stations 0 and 1. Receivers are stations 2 and 3, in the same place.
fn between(metres: i64, capture: Option<Db>) -> AirConfig {
    let stations = vec![
        station("ap-1", 0, 6),
        station("ap-2", 80, 6),
        station("client-of-1", metres, 6),
        station("client-of-2", metres, 6),
    ];
    AirConfig {
        rules: Rules {
            capture,
            ..Rules::default()
        },
        ..AirConfig::new(Standard::A, stations)
    }
}

const BOTH: [(u32, u32); 2] = [(0, 2), (1, 3)];

fn flows(pairs: &[(u32, u32)]) -> Vec<Flow> {
    pairs
        .iter()
        .map(|&(from, to)| saturated(from, to, PAYLOAD))
        .collect()
}

#[test]
fn hidden_terminals_collapse_in_the_middle() {
    let config = between(40, Some(Db::from_db(10)));
    let alone = goodputs(&config, &flows(&BOTH[..1]))[0];
    let both = goodputs(&config, &flows(&BOTH));
    assert!(alone > 4.9, "{alone}");
    // Neither hears the other: frames of 2 ms begin at any time, and each needs 4 ms without a frame of the
    // other.
    assert!(both[0] + both[1] < alone / 3.0, "{both:?} against {alone} alone");
}

#[test]
fn close_to_one_access_point_its_signal_is_strong_enough() {
    let capturing = goodputs(&between(15, Some(Db::from_db(10))), &flows(&BOTH));
    let without = goodputs(&between(15, None), &flows(&BOTH));
    // 15 m against 65 m: 19 dB, whichever frame begins first.
    assert!(capturing[0] > 4.5, "{capturing:?}");
    assert!(capturing[1] < 0.5, "{capturing:?}");
    // ap-2's preambles cannot be detected at 65 m, so they never occupy the receiver, and capture makes no
    // difference.
    assert!(
        (without[0] - capturing[0]).abs() < 0.2,
        "{without:?} {capturing:?}"
    );
}

/// The receiver is 15 m from one and 40 m from the other, whose preambles it also detects. The signals differ
/// by 13 dB.
fn near_one(capture: Option<Db>) -> AirConfig {
    let mut config = between(15, capture);
    config.stations[1].position.x_mm = 55_000;
    config
}

#[test]
fn close_to_one_access_point_capture_helps() {
    let [with, without] =
        [Some(Db::from_db(10)), None].map(|capture| goodputs(&near_one(capture), &flows(&BOTH)));
    // At 6 Mb/s, where the other's frames seldom cause a loss. `play.rs` tests 54 Mb/s.
    assert!(
        with[0] > 5.2 && without[0] < 0.98 * with[0],
        "{with:?} {without:?}"
    );
}

#[test]
fn a_later_stronger_frame_takes_over_only_where_the_receiver_can_restart() {
    let lost = |capture| {
        let mut world = World::new(1, &near_one(capture), flows(&BOTH)).unwrap();
        world.run_for(Duration::from_secs(20));
        let near = world.air().counters(StationId(0));
        near.failures as f64 / near.attempts as f64
    };
    let (capturing, without) = (lost(Some(Db::from_db(10))), lost(None));
    assert!(capturing < 0.01 && without > 0.02, "{capturing} {without}");
}

#[test]
fn stations_that_hear_each_other_share_the_air() {
    let mut config = between(40, Some(Db::from_db(10)));
    for station in &mut config.stations {
        station.carrier_sense = Dbm::from_dbm(-92);
    }
    let both = goodputs(&config, &flows(&BOTH));
    assert!(both[0] + both[1] > 4.3, "{both:?}");
    assert!((both[0] / both[1] - 1.0).abs() < 0.1, "{both:?}");
}

/// Two senders that hear each other, each with its receiver on the far side. Both could send at once, but
/// carrier sense makes them share.
#[test]
fn exposed_terminals_wait_without_need() {
    let config = |threshold| {
        let mut stations = vec![
            station("left", 0, 12),
            station("right", 35, 12),
            station("left-receiver", -8, 12),
            station("right-receiver", 43, 12),
        ];
        for station in &mut stations {
            station.carrier_sense = Dbm::from_dbm(threshold);
        }
        AirConfig::new(Standard::A, stations)
    };
    let exposed = goodputs(&config(-82), &flows(&BOTH));
    let deaf = goodputs(&config(-72), &flows(&BOTH));
    assert!(
        deaf[0] + deaf[1] > 1.8 * (exposed[0] + exposed[1]),
        "{exposed:?} {deaf:?}"
    );
}

/// Heusse, Rousseau, Berger-Sabbatel and Duda 2003: one slow station reduces all others to its own
/// throughput. 802.11b at 11 Mb/s beside a station at this rate in kb/s: throughput of each of the two, in
/// Mb/s.
const PUBLISHED: [(u64, f64); 4] = [(11_000, 3.72), (5_500, 2.72), (2_000, 1.40), (1_000, 0.78)];

/// Framing around the 1,534 bytes of a frame, and the number of bytes that count.
struct Counting {
    /// Preamble and header of frames faster than 1 Mb/s, in µs. Frames at 1 Mb/s have the long one.
    preamble_us: f64,
    payload: u32,
}

/// As in our model: long preambles, and the 1,498 bytes of IP without the UDP and IP headers.
const OURS: Counting = Counting {
    preamble_us: LONG_US,
    payload: PAYLOAD,
};
/// As in the paper: short preambles, and 1,500 bytes per frame.
const THEIRS: Counting = Counting {
    preamble_us: 96.0,
    payload: 1_500,
};
const LONG_US: f64 = 192.0;
const DIFS_US: f64 = 50.0;
const SIFS_US: f64 = 10.0;
const SLOT_US: f64 = 20.0;

impl Counting {
    fn frame_us(&self, bytes: u32, kbps: u64) -> f64 {
        let preamble = if kbps == 1_000 { LONG_US } else { self.preamble_us };
        preamble + f64::from(bytes) * 8_000.0 / kbps as f64
    }

    /// Throughput of each of two saturated stations by the countdown chain, in Mb/s.
    ///
    /// Both win equally often, so a success lasts the mean of theirs. A collision lasts as long as the slower
    /// frame. The chain adds the mean backoff: 15.5 slots for two frames, 155 µs for each, and more after
    /// collisions.
    fn each(&self, kbps: u64) -> f64 {
        let data = |kbps| self.frame_us(PAYLOAD + 64, kbps);
        let success = |kbps: u64| DIFS_US + data(kbps) + SIFS_US + self.frame_us(14, kbps.min(2_000));
        let costs = Costs {
            slot: SLOT_US * 1e-6,
            success: f64::midpoint(success(11_000), success(kbps)) * 1e-6,
            collision: (data(kbps) + DIFS_US) * 1e-6,
            payload: f64::from(self.payload) * 8.0,
            // The ACK time-out: SIFS, a slot, and the preamble after which a frame is reported.
            time_out_slots: ((SIFS_US + SLOT_US + LONG_US - DIFS_US) / SLOT_US).ceil() as u32,
        };
        let cell = Cell::of(Standard::B, 2, Some(7));
        countdown::predict(&cell, &costs).throughput / 2.0
    }
}

/// Throughput of each of two stations that send to one access point, one at 11 Mb/s and one at `kbps`.
fn beside(kbps: u64) -> f64 {
    let place = Position::default();
    let station = |name: &str, kbps| StationConfig {
        rate: Bitrate::from_kbps(kbps),
        ..StationConfig::new(name, Standard::B, place)
    };
    let stations = vec![
        station("ap", 11_000),
        station("fast", 11_000),
        station("slow", kbps),
    ];
    let config = AirConfig::new(Standard::B, stations);
    let rates = goodputs(&config, &flows(&[(1, 0), (2, 0)]));
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.15, "{rates:?}");
    f64::midpoint(rates[0], rates[1])
}

/// Our values are 14, 10, 5 and 1 % below the published ones, as they should be. We have 192 µs of preamble
/// before each frame and each ACK, the paper has 96 µs. Of each frame we count 1,470 bytes, the paper 1,500.
/// With the paper's preamble and bytes the same chain gives its values.
#[test]
fn performance_anomaly() {
    for (kbps, published) in PUBLISHED {
        let (ours, chain, theirs) = (beside(kbps), OURS.each(kbps), THEIRS.each(kbps));
        let under = ours / published;
        println!(
            "{kbps} kb/s: {ours:.3} Mb/s each, chain {chain:.3}; published {published}, chain {theirs:.3}; ratio {under:.3}"
        );
        assert!((ours / chain - 1.0).abs() < 0.025, "{kbps}: {ours} {chain}");
        assert!(
            (theirs / published - 1.0).abs() < 0.02,
            "{kbps}: {theirs} {published}"
        );
        assert!(
            (under / (chain / theirs) - 1.0).abs() < 0.03,
            "{kbps}: ratio {under}, expected from preambles and bytes {}",
            chain / theirs
        );
    }
}

#[test]
fn the_reach_follows_from_power_and_path_loss() {
    let config = AirConfig::new(
        Standard::A,
        vec![station("a", 0, 6), station("b", 42, 6), station("c", 45, 6)],
    );
    let mut world = World::new(1, &config, flows(&[(0, 1), (0, 2)])).unwrap();
    world.run_for(Duration::from_secs(1));
    assert!(world.air().counters(StationId(1)).received > 20);
    assert_eq!(world.air().counters(StationId(2)).received, 0);
}
