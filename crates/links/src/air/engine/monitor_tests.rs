use alloc::vec::Vec;

use crate::Position;
use crate::air::*;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Width};
use units::{Instant, SeqNum};

fn station(name: &str, x_mm: i64) -> StationConfig {
    StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
}

/// Frames that a monitor 5 m away hears when station 0 sends these packets, all at once.
fn heard(stations: Vec<StationConfig>, packets: &[Packet]) -> Vec<Overheard> {
    heard_under(Rules::default(), stations, packets)
}

fn heard_under(rules: Rules, mut stations: Vec<StationConfig>, packets: &[Packet]) -> Vec<Overheard> {
    stations.push(station("monitor", 5_000));
    let monitor = StationId(stations.len() as u32 - 1);
    let config = AirConfig {
        rules,
        ..AirConfig::new(Standard::A, stations)
    };
    let mut air = Air::new(1, &config).unwrap();
    air.monitor(monitor);
    for packet in packets {
        air.handle(Instant::ZERO, Input::Send(StationId(0), *packet));
    }
    air.tick(Instant::from_secs(1));
    core::iter::from_fn(|| air.poll_overheard()).collect()
}

/// Token, number and retry bit of the data frames.
fn numbers(heard: &[Overheard]) -> Vec<(u64, u16, bool)> {
    let data = heard.iter().filter_map(|frame| match frame.kind {
        FrameKind::Data {
            token, number, retry, ..
        } => Some((token, number.get(), retry)),
        _ => None,
    });
    data.collect()
}

fn count(heard: &[Overheard], kind: FrameKind) -> usize {
    heard.iter().filter(|frame| frame.kind == kind).count()
}

fn data(to: u32, token: u64) -> Packet {
    Packet::new(Destination::Station(StationId(to)), 1_000, token)
}

#[test]
fn frames_to_all_receivers_share_the_senders_numbers() {
    let stations = vec![station("ap", 0), station("a", 2_000), station("b", 3_000)];
    let everyone = Packet::new(Destination::Everyone, 100, 9);
    let heard = heard(stations, &[data(1, 0), data(2, 1), everyone, data(1, 2)]);
    let expected = [(0, 0, false), (1, 1, false), (9, 2, false), (2, 3, false)];
    assert_eq!(numbers(&heard), expected);
    assert_eq!(count(&heard, FrameKind::Ack), 3);
}

#[test]
fn the_receivers_own_monitor_shows_only_what_is_left_by_losses() {
    let mut config = AirConfig::new(Standard::A, vec![station("ap", 0), station("a", 2_000)]);
    config.losses = vec![Loss {
        from: "ap".into(),
        to: "a".into(),
        share: units::Ratio::from_ppm(500_000),
    }];
    let mut air = Air::new(1, &config).unwrap();
    air.monitor(StationId(1));
    for token in 0..200 {
        air.handle(Instant::ZERO, Input::Send(StationId(0), data(1, token)));
    }
    air.tick(Instant::from_secs(1));
    let heard: Vec<Overheard> = core::iter::from_fn(|| air.poll_overheard()).collect();
    let first = numbers(&heard).iter().filter(|(_, _, retry)| !retry).count();
    assert!((75..125).contains(&first), "{first} of 200 first attempts");
}

#[test]
fn frames_of_802_11n_are_numbered_by_receiver_and_class() {
    let ht = Some(Ht::new(1, Width::Mhz20, Guard::Long));
    let with = |name: &str, x_mm| StationConfig {
        ht,
        ..station(name, x_mm)
    };
    let stations = vec![with("ap", 0), with("a", 2_000), with("b", 3_000)];
    let voice = Packet { tid: 6, ..data(1, 2) };
    let packets = [data(1, 0), data(2, 1), voice, data(1, 3), data(1, 4)];
    let heard = heard(stations, &packets);
    let mut seen = numbers(&heard);
    seen.sort_unstable();
    let expected = [
        (0, 0, false),
        (1, 0, false),
        (2, 0, false),
        (3, 1, false),
        (4, 2, false),
    ];
    assert_eq!(seen, expected);
    // The packets to station 1 in class 0 form one aggregate.
    let together = heard.iter().filter(|frame| frame.aggregate.is_some());
    assert_eq!(together.count(), 3);
    let all_three = FrameKind::BlockAck {
        tid: 0,
        start: SeqNum::new(0),
        bitmap: 0b111,
    };
    assert_eq!(count(&heard, all_three), 1);
    assert_eq!(count(&heard, FrameKind::Ack), 2);
}

#[test]
fn repeats_have_the_retry_bit_and_the_same_number() {
    let stations = vec![station("ap", 0), station("out of reach", 10_000_000)];
    let seen = numbers(&heard(stations, &[data(1, 5)]));
    assert_eq!(seen.len(), 7);
    assert_eq!(seen[0], (5, 0, false));
    assert!(seen[1..].iter().all(|&frame| frame == (5, 0, true)), "{seen:?}");
}

