use super::*;

const COUNTS: [u32; 5] = [2, 5, 10, 20, 50];

fn cell(window: u32, doublings: u32, stations: u32) -> Cell {
    Cell {
        stations,
        window,
        doublings,
        attempts: None,
    }
}

#[test]
fn collision_probabilities_match_bianchis_published_ones() {
    let costs = Costs::of(Standard::A, Bitrate::from_mbps(54), 1_500, After::Difs);
    let published = [
        (16, 6, [0.2715, 0.3844, 0.4809, 0.5953]),
        (32, 5, [0.1781, 0.2898, 0.3988, 0.5324]),
    ];
    for (window, doublings, collisions) in published {
        for (stations, published) in COUNTS.into_iter().skip(1).zip(collisions) {
            let ours = bianchi::predict(&cell(window, doublings, stations), &costs).collision;
            assert!(
                (ours - published).abs() < 0.0002,
                "W = {window}, n = {stations}: {ours}"
            );
        }
    }
}

#[test]
fn a_large_limit_of_attempts_equals_no_limit() {
    for stations in COUNTS {
        let unlimited = cell(16, 6, stations);
        let limited = Cell {
            attempts: Some(200),
            ..unlimited
        };
        for p in [0.0, 0.1, 0.4, 0.5, 0.7] {
            let (one, other) = (bianchi::transmits(&unlimited, p), bianchi::transmits(&limited, p));
            assert!((one / other - 1.0).abs() < 1e-9, "p = {p}: {one} {other}");
        }
    }
}

#[test]
fn a_single_station_never_collides_and_reaches_the_computed_throughput() {
    let costs = Costs::of(Standard::A, Bitrate::from_mbps(54), 1_470, After::Difs);
    let alone = Cell::of(Standard::A, 1, Some(7));
    for prediction in [
        bianchi::predict(&alone, &costs),
        countdown::predict(&alone, &costs),
        monte_carlo::predict(&alone, &costs, 200_000, 1),
    ] {
        assert_eq!(prediction.collision, 0.0);
        // DIFS 34, 7.5 slots of 9, 248 for the frame, SIFS 16, 28 for the ACK, in µs.
        let by_hand = 1_470.0 * 8.0 / (34.0 + 67.5 + 248.0 + 16.0 + 28.0);
        assert!(
            (prediction.throughput / by_hand - 1.0).abs() < 0.002,
            "{prediction:?}"
        );
    }
}

/// The chain assumes independent stations, the simulation does not. The differences are at most 0.6 % and
/// 0.009.
#[test]
fn the_countdown_chain_agrees_with_the_simulation() {
    for (standard, mbps) in [(Standard::A, 54), (Standard::A, 6), (Standard::B, 11)] {
        let costs = Costs::of(standard, Bitrate::from_mbps(mbps), 1_500, After::Difs);
        for stations in COUNTS {
            let cell = Cell::of(standard, stations, Some(7));
            let chain = countdown::predict(&cell, &costs);
            let drawn = monte_carlo::predict(&cell, &costs, 400_000, 1);
            let throughput = chain.throughput / drawn.throughput - 1.0;
            let collision = chain.collision - drawn.collision;
            assert!(
                throughput.abs() < 0.010 && collision.abs() < 0.0095,
                "802.11{standard:?} at {mbps} Mb/s, n = {stations}: {throughput:+.4} {collision:+.4}"
            );
        }
    }
}

#[test]
fn long_preambles_lengthen_the_time_out() {
    let late =
        |standard, mbps| Costs::of(standard, Bitrate::from_mbps(mbps), 1_500, After::Difs).time_out_slots;
    // 45 − 34 µs in slots of 9 µs, and 222 − 50 µs in slots of 20 µs.
    assert_eq!((late(Standard::A, 54), late(Standard::B, 11)), (2, 9));
}

/// Bianchi's chain with seven attempts and W = 16, to three digits.
#[test]
fn seven_attempts_match_values_computed_elsewhere() {
    let costs = Costs::of(Standard::A, Bitrate::from_mbps(54), 1_500, After::Difs);
    let elsewhere = [0.105, 0.272, 0.389, 0.496, 0.634];
    for (stations, elsewhere) in COUNTS.into_iter().zip(elsewhere) {
        let cell = Cell::of(Standard::A, stations, Some(7));
        let ours = bianchi::predict(&cell, &costs).collision;
        assert!(
            (ours - elsewhere).abs() < 0.0005,
            "n = {stations}: {ours} {elsewhere}"
        );
    }
}

/// Reference values in ns-3's tree (`src/wifi/examples/reference`) for n = 5, 10, 20, 50, in Mb/s.
const NS3: [(Standard, u64, After, [f64; 4]); 4] = [
    (Standard::A, 54, After::Difs, [29.832, 28.152, 26.293, 23.562]),
    (Standard::A, 54, After::Eifs, [29.286, 27.376, 25.333, 22.416]),
    (Standard::A, 6, After::Difs, [4.709, 4.345, 3.990, 3.507]),
    (Standard::B, 11, After::Difs, [6.473, 6.177, 5.782, 5.175]),
];

/// Timing behind those values. A frame has 1,534 bytes as ours, but 1,500 of them count as payload, ours
/// counts 1,470. A station that succeeds transmits again at once if it draws zero, so a success stands for
/// W/(W − 1) frames, and an idle slot follows. EIFS contains an ACK at the ACK rate of the data.
fn timing_of_ns3(standard: Standard, rate: Bitrate, after: After) -> Costs {
    let ours = Costs::of(standard, rate, 1_470, After::Difs);
    let once = 1.0 - 1.0 / f64::from(standard.cw_min() + 1);
    Costs {
        success: ours.success / once + ours.slot,
        collision: match after {
            After::Difs => ours.collision,
            After::Eifs => ours.success,
        },
        payload: 12_000.0 / once,
        ..ours
    }
}

/// Uses ns-3's timing. With our timing and 1,500 bytes of UDP, throughput is 0.5 to 5 % lower, because of
/// longer frames and an EIFS with an ACK at 6 Mb/s.
#[test]
fn throughput_matches_ns_3s_solver_with_its_timing() {
    for (standard, mbps, after, published) in NS3 {
        let costs = timing_of_ns3(standard, Bitrate::from_mbps(mbps), after);
        for (stations, published) in COUNTS.into_iter().skip(1).zip(published) {
            let ours = bianchi::predict(&Cell::of(standard, stations, None), &costs).throughput;
            // In 802.11b ns-3's frame lasts 1,310 µs, ours 1,308.
            assert!(
                (ours / published - 1.0).abs() < 0.002,
                "802.11{standard:?} at {mbps} Mb/s, n = {stations}, {after:?}: {ours} {published}"
            );
        }
    }
}
