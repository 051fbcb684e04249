use proptest::prelude::*;
use units::wifi::Standard;
use units::{Db, Rng};

use super::super::circle::Circle;
use super::super::grid::Grid;
use super::super::io::Kind;
use super::*;
use crate::wifi::Propagation;

#[test]
fn a_frame_is_cut_where_interference_changes() {
    let other = |start, end, power| Interferer { start, end, power };
    let others = [other(0, 30, 1.0), other(20, 60, 3.0), other(90, 200, 7.0)];
    let ratios = Ratios {
        signal: 8.0,
        floor: 1.0,
        others: &others,
    };
    let cut: Vec<_> = ratios.sections(10, 100).collect();
    assert_eq!(cut, [(10, 4.0), (10, 1.6), (30, 2.0), (30, 8.0), (10, 1.0)]);
    assert_eq!(ratios.sections(5, 5).count(), 0);
    assert_eq!(ratios.worst(), 8.0 / 12.0);
}

/// A frame of 1,536 bytes from a place in metres, at a rate of 802.11a.
fn flight(from: u32, (x, y): (i64, i64), mbps: u64, start: u64) -> Flight {
    let mode = Mode::of(Standard::A, units::Bitrate::from_mbps(mbps)).expect("a rate of 802.11a");
    let time = mode.time(Standard::A, 1_536).as_nanos() as u64;
    Flight {
        from,
        to: Some(0),
        kind: Kind::Data,
        mode,
        channel: 0,
        bytes: 1_536,
        count: 1,
        got: 0,
        position: place(x, y),
        circle: Circle::at(place(x, y)),
        milliwatts: milliwatts(Dbm::from_dbm(15)),
        rings: Rings::NEAR,
        start,
        payload: start + 20_000,
        end: start + time,
        nav: start + time,
        sure: false,
        alone: None,
        over: false,
    }
}

const fn place(x: i64, y: i64) -> Position {
    Position {
        x_mm: x * 1_000,
        y_mm: y * 1_000,
    }
}

/// What a receiver in the origin makes of the first of these frames, and the next random number after that; with tiles for a reach, and with
/// bounds of what is far or without.
fn heard(frames: &[Flight], (reach_mm, bounded): (i64, bool), seed: u64) -> (Outcome, u64) {
    let sites: Vec<Site> = core::iter::once(place(0, 0))
        .chain(frames.iter().map(|frame| frame.position))
        .map(|position| Site {
            position,
            milliwatts: milliwatts(Dbm::from_dbm(15)),
        })
        .collect();
    let mut ether = Ether::new(
        sites,
        Geometry::new(Propagation::indoor(Standard::A), &[]),
        Decoder::new(Db::from_db(5)),
        None,
        &Rules::default(),
    );
    let corners = [place(-1_500, -1_500), place(1_500, 1_500)];
    let grid = Grid::new(corners.into_iter(), reach_mm);
    let faintest = milliwatts(Dbm::from_dbm(-82));
    ether.prepare(faintest);
    if !bounded {
        ether.limits = None;
    }
    let mut flights = Flights::new(1, grid);
    let rings = ether.rings(milliwatts(Dbm::from_dbm(15)));
    // Somebody else hears them, too.
    let other = place(seed as i64 % 40, 15);
    let frames = frames.iter().map(|&frame| Flight {
        rings,
        circle: Circle::around(frame.position, [place(0, 0), other].into_iter()),
        ..frame
    });
    let ids: Vec<u16> = frames.map(|frame| flights.begin(frame)).collect();
    let mut rng = Rng::named(seed, "receiver");
    (ether.outcome(&flights, ids[0], 0, &mut rng), rng.next_u64())
}

/// Everything in one tile: the whole sum.
const ONE_TILE: i64 = 100_000_000;

fn reach() -> i64 {
    let geometry = Geometry::new(Propagation::indoor(Standard::A), &[]);
    let weakest = milliwatts(Dbm::from_mbm(NOISE_FLOOR_MBM)) / 100.0;
    geometry.distance_mm(weakest / milliwatts(Dbm::from_dbm(15)))
}

#[test]
fn the_plan_of_these_tests_has_tiles() {
    let corners = [place(-1_500, -1_500), place(1_500, 1_500)];
    let tiles = |reach| Grid::new(corners.into_iter(), reach).tiles();
    assert!((400_000..500_000).contains(&reach()), "{}", reach());
    assert!(tiles(reach()) > 100 && tiles(ONE_TILE) == 1);
}

fn rates() -> impl Strategy<Value = u64> {
    prop::sample::select(&[6_u64, 12, 24, 36, 54][..])
}

fn others() -> impl Strategy<Value = Vec<((i64, i64), u64, u64)>> {
    let one = ((-700_i64..700, -700_i64..700), rates(), 0_u64..2_000_000);
    prop::collection::vec(one, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn looking_at_the_nearest_first_changes_nothing(
        from in (1_i64..45, -20_i64..20),
        rate in rates(),
        others in others(),
        seed in any::<u64>(),
    ) {
        let own = flight(1, from, rate, 1_000_000);
        let others = others.iter().enumerate();
        let others = others.map(|(number, &(at, rate, start))| flight(2 + number as u32, at, rate, start));
        let frames: Vec<Flight> = core::iter::once(own).chain(others).collect();
        let whole = heard(&frames, (ONE_TILE, false), seed);
        prop_assert_eq!(heard(&frames, (reach(), true), seed), whole);
        prop_assert_eq!(heard(&frames, (reach(), false), seed), whole);
    }
}
