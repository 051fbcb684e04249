use alloc::vec::Vec;

use crate::Position;
use crate::air::*;
use units::wifi::{Standard, ht};
use units::{Bitrate, Dbm, Duration, Instant};

const US: u64 = 1_000;

fn at(x_mm: i64) -> Position {
    Position { x_mm, y_mm: 0 }
}

fn station(name: &str, x_mm: i64) -> StationConfig {
    StationConfig::new(name, Standard::A, at(x_mm))
}

fn air(stations: Vec<StationConfig>) -> Air {
    Air::new(1, &AirConfig::new(Standard::A, stations)).unwrap()
}

fn packet(to: u32, token: u64) -> Packet {
    Packet::new(Destination::Station(StationId(to)), 1_500, token)
}

fn send(air: &mut Air, at_us: u64, from: u32, packet: Packet) {
    air.handle(Instant::from_micros(at_us), Input::Send(StationId(from), packet));
}

fn run(air: &mut Air, to_us: u64) -> Vec<(u64, Output)> {
    air.tick(Instant::from_micros(to_us));
    core::iter::from_fn(|| air.poll_due())
        .map(|(at, output)| (at.as_nanos() / US, output))
        .collect()
}

/// Airtime of 1,536 bytes at 54 Mb/s.
const DATA_US: u64 = 20 + 4 * 57;
/// Airtime of 14 bytes at 24 Mb/s.
const ACK_US: u64 = 28;

#[test]
fn an_idle_medium_needs_no_backoff_and_the_sender_knows_after_the_acknowledgement() {
    let mut air = air(vec![station("a", 0), station("b", 5_000)]);
    send(&mut air, 1_000, 0, packet(1, 7));
    let outputs = run(&mut air, 10_000);
    let received = Output::Received {
        station: StationId(1),
        from: StationId(0),
        packet: packet(1, 7),
    };
    let done = Output::Done {
        station: StationId(0),
        packet: packet(1, 7),
        fate: Fate::Acknowledged,
    };
    let over = 1_000 + DATA_US;
    assert_eq!(outputs, [(over, received), (over + 16 + ACK_US, done)]);
}

#[test]
fn a_frame_to_nobody_is_given_up_after_seven_attempts() {
    let mut air = air(vec![station("a", 0), station("far", 10_000_000)]);
    send(&mut air, 0, 0, packet(1, 7));
    let outputs = run(&mut air, 1_000_000);
    assert!(matches!(
        outputs[..],
        [(
            _,
            Output::Done {
                fate: Fate::GivenUp,
                ..
            }
        )]
    ));
    let counters = air.counters(StationId(0));
    assert_eq!(
        (counters.attempts, counters.failures, counters.given_up),
        (7, 7, 1)
    );
    assert_eq!(counters.airtime, Duration::from_micros(7 * DATA_US));
}

/// Number of data frames and RTSs sent to an unreachable station before the packet is given up. `None`: not
/// within 2 s.
fn attempts_in_vain(seed: u64, control: RateControl, ht: Option<Ht>, attempts: Option<u32>) -> Option<u64> {
    let stations = [("a", 0), ("far", 10_000_000)].map(|(name, x_mm)| StationConfig {
        control,
        ht,
        ..station(name, x_mm)
    });
    let mut config = AirConfig::new(Standard::A, stations.into());
    config.rules.attempts = attempts;
    let mut air = Air::new(seed, &config).unwrap();
    send(&mut air, 0, 0, packet(1, 7));
    run(&mut air, 2_000_000);
    let counters = air.counters(StationId(0));
    (counters.given_up == 1).then_some(counters.attempts + counters.requests)
}

#[test]
fn the_limit_of_attempts_is_the_plans_where_no_chain_has_one_of_its_own() {
    let ht = Some(Ht::new(1, ht::Width::Mhz20, ht::Guard::Long));
    let others = [
        (RateControl::Fixed, None),
        (RateControl::Aarf, None),
        (RateControl::Fixed, ht),
        (RateControl::Minstrel, ht),
    ];
    for (control, ht) in others {
        for limit in [2, 7] {
            let tried = attempts_in_vain(1, control, ht, Some(limit));
            assert_eq!(tried, Some(limit.into()), "{control:?} {ht:?}");
        }
        assert_eq!(attempts_in_vain(1, control, ht, None), None, "{control:?} {ht:?}");
    }
}

/// A fresh Minstrel knows no mode that delivers: best, second, likeliest and lowest are all 6 Mb/s. A frame
/// of 1,200 bytes takes 1.72 ms there. With backoffs, three tries fit into a stage's 6 ms, which makes 12. A
/// tenth of the frames sample: for them, one try of a faster mode replaces the first stage's three, which
/// makes 10.
#[test]
fn minstrels_chain_limits_attempts_whatever_the_plan_says() {
    for limit in [None, Some(2), Some(7)] {
        let tried = |seed| attempts_in_vain(seed, RateControl::Minstrel, None, limit);
        let all: Vec<_> = (0..64).filter_map(tried).collect();
        let count = |attempts| all.iter().filter(|&&tried| tried == attempts).count();
        let (plain, looking) = (count(12), count(10));
        assert_eq!(plain + looking, 64, "{all:?}");
        assert!((1..20).contains(&looking), "{looking}");
    }
}

