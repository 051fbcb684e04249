//! Scans for access points.

use super::tests::{ms, station, until};
use super::*;
use alloc::format;
use units::Duration;
use units::wifi::{BEACON_INTERVAL, Standard};

const CLIENT: StationId = StationId(2);
const FIRST: InterfaceId = InterfaceId(0);
const HOME: StationId = StationId(0);
const OTHER: StationId = StationId(1);
/// The channels of the scan. The second one is empty.
const CHANNELS: [u8; 3] = [36, 40, 48];
const TURN: Duration = Duration::from_millis(5);

/// Access points on channels 36 and 48, and a client between them, which starts on channel 36.
fn config(scan: Scan) -> WlanConfig {
    let stations = Vec::from([
        station("home", 0, 36),
        station("other", 20_000, 48),
        station("client", 10_000, 36),
    ]);
    WlanConfig {
        air: AirConfig::new(Standard::A, stations),
        access_points: Vec::from([
            AccessPointConfig::new(HOME, "wire-1"),
            AccessPointConfig::new(OTHER, "wire-2"),
        ]),
        clients: Vec::from([ClientConfig {
            scan: Some(scan),
            switch: TURN,
            ..ClientConfig::new(CLIENT)
        }]),
    }
}

/// Access points that a scan started at `start` finds, and when it ends.
fn scanned(scan: Scan, seed: u64, start: Instant) -> (Vec<(Instant, StationId)>, Instant) {
    let mut wlan = Wlan::new(seed, &config(scan)).unwrap();
    wlan.handle(start, WlanInput::Scan(CLIENT));
    let outputs = until(&mut wlan, start + Duration::from_secs(2));
    let found = outputs.iter().filter_map(|&(at, output)| match output {
        WlanOutput::Found { client: CLIENT, from } => Some((at, from)),
        _ => None,
    });
    let ends: Vec<Instant> = outputs
        .iter()
        .filter(|(_, output)| *output == WlanOutput::Scanned(CLIENT))
        .map(|&(at, _)| at)
        .collect();
    assert_eq!(ends.len(), 1, "{outputs:?}");
    (found.collect(), ends[0])
}

#[test]
fn a_passive_scan_listens_to_each_channel_for_as_long_as_it_is_told() {
    for seed in 0..10 {
        let (found, end) = scanned(Scan::passive(CHANNELS.into()), seed, ms(300));
        let who: Vec<StationId> = found.iter().map(|&(_, from)| from).collect();
        // 111 ms are longer than from beacon to beacon: the scan misses no access point.
        assert_eq!(who, [HOME, OTHER]);
        // The radio starts on the first channel. Then it switches twice, and back.
        assert_eq!(end, ms(300 + 3 * 111) + TURN * 3);
        assert!(found[0].0 < ms(300 + 111) && found[1].0 >= ms(300 + 2 * 111) + TURN * 2);
    }
}

#[test]
fn who_listens_for_a_quarter_of_the_interval_hears_a_quarter_of_the_beacons() {
    let dwell = BEACON_INTERVAL / 4;
    let way = ScanWay::Passive { dwell };
    let channels = Vec::from([48]);
    let starts = 0..40_u32;
    let hits = starts.filter(|&start| {
        // Each scan begins a fortieth of an interval later.
        let start = ms(500) + BEACON_INTERVAL * start / 40;
        let channels = channels.clone();
        let (found, _) = scanned(Scan { channels, way }, 1, start);
        !found.is_empty()
    });
    let hits = hits.count();
    assert!((9..=11).contains(&hits), "{hits} of 40");
}

#[test]
fn an_active_scan_leaves_an_empty_channel_early_and_asks_where_it_stays() {
    let way = ScanWay::Active {
        delay: Duration::from_millis(4),
        least: Duration::from_millis(7),
        most: Duration::from_millis(20),
    };
    let channels = Vec::from(CHANNELS);
    let (found, end) = scanned(Scan { channels, way }, 1, ms(300));
    let who: Vec<StationId> = found.iter().map(|&(_, from)| from).collect();
    assert_eq!(who, [HOME, OTHER]);
    // 4 + 20 ms on a channel with an answer, 4 + 7 on one without.
    assert_eq!(end, ms(300 + 24 + 11 + 24) + TURN * 3);
    // 250 bytes at 6 Mb/s, after the probe request and their own medium access: less than 2 ms, unless a
    // beacon came first.
    let asked = ms(300 + 24 + 11 + 4) + TURN * 2;
    assert!(found[1].0 < asked + Duration::from_millis(2), "{found:?}");
    // Linux's own times: an empty channel takes as long.
    let (found, end) = scanned(Scan::active(CHANNELS.into()), 1, ms(300));
    assert_eq!((found.len(), end), (2, ms(300 + 3 * 60) + TURN * 3));
}

/// Associated with the access point on its channel.
fn at_home(scan: Scan) -> Wlan {
    let mut wlan = Wlan::new(1, &config(scan)).unwrap();
    wlan.admit(FIRST, HOME);
    until(&mut wlan, ms(300));
    assert_eq!(wlan.state(FIRST), LinkState::Up);
    wlan
}

/// Arrival times of packets in one direction, by their tokens.
fn arrivals(outputs: &[(Instant, WlanOutput)], way: Direction) -> Vec<(u64, Instant)> {
    let arrivals = outputs.iter().filter_map(|&(at, output)| match output {
        WlanOutput::Delivered { direction, token, .. } if direction == way => Some((token, at)),
        _ => None,
    });
    arrivals.collect()
}

