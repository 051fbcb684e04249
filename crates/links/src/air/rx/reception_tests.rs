use proptest::prelude::*;
use units::wifi::{NOISE_FLOOR_MBM, Standard};
use units::{Db, Dbm, Rng};

use super::*;
use crate::air::io::Kind;
use crate::air::place::circle::Circle;
use crate::air::place::grid::Grid;
use crate::config::ErrorModel;
use crate::wifi::{Propagation, frame_loss};

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

/// A frame of 1,536 bytes from a place in metres, at an 802.11a rate.
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

/// What is on the air around a receiver at the origin.
struct Around {
    ether: Ether,
    flights: Flights,
    first: u16,
}

impl Around {
    /// Puts these frames on the air, with tiles for a reach, and with bounds on far sources or without. A
    /// station at `other` hears them, too.
    fn new(frames: &[Flight], (reach_mm, bounded): (i64, bool), other: Position) -> Self {
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
            Decoder::new(ErrorModel::Nist),
            None,
            (&Propagation::indoor(Standard::A), &Rules::default()),
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
        let frames = frames.iter().map(|&frame| Flight {
            rings,
            circle: Circle::around(frame.position, [place(0, 0), other].into_iter()),
            ..frame
        });
        let ids: Vec<u16> = frames.map(|frame| flights.begin(frame)).collect();
        Self {
            ether,
            flights,
            first: ids[0],
        }
    }

    /// The outcome of the first frame at the receiver.
    fn outcome(&mut self, rng: &mut Rng) -> Outcome {
        self.ether.outcome(&self.flights, self.first, 0, rng)
    }
}

/// The outcome of the first of these frames at a receiver at the origin, and the next random number after
/// that.
fn heard(frames: &[Flight], how: (i64, bool), seed: u64) -> (Outcome, u64) {
    let mut around = Around::new(frames, how, place(seed as i64 % 40, 15));
    let mut rng = Rng::named(seed, "receiver");
    (around.outcome(&mut rng), rng.next_u64())
}

/// The receiver's noise with 5 dB of implementation loss, in mW.
fn own_noise() -> f64 {
    milliwatts(Dbm::from_mbm(NOISE_FLOOR_MBM) + Db::from_db(5))
}

/// The share of trials in which the first of these frames gets through.
fn share(frames: &[Flight]) -> f64 {
    const TRIALS: u32 = 4_000;
    let mut around = Around::new(frames, (reach(), true), place(10, 10));
    let mut rng = Rng::named(1, "share");
    let through = (0..TRIALS).filter(|_| around.outcome(&mut rng) == Outcome::Decoded);
    through.count() as f64 / f64::from(TRIALS)
}

/// Power received at the origin from that many millimetres away, in mW.
fn arriving(from_mm: i64) -> f64 {
    let from = Position {
        x_mm: from_mm,
        y_mm: 0,
    };
    let loss = Propagation::indoor(Standard::A).loss(from, place(0, 0), &[]);
    milliwatts(Dbm::from_dbm(15) - loss)
}

/// The published formula's probability that a frame from this distance gets through, with that much
/// interference in addition to the noise.
fn published(mbps: u64, from_mm: i64, beside_mw: f64) -> f64 {
    let noise = own_noise() + beside_mw;
    let ratio = Db::round_from(10.0 * libm::log10(arriving(from_mm) / noise));
    let rate = units::Bitrate::from_mbps(mbps);
    1.0 - frame_loss(Standard::A, rate, ratio, 1_536).as_f64()
}

/// The largest distance from which that share of the frames gets through, in mm.
fn far_enough(mbps: u64, share: f64) -> i64 {
    let places = (100..20_000).map(|step| 10 * step);
    let mut places = places.rev().filter(|&mm| published(mbps, mm, 0.0) >= share);
    places.next().expect("it gets through somewhere")
}

fn from(mm: i64, frame: Flight) -> Flight {
    Flight {
        position: Position { x_mm: mm, y_mm: 0 },
        ..frame
    }
}

#[test]
fn frames_get_through_noise_as_often_as_the_formula_says() {
    for mbps in [6, 24, 54] {
        for goal in [0.2, 0.5, 0.8] {
            let at = far_enough(mbps, goal);
            let (share, published) = (
                share(&[from(at, flight(1, (0, 0), mbps, 1_000_000))]),
                published(mbps, at, 0.0),
            );
            assert!(
                (share - published).abs() < 0.03,
                "{mbps} Mb/s, {at} mm: {share} {published}"
            );
        }
    }
}

/// A frame comes from this distance, and another one overlaps with its last part. The other one is as near as
/// it can be for a tenth to get through if it overlapped all along. Returns the share that gets through, and
/// the power received from the other.
fn beside(mbps: u64, at: i64, part: f64) -> (f64, f64) {
    let own = flight(1, (0, 0), mbps, 1_000_000);
    let payload = (own.end - own.payload) as f64;
    let mut places = (50..90_000).map(|step| 10 * step);
    let other_at = places.find(|&mm| published(mbps, at, arriving(mm)) >= 0.1);
    let other_at = other_at.expect("it is far enough away somewhere");
    let start = own.end - (payload * part) as u64;
    let other = from(-other_at, flight(2, (0, 0), 6, start));
    (share(&[from(at, own), other]), arriving(other_at))
}

/// A frame gets through if each of its sections does.
#[test]
fn another_frame_counts_for_the_part_in_which_it_is_on_the_air() {
    for (mbps, part) in [(54, 0.25), (54, 0.75), (24, 0.5)] {
        // 9 dB above what it needs without interference.
        let at = far_enough(mbps, 0.95) / 2;
        let (share, other) = beside(mbps, at, part);
        let [clean, disturbed] = [0.0, other].map(|mw| published(mbps, at, mw));
        let expected = libm::pow(clean, 1.0 - part) * libm::pow(disturbed, part);
        assert!(
            (share - expected).abs() < 0.03,
            "{mbps} Mb/s, {part} of it: {share} {expected} ({clean} {disturbed})"
        );
        assert!(expected < clean - 0.3, "the other one counts: {expected} {clean}");
    }
}

/// Interference weaker than the noise counts with its mean.
#[test]
fn a_frame_below_the_noise_counts_all_along_with_its_mean() {
    for (mbps, part) in [(54, 0.25), (24, 0.5)] {
        let at = far_enough(mbps, 0.95);
        let (share, other) = beside(mbps, at, part);
        assert!(other < own_noise());
        let own = flight(1, (0, 0), mbps, 1_000_000);
        let mean = other * part * (own.end - own.payload) as f64 / (own.end - own.start) as f64;
        let expected = published(mbps, at, mean);
        assert!(
            (share - expected).abs() < 0.03,
            "{mbps} Mb/s, {part} of it: {share} {expected}"
        );
        assert!(expected < 0.92, "the other one counts: {expected}");
    }
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
