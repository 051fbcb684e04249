//! What the papers report comes out of geometry and contention by itself: hidden and exposed terminals, capture, the performance anomaly.

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

/// Goodput of each flow in Mb/s, over 20 s.
fn goodputs(config: &AirConfig, flows: &[Flow]) -> Vec<f64> {
    let mut world = World::new(1, config, flows.to_vec()).unwrap();
    let time = Duration::from_secs(20);
    world.run_for(time);
    world.tallies().iter().map(|tally| tally.mbps(time)).collect()
}

/// A receiver somewhere between two access points that cannot hear each other, 80 m apart; at 15 dBm a preamble is found within 43 m.
///
/// Sources: stations 0 and 1; receivers: 2 and 3, in the same place.
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
    // Neither hears the other: frames of 2 ms begin as they please, and each needs 4 ms without another's.
    assert!(both[0] + both[1] < alone / 3.0, "{both:?} against {alone} alone");
}

#[test]
fn near_one_of_them_it_is_strong_enough() {
    let capturing = goodputs(&between(15, Some(Db::from_db(10))), &flows(&BOTH));
    let stubborn = goodputs(&between(15, None), &flows(&BOTH));
    // 15 m against 65 m: 19 dB, whatever began first.
    assert!(capturing[0] > 4.5, "{capturing:?}");
    assert!(capturing[1] < 0.5, "{capturing:?}");
    // ap-2's preambles cannot be found at 65 m, so they never hold the receiver: nothing is left to capture.
    assert!(
        (stubborn[0] - capturing[0]).abs() < 0.2,
        "{stubborn:?} {capturing:?}"
    );
}

/// 15 m from one and 40 m from the other, whose preambles it finds too: 13 dB between them.
fn near_one(capture: Option<Db>) -> AirConfig {
    let mut config = between(15, capture);
    config.stations[1].position.x_mm = 55_000;
    config
}

#[test]
fn near_one_of_them_capture_saves_it() {
    let [with, without] =
        [Some(Db::from_db(10)), None].map(|capture| goodputs(&near_one(capture), &flows(&BOTH)));
    // At 6 Mb/s, which the other's frames seldom fail; at 54 Mb/s: `play.rs`.
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
    let (capturing, stubborn) = (lost(Some(Db::from_db(10))), lost(None));
    assert!(capturing < 0.01 && stubborn > 0.02, "{capturing} {stubborn}");
}

#[test]
fn terminals_that_hear_each_other_share_instead() {
    let mut config = between(40, Some(Db::from_db(10)));
    for station in &mut config.stations {
        station.carrier_sense = Dbm::from_dbm(-92);
    }
    let both = goodputs(&config, &flows(&BOTH));
    assert!(both[0] + both[1] > 4.3, "{both:?}");
    assert!((both[0] / both[1] - 1.0).abs() < 0.1, "{both:?}");
}

/// Two senders that hear each other, each with its receiver on the far side: they could both send, but carrier sense makes them share.
#[test]
fn exposed_terminals_wait_for_nothing() {
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

/// Heusse, Rousseau, Berger-Sabbatel and Duda 2003: one slow station takes all others down to its own throughput. 802.11b at 11 Mb/s beside a station at
/// this rate, in kb/s: what each of the two has, in Mb/s.
const PUBLISHED: [(u64, f64); 4] = [(11_000, 3.72), (5_500, 2.72), (2_000, 1.40), (1_000, 0.78)];

/// What is on the air around the 1,534 bytes of a frame, and what of them counts.
struct Counting {
    /// Preamble and header of frames faster than 1 Mb/s, in µs; those at 1 Mb/s have the long one.
    preamble_us: f64,
    payload: u32,
}

/// As our stations do: long preambles, and of 1,498 bytes of IP those without the headers of UDP and IP.
const OURS: Counting = Counting {
    preamble_us: LONG_US,
    payload: PAYLOAD,
};
/// As they did: short preambles, and 1,500 bytes of each frame.
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

    /// What each of two saturated stations has, in Mb/s, by the chain for the standard's countdown.
    ///
    /// Both win equally often: a success lasts what theirs last in the mean. A collision lasts as long as the slower frame. The chain adds the mean
    /// backoff: 15.5 slots for two frames, 155 µs for each, and more after collisions.
    fn each(&self, kbps: u64) -> f64 {
        let data = |kbps| self.frame_us(PAYLOAD + 64, kbps);
        let success = |kbps: u64| DIFS_US + data(kbps) + SIFS_US + self.frame_us(14, kbps.min(2_000));
        let costs = Costs {
            slot: SLOT_US * 1e-6,
            success: f64::midpoint(success(11_000), success(kbps)) * 1e-6,
            collision: (data(kbps) + DIFS_US) * 1e-6,
            payload: f64::from(self.payload) * 8.0,
            // The time-out: SIFS, a slot, and the preamble after which a frame is reported.
            time_out_slots: ((SIFS_US + SLOT_US + LONG_US - DIFS_US) / SLOT_US).ceil() as u32,
        };
        let cell = Cell::of(Standard::B, 2, Some(7));
        countdown::predict(&cell, &costs).throughput / 2.0
    }
}

/// What each of two stations has that send to one access point, one at 11 Mb/s and one at this rate.
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

/// Ours are 14, 10, 5 and 1 % under the published values, and should be: 192 µs of preamble before each frame and each acknowledgement where theirs have 96,
/// and 1,470 bytes that count of each frame where theirs have 1,500. With their preamble and their bytes the same chain gives what they have.
#[test]
fn performance_anomaly() {
    for (kbps, published) in PUBLISHED {
        let (ours, chain, theirs) = (beside(kbps), OURS.each(kbps), THEIRS.each(kbps));
        let under = ours / published;
        println!(
            "{kbps} kb/s: {ours:.3} Mb/s each, by the chain {chain:.3}; published {published}, by the chain {theirs:.3}; {under:.3} of it"
        );
        assert!((ours / chain - 1.0).abs() < 0.025, "{kbps}: {ours} {chain}");
        assert!(
            (theirs / published - 1.0).abs() < 0.02,
            "{kbps}: {theirs} {published}"
        );
        assert!(
            (under / (chain / theirs) - 1.0).abs() < 0.03,
            "{kbps}: {under}, and by preambles and bytes {}",
            chain / theirs
        );
    }
}

#[test]
fn nobody_hears_beyond_the_reach_that_follows_from_power_and_distance() {
    let config = AirConfig::new(
        Standard::A,
        vec![station("a", 0, 6), station("b", 42, 6), station("c", 45, 6)],
    );
    let mut world = World::new(1, &config, flows(&[(0, 1), (0, 2)])).unwrap();
    world.run_for(Duration::from_secs(1));
    assert!(world.air().counters(StationId(1)).received > 20);
    assert_eq!(world.air().counters(StationId(2)).received, 0);
}
