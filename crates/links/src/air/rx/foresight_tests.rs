use proptest::prelude::*;
use units::Dbm;
use units::wifi::Standard;

use super::*;
use crate::Position;
use crate::air::place::geometry::Geometry;
use crate::air::rx::reception::milliwatts;
use crate::wifi::Propagation;

/// Sources near a frame's sender, which is at 0: position, transmit power, and overlap with the frame.
type Source = ((i64, i64), i32, f64);

/// The receiver's number. Every fifth source has it, too.
const RECEIVER: u32 = 5;

fn nears(sources: &[Source]) -> Vec<Nears> {
    let mut nears = vec![Nears::NOBODY; sources.len().div_ceil(4)];
    for (number, &((x, y), dbm, part)) in sources.iter().enumerate() {
        let (four, lane) = (&mut nears[number / 4], number % 4);
        four.from[lane] = number as u32 % 5 + 1;
        (four.x.0[lane], four.y.0[lane]) = (x as f32, y as f32);
        four.milliwatts.0[lane] = milliwatts(Dbm::from_dbm(dbm)) as f32;
        four.part.0[lane] = part as f32;
    }
    nears
}

/// What of that exceeds the noise at the receiver, and the mean of the rest, summed one by one.
fn exact(sources: &[Source], at: (i64, i64), noise: f64) -> (f64, f64) {
    let geometry = Geometry::new(Propagation::indoor(Standard::A), &[]);
    let place = |(x_mm, y_mm)| Position { x_mm, y_mm };
    let (mut all, mut mean) = (0.0, 0.0);
    for (number, &(from, dbm, part)) in sources.iter().enumerate() {
        let power = milliwatts(Dbm::from_dbm(dbm)) * geometry.gain(place(from), place(at));
        if number as u32 % 5 + 1 == RECEIVER {
            continue;
        } else if power > noise {
            all += power;
        } else if power > noise / 100.0 {
            mean += power * part;
        }
    }
    (all, mean)
}

fn sums(sources: &[Source], at: (i64, i64), noise: f64) -> Sums {
    let geometry = Geometry::new(Propagation::indoor(Standard::A), &[]);
    let spot = Spot {
        number: RECEIVER,
        place: (at.0 as f32, at.1 as f32),
        noise: Border::at(noise),
        negligible: Border::at(noise / 100.0),
    };
    let limits = Limits::new(geometry.law(), 45_000, 1_000_000);
    Sums::of(&nears(sources), &spot, &limits, &mut Vec::new())
}

fn noise() -> f64 {
    milliwatts(Dbm::from_dbm(-94))
}

fn sources() -> impl Strategy<Value = Vec<Source>> {
    let place = (-600_000_i64..600_000, -600_000_i64..600_000);
    prop::collection::vec((place, -10_i32..30, 0.0..1.0), 0..60)
}

proptest! {
    #[test]
    fn what_is_added_up_one_by_one_lies_within_the_bounds(
        sources in sources(),
        at in (-43_000_i64..43_000, -43_000_i64..43_000),
    ) {
        let (all, mean) = exact(&sources, at, noise());
        let near = sums(&sources, at, noise());
        let least = (near.all.sum() + near.least.sum()) * (1.0 - INEXACT);
        let most = (near.all.sum() + near.most.sum()) * (1.0 + INEXACT);
        prop_assert!(least <= all + mean && all + mean <= most, "{least} {} {most}", all + mean);
    }
}

#[test]
fn what_is_as_strong_as_the_noise_may_be_there_always_or_never() {
    let sources = [((30_000, 40_000), 15, 0.25)];
    let (power, _) = exact(&sources, (0, 0), 0.0);
    for part in [1.0 - INEXACT / 4.0, 1.0, 1.0 + INEXACT / 4.0] {
        let near = sums(&sources, (0, 0), power * part);
        assert_eq!((near.all.sum(), near.least.sum()), (0.0, 0.0));
        assert!((near.most.sum() / power - 1.0).abs() < INEXACT);
    }
    // A little farther from the border it is one or the other.
    let weak = sums(&sources, (0, 0), power * (1.0 + 3.0 * INEXACT));
    assert_eq!((weak.all.sum(), weak.least.sum()), (0.0, weak.most.sum()));
    assert!((weak.most.sum() / power - 0.25).abs() < INEXACT);
    let strong = sums(&sources, (0, 0), power * (1.0 - 3.0 * INEXACT));
    assert_eq!((strong.least.sum(), strong.most.sum()), (0.0, 0.0));
    assert!((strong.all.sum() / power - 1.0).abs() < INEXACT);
}