/// AARF lowers the rate after two failures: 54, 54, 48, 48, 36, 36, 24 Mb/s.
#[test]
fn the_retry_bit_may_be_missing_where_the_rate_has_changed() {
    for no_retry_bit_on_rate_change in [false, true] {
        let rules = Rules {
            no_retry_bit_on_rate_change,
            ..Rules::default()
        };
        let mut ap = station("ap", 0);
        ap.control = RateControl::Aarf;
        let stations = vec![ap, station("out of reach", 10_000_000)];
        let heard = heard_under(rules, stations, &[data(1, 5)]);
        let retries: Vec<bool> = numbers(&heard).iter().map(|&(_, _, retry)| retry).collect();
        let changed: Vec<bool> = heard
            .windows(2)
            .map(|pair| pair[0].mode != pair[1].mode)
            .collect();
        assert_eq!((retries.len(), retries[0]), (7, false));
        assert!(changed.contains(&true) && changed.contains(&false), "{changed:?}");
        let expected = changed
            .iter()
            .map(|changed| !(*changed && no_retry_bit_on_rate_change));
        assert!(
            expected.eq(retries[1..].iter().copied()),
            "{retries:?} {changed:?}"
        );
    }
}

#[test]
fn requests_reserve_the_medium_to_the_end_of_the_acknowledgement() {
    let mut ap = station("ap", 0);
    ap.rts = Some(0);
    let heard = heard(vec![ap, station("a", 2_000)], &[data(1, 0)]);
    let reserved: Vec<_> = heard.iter().map(|frame| frame.reserves.as_micros()).collect();
    // 1,036 bytes at 54 Mb/s: 176 µs; answers at 24 Mb/s: 28 µs; SIFS: 16.
    let expected = [16 + 28 + 16 + 176 + 16 + 28, 16 + 176 + 16 + 28, 16 + 28, 0];
    assert_eq!(reserved, expected);
    assert_eq!((heard[0].kind, heard[1].kind), (FrameKind::Rts, FrameKind::Cts));
    assert_eq!(heard[3].kind, FrameKind::Ack);
}

#[test]
fn what_802_11n_does_not_have_is_refused_with_a_remedy() {
    let refused = |change: fn(&mut Ht)| {
        let mut ht = Ht::new(2, Width::Mhz40, Guard::Short);
        change(&mut ht);
        let mut config = AirConfig::new(Standard::A, vec![station("ap", 0)]);
        config.stations[0].ht = Some(ht);
        Air::new(1, &config).unwrap_err().to_string()
    };
    assert!(
        refused(|ht| ht.streams = 5)
            .contains("`ap`: 802.11n has no such number of spatial streams; use 1 to 4")
    );
    assert!(refused(|ht| ht.mcs = 16).contains("MCS 0 to 7 for each stream"));
    assert!(refused(|ht| ht.frames = 0).contains("1 to 64"));
    assert!(refused(|ht| ht.bytes = 70_000).contains("1 to 65,535"));
}

/// Checks a plan with a 40 MHz station on this channel and a 20 MHz station on the other one.
fn forty_beside_twenty(standard: Standard, channel: u8, other: u8) -> Result<(), String> {
    let place = Position::default();
    let on = |name: &str, channel, width| StationConfig {
        channel,
        ht: Some(Ht::new(1, width, Guard::Long)),
        ..StationConfig::new(name, standard, place)
    };
    let stations = vec![
        on("wide", channel, Width::Mhz40),
        on("narrow", other, Width::Mhz20),
    ];
    let built = Air::new(1, &AirConfig::new(standard, stations));
    built.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn the_upper_half_of_40_mhz_must_be_in_the_band() {
    for (standard, channel, right) in [
        (
            Standard::A,
            165,
            "use channel 36 to 60 or 100 to 140 in steps of 8, 149 or 157, or 20 MHz",
        ),
        (Standard::A, 64, "36 to 60"),
        (Standard::A, 144, "36 to 60"),
        (Standard::A, 40, "36 to 60"),
        (Standard::G, 13, "use channel 1 to 9, or 20 MHz"),
        (Standard::G, 10, "1 to 9"),
    ] {
        let said = forty_beside_twenty(standard, channel, channel).unwrap_err();
        assert!(
            said.contains("`wide`: 802.11n has no 40 MHz from that channel upwards") && said.contains(right),
            "{channel}: {said}"
        );
    }
    for (standard, channel) in [(Standard::A, 60), (Standard::A, 157), (Standard::G, 9)] {
        assert_eq!(forty_beside_twenty(standard, channel, channel), Ok(()));
    }
}

#[test]
fn the_upper_half_of_40_mhz_must_be_free() {
    assert_eq!(
        forty_beside_twenty(Standard::A, 36, 40),
        Err(
            "`wide` has 40 MHz, channels 36 and 40, and `narrow` is on channel 40; move one of them, or use 20 MHz"
                .into()
        )
    );
    assert!(forty_beside_twenty(Standard::G, 9, 13).is_err());
    assert_eq!(forty_beside_twenty(Standard::A, 44, 40), Ok(()));
    assert_eq!(forty_beside_twenty(Standard::A, 36, 36), Ok(()));
    let noisy = |channel| {
        let wide = StationConfig {
            ht: Some(Ht::new(1, Width::Mhz40, Guard::Long)),
            ..station("wide", 0)
        };
        let mut config = AirConfig::new(Standard::A, vec![wide]);
        config.noise = vec![NoiseConfig::microwave("link", Position::default(), channel)];
        Air::new(1, &config)
    };
    assert!(noisy(36).is_ok());
    assert!(
        noisy(40)
            .unwrap_err()
            .to_string()
            .contains("`link` is on channel 40")
    );
}
