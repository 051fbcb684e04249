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
use super::geometry::Geometry;
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
    /// Takes in a source; `false`: it is too near, and has to be looked at by itself.
    pub(super) fn add(
        &mut self,
        geometry: &Geometry,
        limits: &Limits,
        flight: &Flight,
        source: &Source,
    ) -> bool {
        let (x, y) = metres(flight.position, source.position);
        let squared = x * x + y * y;
        let around = geometry.around(squared);
        let strongest = source.milliwatts * around.strongest * (1.0 + TABLE);
        if strongest > limits.noise {
            return false;
        }
        if strongest <= limits.negligible {
            return true;
        }
        let time = source.end.min(flight.end) - source.start.max(flight.start);
        let part = time as f64 / (flight.end - flight.start) as f64;
        if source.milliwatts * around.weakest * (1.0 - TABLE) <= limits.negligible {
            // In some places it counts, in others it does not.
            let half = part * strongest / 2.0;
            self.level += half;
            self.doubt += half;
            return true;
        }
        let level = part * source.milliwatts * geometry.at(squared);
        let slope = geometry.exponent() * level / squared;
        self.level += level;
        self.slope = (self.slope.0 + slope * x, self.slope.1 + slope * y);
        self.doubt += level * TABLE;
        self.bend += part * strongest * around.bend;
        true
    }

    /// The least and the most that they add in a place, which must not be farther from the sender than [`Limits::around`].
    pub(super) fn at(&self, sender: Position, place: Position) -> [f64; 2] {
        let (x, y) = metres(sender, place);
        let here = self.level + self.slope.0 * x + self.slope.1 * y;
        let doubt = self.doubt + self.bend * (x * x + y * y) + TABLE * (here - self.level).abs();
        [(here - doubt).max(0.0), (here + doubt).max(0.0)]
    }
}

/// From one place to another.
pub(super) fn metres(from: Position, to: Position) -> (f64, f64) {
    (
        (to.x_mm - from.x_mm) as f64 / 1e3,
        (to.y_mm - from.y_mm) as f64 / 1e3,
    )
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
