//! Where radios are, and the gain from one place to another.
//!
//! # Sources
//! - Log-distance path loss and walls as in `wifi::Propagation`.
//!
//! # Where we differ, and why
//! 1. The gain at a distance comes from a table over the squared distance, 32 steps per octave with linear
//!    interpolation. It is within 0.005 dB of the formula, without a logarithm for every pair.
//!
//! 2. With walls the formula is used, and its latest results are kept: radios rarely move between two frames.
//!
//! # Checked by
//! `tests`: the table against the formula, walls crossed.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use crate::Position;
use crate::wifi::{Propagation, Wall};

/// Steps of the table per octave of the squared distance: the five top bits of a float's fraction.
const STEP_BITS: u32 = 5;
/// Distances below one metre count as one metre: 10⁶ mm².
const NEAREST_MM2: f64 = 1e6;
/// Steps below that of [`NEAREST_MM2`].
const FIRST: u64 = step_of(NEAREST_MM2);
/// 33 octaves reach to 90 km.
const STEPS: usize = 33 << STEP_BITS;

/// Gains through walls that are kept; a power of two.
const KEPT: usize = 1 << 10;

/// A gain and its places. `None`: not computed yet.
#[derive(Debug, Clone, Copy, Default)]
struct Computed {
    from: Position,
    to: Position,
    gain: Option<f64>,
}

const fn step_of(squared_mm: f64) -> u64 {
    squared_mm.to_bits() >> (52 - STEP_BITS)
}

/// The gain between any two places.
#[derive(Debug)]
pub(in crate::air) struct Geometry {
    gains: Box<[f64]>,
    walls: Vec<Wall>,
    propagation: Propagation,
    /// The latest gains through walls, each at the place that a hash gives it. Empty if there are no walls.
    kept: Box<[Cell<Computed>]>,
}

impl Geometry {
    pub(in crate::air) fn new(propagation: Propagation, walls: &[Wall]) -> Self {
        let gain = |step: usize| {
            let squared = f64::from_bits((FIRST + step as u64) << (52 - STEP_BITS));
            distance_gain(&propagation, squared)
        };
        Self {
            gains: (0..=STEPS).map(gain).collect(),
            walls: walls.into(),
            propagation,
            kept: match walls {
                [] => Box::default(),
                _ => vec![Cell::default(); KEPT].into(),
            },
        }
    }

    /// Received over transmitted power, as a ratio.
    #[inline]
    pub(in crate::air) fn gain(&self, from: Position, to: Position) -> f64 {
        if self.walls.is_empty() {
            self.open(from, to)
        } else {
            self.walled(from, to)
        }
    }

    fn walled(&self, from: Position, to: Position) -> f64 {
        let kept = &self.kept[place_of(from, to)];
        let known = kept.get();
        if let Some(gain) = known.gain.filter(|_| (known.from, known.to) == (from, to)) {
            return gain;
        }
        let gain = libm::exp10(-self.propagation.loss(from, to, &self.walls).as_db_f64() / 10.0);
        kept.set(Computed {
            from,
            to,
            gain: Some(gain),
        });
        gain
    }

    /// Largest distance with at least this gain without a wall, in mm.
    pub(in crate::air) fn distance_mm(&self, gain: f64) -> i64 {
        let step = self.gains.partition_point(|&nearer| nearer > gain);
        let squared = f64::from_bits((FIRST + step as u64) << (52 - STEP_BITS));
        libm::ceil(libm::sqrt(squared)) as i64
    }

    /// Gain at one metre, and the path-loss exponent.
    pub(in crate::air) fn law(&self) -> (f64, f64) {
        let reference = libm::exp10(-self.propagation.reference.as_db_f64() / 10.0);
        (reference, f64::from(self.propagation.exponent_centi) / 100.0)
    }

    /// Whether walls make gains depend on more than the distance.
    pub(in crate::air) const fn has_walls(&self) -> bool {
        !self.walls.is_empty()
    }

    /// Received over transmitted power without a wall in between.
    #[inline]
    pub(in crate::air) fn open(&self, from: Position, to: Position) -> f64 {
        let (x, y) = ((to.x_mm - from.x_mm) as f64, (to.y_mm - from.y_mm) as f64);
        self.over(x * x + y * y)
    }

    #[inline]
    fn over(&self, squared_mm: f64) -> f64 {
        let squared = squared_mm.max(NEAREST_MM2);
        let step = step_of(squared) - FIRST;
        let index = (step as usize).min(STEPS - 1);
        let fraction_bits = squared.to_bits() & ((1 << (52 - STEP_BITS)) - 1);
        let part = fraction_bits as f64 / (1_u64 << (52 - STEP_BITS)) as f64;
        self.gains[index] + (self.gains[index + 1] - self.gains[index]) * part
    }
}

/// Where the gain between these places is kept.
fn place_of(from: Position, to: Position) -> usize {
    let numbers = [from.x_mm, from.y_mm, to.x_mm, to.y_mm];
    let mixed = numbers.into_iter().fold(0_u64, |mixed, number| {
        (mixed ^ number as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    });
    (mixed >> 20) as usize % KEPT
}

fn distance_gain(propagation: &Propagation, squared_mm: f64) -> f64 {
    let metres = libm::sqrt(squared_mm) / 1_000.0;
    let loss = propagation.reference.as_db_f64()
        + f64::from(propagation.exponent_centi) / 10.0 * libm::log10(metres);
    libm::exp10(-loss / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Db;
    use units::wifi::Standard;

    fn at(x_mm: i64, y_mm: i64) -> Position {
        Position { x_mm, y_mm }
    }

    #[test]
    fn the_table_is_as_good_as_the_formula() {
        let propagation = Propagation::indoor(Standard::A);
        let geometry = Geometry::new(propagation, &[]);
        for step in 0..4_000_i64 {
            let to = at(step * step * 3 + step * 17, step * 1_111);
            let exact = propagation.loss(at(0, 0), to, &[]).as_db_f64();
            let table = -10.0 * libm::log10(geometry.gain(at(0, 0), to));
            // The formula itself is rounded to a hundredth.
            assert!((exact - table).abs() < 0.012, "{to:?}: {exact} {table}");
        }
    }

    #[test]
    fn a_wall_takes_its_loss() {
        let wall = Wall {
            from: at(5_000, -1_000),
            to: at(5_000, 1_000),
            loss: Db::from_db(7),
        };
        let propagation = Propagation::indoor(Standard::A);
        let (open, walled) = (
            Geometry::new(propagation, &[]),
            Geometry::new(propagation, &[wall]),
        );
        let db = |geometry: &Geometry, y| 10.0 * libm::log10(geometry.gain(at(0, y), at(10_000, y)));
        assert!((db(&open, 0) - db(&walled, 0) - 7.0).abs() < 0.02);
        assert!((db(&open, 5_000) - db(&walled, 5_000)).abs() < 0.02);
        // More places than are kept, twice.
        for y in (0..3_000).chain(0..3_000) {
            let (from, to) = (at(0, y), at(10_000, -y));
            let exact = propagation.loss(from, to, &[wall]).as_db_f64();
            assert_eq!(walled.gain(from, to), libm::exp10(-exact / 10.0), "{y}");
        }
    }
}