#[test]
fn a_frame_to_everyone_goes_out_once_and_is_received_by_all() {
    let mut air = air(vec![station("a", 0), station("b", 5_000), station("c", 9_000)]);
    let probe = Packet::new(Destination::Everyone, 100, 1);
    send(&mut air, 0, 0, probe);
    let outputs = run(&mut air, 100_000);
    let received = outputs
        .iter()
        .filter(|(_, output)| matches!(output, Output::Received { .. }));
    assert_eq!(received.count(), 2);
    // 136 bytes at 6 Mb/s, the slowest.
    let time = Standard::A.frame_time(136, Bitrate::from_mbps(6));
    assert_eq!(air.counters(StationId(0)).airtime, time);
}

#[test]
fn a_packet_that_finds_the_medium_busy_waits_for_its_end_difs_and_a_backoff() {
    let starts = (0..64).map(|seed| {
        let stations = vec![station("a", 0), station("b", 5_000), station("c", 9_000)];
        let mut air = Air::new(seed, &AirConfig::new(Standard::A, stations)).unwrap();
        send(&mut air, 1_000, 0, packet(1, 1));
        send(&mut air, 1_100, 2, packet(1, 2));
        let outputs = run(&mut air, 10_000);
        let second = outputs.iter().find(|(_, output)| {
            matches!(
                output,
                Output::Received {
                    from: StationId(2),
                    ..
                }
            )
        });
        second.unwrap().0 - DATA_US
    });
    let free = 1_000 + DATA_US + 16 + ACK_US + 34;
    let mut slots: Vec<_> = starts.map(|start| (start - free) / 9).collect();
    slots.sort_unstable();
    slots.dedup();
    assert!(slots.len() > 12 && slots[slots.len() - 1] <= 15, "{slots:?}");
}

/// When the sender of one packet is done with it: at the end of the acknowledgement.
const DONE_US: u64 = 1_000 + DATA_US + 16 + ACK_US;
/// When its backoff begins: DIFS after the acknowledgement.
const FREE_US: u64 = DONE_US + 34;

/// When a second packet is sent that is offered `after_us` after the first one's acknowledgement, on an idle
/// medium.
fn second_start(seed: u64, after_us: u64) -> u64 {
    let stations = vec![station("a", 0), station("b", 5_000)];
    let mut air = Air::new(seed, &AirConfig::new(Standard::A, stations)).unwrap();
    send(&mut air, 1_000, 0, packet(1, 1));
    assert_eq!(run(&mut air, DONE_US).len(), 2, "received and acknowledged");
    send(&mut air, DONE_US + after_us, 0, packet(1, 2));
    run(&mut air, DONE_US + 10_000)[0].0 - DATA_US
}

#[test]
fn a_backoff_follows_a_success_even_if_nothing_waits_then() {
    // With 64 seeds, one of the 16 slots is missing in every fourth set of seeds. With 256, in one of a
    // million.
    let mut seen = [0; 16];
    for seed in 0..256 {
        let start = second_start(seed, 1);
        assert!(start >= FREE_US && (start - FREE_US).is_multiple_of(9), "{start}");
        seen[((start - FREE_US) / 9) as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times > 0), "{seen:?}");
}

#[test]
fn that_backoff_runs_down_while_nothing_waits() {
    let (mut at_once, mut later) = (0, 0);
    for seed in 0..64 {
        let (drawn, offered) = (second_start(seed, 1), FREE_US + 7 * 9);
        // Offered during the countdown, the packet waits for the rest of the same draw, if any.
        assert_eq!(
            second_start(seed, offered - DONE_US),
            drawn.max(offered),
            "seed {seed}"
        );
        at_once += u32::from(drawn <= offered);
        later += u32::from(drawn > offered);
    }
    assert!(at_once > 10 && later > 10, "{at_once} {later}");
}

#[test]
fn a_full_queue_takes_nothing_more() {
    let mut config = station("a", 0);
    config.queue = 3;
    let mut air = air(vec![config, station("b", 5_000)]);
    (0..6).for_each(|token| send(&mut air, 0, 0, packet(1, token)));
    assert_eq!(air.waiting(StationId(0)), 3);
    let outputs = run(&mut air, 100_000);
    let full = |output: &&(u64, Output)| {
        matches!(
            output.1,
            Output::Done {
                fate: Fate::QueueFull,
                ..
            }
        )
    };
    assert_eq!(outputs.iter().filter(full).count(), 3);
    assert_eq!(air.counters(StationId(1)).received, 3);
}

#[test]
fn stations_on_different_channels_do_not_hear_each_other() {
    let mut other = station("b", 5_000);
    other.channel = 40;
    let mut air = air(vec![station("a", 0), other]);
    send(&mut air, 0, 0, packet(1, 1));
    run(&mut air, 1_000_000);
    assert_eq!(air.counters(StationId(1)).received, 0);
}