#[test]
fn a_radio_that_scans_does_not_hear_its_own_channel_and_loses_nothing_that_is_held() {
    // The radio is away from its channel for 2 × 111 ms and three switches.
    let mut wlan = at_home(Scan::passive(Vec::from([40, 48])));
    let end = ms(300 + 2 * 111) + TURN * 3;
    wlan.handle(ms(300), WlanInput::Scan(CLIENT));
    let mut outputs = Vec::new();
    for step in 1..25_u64 {
        let now = ms(300 + 10 * step);
        outputs.extend(until(&mut wlan, now));
        if now < end {
            // The access point knows that the client is away, and nothing is sent on the wrong channel.
            let failures = [HOME, CLIENT].map(|station| wlan.air().counters(station).failures);
            assert_eq!(failures, [0, 0]);
        }
        wlan.handle(now, WlanInput::Down(FIRST, Load::new(500, step)));
        wlan.handle(now, WlanInput::Up(FIRST, Load::new(500, step)));
    }
    // When the radio is back at 537 ms, both sides send, and may collide.
    outputs.extend(until(&mut wlan, ms(700)));
    let over = outputs
        .iter()
        .find(|(_, output)| *output == WlanOutput::Scanned(CLIENT));
    // The frame that announces sleep is on the air for less than 1 ms.
    let over = over.unwrap().0;
    assert!((end..end + Duration::from_millis(1)).contains(&over), "{over:?}");
    for way in [Direction::Down, Direction::Up] {
        let arrivals = arrivals(&outputs, way);
        let numbers: Vec<u64> = arrivals.iter().map(|&(number, _)| number).collect();
        assert_eq!(numbers, Vec::from_iter(1..25), "{way:?}");
        assert!(arrivals.iter().all(|&(_, at)| at > over), "{way:?}: {arrivals:?}");
    }
    let own_beacons = outputs
        .iter()
        .filter(|(at, output)| *at < over && matches!(output, WlanOutput::Beacon { from: HOME, .. }));
    assert_eq!(own_beacons.count(), 0, "237 ms without one of them");
    assert_eq!(wlan.state(FIRST), LinkState::Up);
}

#[test]
fn who_looks_on_all_channels_joins_where_the_access_point_is() {
    let mut wlan = Wlan::new(1, &config(Scan::active(CHANNELS.into()))).unwrap();
    wlan.handle(ms(300), WlanInput::Associate(FIRST, OTHER));
    let outputs = until(&mut wlan, ms(3_000));
    let states = outputs.iter().filter_map(|&(at, output)| match output {
        WlanOutput::State(FIRST, state) => Some((state, at)),
        _ => None,
    });
    let states: Vec<(LinkState, Instant)> = states.collect();
    let names: Vec<LinkState> = states.iter().map(|&(state, _)| state).collect();
    assert_eq!(names, [LinkState::Joining, LinkState::Carrier, LinkState::Up]);
    // Three channels of 60 ms, three switches, and 10 ms of association with its frames.
    let carrier = ms(300 + 3 * 60 + 10) + TURN * 3;
    let late = Duration::from_millis(5);
    assert!((carrier..carrier + late).contains(&states[1].1), "{states:?}");
    let dhcp = Duration::from_secs(1);
    assert!(
        (carrier + dhcp..carrier + dhcp + late * 4).contains(&states[2].1),
        "{states:?}"
    );
}

#[test]
fn who_is_not_found_on_any_channel_is_given_up_after_some_scans() {
    let mut config = config(Scan::active(CHANNELS.into()));
    config.air.stations[1].position.x_mm = 900_000;
    let mut wlan = Wlan::new(1, &config).unwrap();
    wlan.handle(ms(300), WlanInput::Associate(FIRST, OTHER));
    let outputs = until(&mut wlan, ms(3_000));
    let ends: Vec<Instant> = outputs
        .iter()
        .filter(|(_, output)| *output == WlanOutput::Scanned(CLIENT))
        .map(|&(at, _)| at)
        .collect();
    let one = Duration::from_millis(3 * 60) + TURN * 3;
    assert_eq!(ends, [ms(300) + one, ms(300) + one * 2, ms(300) + one * 3]);
    assert_eq!(wlan.state(FIRST), LinkState::Down);
}

#[test]
fn a_radio_that_slept_sleeps_again() {
    let mut wlan = at_home(Scan::passive(Vec::from([48])));
    wlan.handle(ms(300), WlanInput::PowerSave(CLIENT, true));
    until(&mut wlan, ms(500));
    wlan.handle(ms(500), WlanInput::Scan(CLIENT));
    until(&mut wlan, ms(640));
    wlan.monitor(CLIENT);
    for token in 0..3 {
        wlan.handle(ms(640), WlanInput::Down(FIRST, Load::new(500, token)));
    }
    let outputs = until(&mut wlan, ms(900));
    let numbers: Vec<u64> = arrivals(&outputs, Direction::Down)
        .iter()
        .map(|&(number, _)| number)
        .collect();
    assert_eq!(numbers, [0, 1, 2]);
    let polls = core::iter::from_fn(|| wlan.poll_overheard()).filter(|frame| {
        matches!(
            frame.kind,
            FrameKind::Data {
                subtype: crate::air::Subtype::PsPoll,
                ..
            }
        )
    });
    assert_eq!(polls.count(), 3, "each was asked for after a beacon");
}

#[test]
fn a_scan_of_nothing_is_refused() {
    let refused = |scan| format!("{}", Wlan::new(1, &config(scan)).unwrap_err());
    assert!(refused(Scan::passive(Vec::new())).contains("client client scans"));
    let way = ScanWay::Passive {
        dwell: Duration::ZERO,
    };
    let channels = Vec::from([36]);
    assert!(refused(Scan { channels, way }).contains("how long to stay on each"));
    assert!(refused(Scan::active(Vec::from([37]))).contains("37"));
}
