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
fn bianchis_published_collision_probabilities() {
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
fn a_limit_of_very_many_attempts_is_none() {
    for stations in COUNTS {
        let for_ever = cell(16, 6, stations);
        let limited = Cell {
            attempts: Some(200),
            ..for_ever
        };
        for p in [0.0, 0.1, 0.4, 0.5, 0.7] {
            let (one, other) = (bianchi::transmits(&for_ever, p), bianchi::transmits(&limited, p));
            assert!((one / other - 1.0).abs() < 1e-9, "p = {p}: {one} {other}");
        }
    }
}

#[test]
fn one_station_alone_never_collides_and_uses_what_the_spaces_leave() {
    let costs = Costs::of(Standard::A, Bitrate::from_mbps(54), 1_470, After::Difs);
    let alone = Cell::of(Standard::A, 1, Some(7));
    for prediction in [
        bianchi::predict(&alone, &costs),
        countdown::predict(&alone, &costs),
        monte_carlo::predict(&alone, &costs, 200_000, 1),
    ] {
        assert_eq!(prediction.collision, 0.0);
        // DIFS 34, 7.5 slots of 9, 248 for the frame, 16, 28 for the acknowledgement.
        let by_hand = 1_470.0 * 8.0 / (34.0 + 67.5 + 248.0 + 16.0 + 28.0);
        assert!(
            (prediction.throughput / by_hand - 1.0).abs() < 0.002,
            "{prediction:?}"
        );
    }
}

/// The chain takes stations to be independent of each other, which the slots drawn one by one do not: 0.6 % and 0.009 between them.
#[test]
fn the_chain_of_the_standards_countdown_agrees_with_slots_drawn_one_by_one() {
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
fn a_time_out_takes_more_slots_where_preambles_are_long() {
    let late =
        |standard, mbps| Costs::of(standard, Bitrate::from_mbps(mbps), 1_500, After::Difs).time_out_slots;
    // 45 − 34 µs in slots of 9; 222 − 50 in slots of 20.
    assert_eq!((late(Standard::A, 54), late(Standard::B, 11)), (2, 9));
}
