//! What arrives from far away: summed up once for all who receive a frame, by what it adds at the sender and how that changes from there.
//!
//! Whoever receives a frame stands near its sender, and senders that are several times as far away look much the same from all of these
//! places. The sum of their powers is taken at the sender, with its slope; what is left out, the curvature, is bounded. Where the bound leaves
//! a doubt about an outcome, the powers are added up one by one.
//!
//! # Sources
//! - Greengard and Rokhlin 1987 ("A fast algorithm for particle simulations", §2): far sources by the first terms of an expansion, with a
//!   bound of the rest.
//! - For a power that falls with distance r as r⁻ⁿ no second derivative exceeds n(n + 1)·r⁻ⁿ⁻² (Taylor's theorem then bounds the rest).
//!
//! # Where we differ, and why
//! 1. Only the bounds are used, never the sum itself: no outcome depends on the expansion.
//!
//! # Checked by
//! `tests`: bounds against exact sums; `reception`'s tests: outcomes with and without.

use super::flight::{Flight, Source};
use super::geometry::{Geometry, STEEP};
use crate::Position;

/// From where on a source is far, for all frames of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Whoever is heard at all is nearer than this, in m.
    pub(super) around: f64,
    /// What is stronger is no background.
    pub(super) noise: f64,
    /// What is weaker counts for nothing.
    pub(super) negligible: f64,
    /// Whoever is farther than this from a sender is out of reach for all who hear it, in mm.
    pub(super) scope_mm: i64,
}

/// The far sources of one frame, in mW.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FarField {
    /// Their sum at the frame's sender, each with the part of the frame during which it was on the air.
    level: f64,
    /// What it changes with every metre east and north.
    slope: (f64, f64),
    /// How far off that can be anywhere.
    doubt: f64,
    /// The same for each square metre of the distance from the sender.
    bend: f64,
}

/// What a table of gains may be off, as a part.
const TABLE: f64 = 0.002;

impl FarField {
    /// Takes in what overlaps with the frame; tells of what is too near and has to be looked at by itself.
    ///
    /// Every source takes the same way through this, because what it would branch on cannot be predicted: what does not count is
    /// multiplied by zero.
    #[inline]
    pub(super) fn add(
        &mut self,
        geometry: &Geometry,
        limits: &Limits,
        flight: &Flight,
        sources: &[Source],
        mut tell: impl FnMut(&Source),
    ) {
        let each = 1.0 / (flight.end - flight.start) as i64 as f64;
        for source in sources {
            let time = source.beside(flight);
            let (x, y) = metres(flight.position, source.position);
            let squared = x * x + y * y;
            let around = geometry.around(squared);
            let strongest = source.milliwatts * around.strongest * (1.0 + TABLE);
            if strongest > limits.noise {
                if time > 0 {
                    tell(source);
                }
                continue;
            }
            let part = time as i64 as f64 * each * yes(strongest > limits.negligible);
            // Otherwise it counts in some places and in others it does not.
            let sure = yes(source.milliwatts * around.weakest * (1.0 - TABLE) > limits.negligible);
            let level = part * source.milliwatts * geometry.at(squared) * sure;
            let half = part * strongest / 2.0 * (1.0 - sure);
            let slope = level * around.steep;
            self.level += level + half;
            self.slope = (self.slope.0 + slope * x, self.slope.1 + slope * y);
            // The slope is multiplied by less than the distance.
            self.doubt += level * (TABLE + STEEP * around.steep * squared) + half;
            self.bend += part * strongest * around.bend * sure;
        }
    }

    /// The least and the most that they add in a place, which must not be farther from the sender than [`Limits::around`].
    pub(super) fn at(&self, sender: Position, place: Position) -> [f64; 2] {
        let (x, y) = metres(sender, place);
        let here = self.level + self.slope.0 * x + self.slope.1 * y;
        let doubt = self.doubt + self.bend * (x * x + y * y) + TABLE * (here - self.level).abs();
        [(here - doubt).max(0.0), (here + doubt).max(0.0)]
    }
}

fn yes(it: bool) -> f64 {
    f64::from(u8::from(it))
}

/// From one place to another.
pub(super) fn metres(from: Position, to: Position) -> (f64, f64) {
    (
        (to.x_mm - from.x_mm) as f64 * 1e-3,
        (to.y_mm - from.y_mm) as f64 * 1e-3,
    )
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