#[test]
fn advancing_stops_at_the_first_output_and_tells_the_same_as_ticking() {
    let build = || {
        let mut air = air(vec![station("a", 0), station("b", 5_000), station("c", 6_000)]);
        (0..50).for_each(|token| send(&mut air, token * 700, (token % 2) as u32, packet(2, token)));
        air
    };
    let (mut one, mut other) = (build(), build());
    let ticked = run(&mut one, 1_000_000);
    let mut advanced: Vec<_> = run(&mut other, 35_000);
    while other.advance(Instant::from_secs(1)) < Instant::from_secs(1) {
        while let Some((at, output)) = other.poll_due() {
            advanced.push((at.as_nanos() / US, output));
        }
    }
    assert_eq!(ticked, advanced);
}

/// Delay from the end of a frame until a waiting station starts to send, in µs, for 64 seeds. Every frame is
/// sent once.
///
/// The waiting station is `waiting_mm` away from the sender. The frame is for a station at `receiver_mm`. If
/// `together`, a second frame begins with the first.
fn begins_after(waiting_mm: i64, receiver_mm: i64, eifs: Eifs, together: bool) -> Vec<u64> {
    let start = |seed| {
        let stations = vec![
            station("a", 0),
            station("receiver", receiver_mm),
            station("waiting", waiting_mm),
            station("beside", waiting_mm + 1_000),
            station("other", 0),
        ];
        let mut config = AirConfig::new(Standard::A, stations);
        config.rules = Rules {
            eifs,
            attempts: Some(1),
            ..Rules::default()
        };
        let mut air = Air::new(seed, &config).unwrap();
        // Both senders wait for DIFS.
        send(&mut air, 0, 0, packet(1, 1));
        if together {
            send(&mut air, 0, 4, packet(1, 2));
        }
        send(&mut air, 100, 2, packet(3, 3));
        let outputs = run(&mut air, 10_000);
        let waited = |output: &&(u64, Output)| {
            matches!(
                output.1,
                Output::Received {
                    from: StationId(2),
                    ..
                }
            )
        };
        outputs.iter().find(waited).unwrap().0 - DATA_US - (34 + DATA_US)
    };
    (0..64).map(start).collect()
}

/// A place out of range of every station.
const NOWHERE: i64 = 10_000_000;

#[test]
fn how_long_a_station_waits_depends_on_what_it_could_read() {
    let both = [Eifs::AfterHeader, Eifs::AfterAnyError];
    let spaces = |waiting_mm, receiver_mm, together: bool, expected: [u64; 2]| {
        for (eifs, space) in both.into_iter().zip(expected) {
            let mut slots = Vec::new();
            for begins in begins_after(waiting_mm, receiver_mm, eifs, together) {
                let what = format!("{waiting_mm} {receiver_mm} {eifs:?}: {begins} after {space}");
                assert!(begins >= space && (begins - space).is_multiple_of(9), "{what}");
                slots.push((begins - space) / 9);
            }
            slots.sort_unstable();
            slots.dedup();
            assert!(slots.len() > 12 && slots[slots.len() - 1] <= 15, "{slots:?}");
        }
    };
    // It reads the whole frame: SIFS and the acknowledgement are reserved, whether it comes or not, and DIFS
    // follows.
    spaces(5_000, NOWHERE, false, [16 + ACK_US + 34; 2]);
    // At this distance it reads the header but not 54 Mb/s: EIFS, which is 16 + 44 + 34.
    spaces(40_000, NOWHERE, false, [94; 2]);
    // A readable acknowledgement ends the EIFS.
    spaces(25_000, 5_000, false, [16 + ACK_US + 34; 2]);
    // Two simultaneous frames leave not even a header readable: DIFS, or EIFS if the plan says so.
    spaces(5_000, NOWHERE, true, [34, 94]);
}

#[test]
fn plans_that_cannot_be_are_refused_with_a_remedy() {
    let refused = |change: fn(&mut AirConfig)| {
        let mut config = AirConfig::new(Standard::A, vec![station("a", 0), station("b", 0)]);
        change(&mut config);
        Air::new(1, &config).unwrap_err().to_string()
    };
    assert!(refused(|config| config.stations[1].name = "a".into()).contains("a name of its own"));
    assert!(refused(|config| config.stations.clear()).contains("at least one"));
    assert!(
        refused(|config| config.stations[0].rate = Bitrate::from_mbps(11)).contains("valid, in Mb/s: 6, 9")
    );
    assert!(refused(|config| config.stations[0].channel = 6).contains("36 to 64"));
    assert!(refused(|config| config.stations[0].queue = 0).contains("hold at least one"));
    assert!(refused(|config| config.rules.attempts = Some(0)).contains("at least one"));
    assert!(refused(|config| config.stations[0].energy_detection = Dbm::from_dbm(-90)).contains("raise"));
}
