//! Two frames at one receiver: which is received more strongly, decided by the distances alone if those
//! suffice.
//!
//! # Sources
//! - IEEE 802.11-2020 §17.3.12 (a receiver follows the frame whose preamble it has found). Lee et al. 2007
//!   (capture).
//!
//! # Checked by
//! `tests`: outcomes with and without. `sim`'s tests of capture.

use super::reception::Ether;
use crate::Position;
use crate::air::transmission::flight::Flight;

/// Another frame on the air during the header of the frame being followed.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Rival {
    position: Position,
    milliwatts: f64,
}

impl Rival {
    pub(in crate::air) const fn of(flight: &Flight) -> Self {
        Self {
            position: flight.position,
            milliwatts: flight.milliwatts,
        }
    }
}

/// Upper limit of the relative error of sums and products in double precision.
const ROUNDING: f64 = 1e-9;

impl Ether {
    /// Whether a receiver that follows `held` switches to `new`, which has just begun.
    ///
    /// During the preamble of `held`, it switches to a frame that stands out. Later, it switches to one that
    /// is stronger by the capture margin.
    pub(in crate::air) fn captures(&mut self, receiver: u32, held: &Flight, new: &Flight) -> bool {
        let margin = if new.start < held.payload {
            Some(self.preamble)
        } else {
            self.capture
        };
        margin.is_some_and(|margin| {
            if self.goes_by_distance() && margin > 1.0 + ROUNDING && self.is_nearer(receiver, held, new) {
                return false;
            }
            let strength = self.power_at(new.from, receiver, new.start);
            strength >= margin * self.power_at(held.from, receiver, new.start)
        })
    }

    /// Whether a receiver cannot have found the preamble of a frame because of the rival alone. If `false`,
    /// the frame must be weighed.
    pub(in crate::air) fn is_lost(&self, receiver: u32, flight: &Flight, rival: &Rival) -> bool {
        if !self.goes_by_distance() {
            return false;
        }
        let place = self.sites[receiver as usize].position;
        let arriving = |milliwatts: f64, from: Position| milliwatts * self.geometry.open(from, place);
        let signal = arriving(flight.milliwatts, flight.position);
        signal * (1.0 + ROUNDING) < self.preamble * arriving(rival.milliwatts, rival.position)
    }

    /// Whether a receiver is at least as near to the sender of `one` as to that of `other`, which has no more
    /// power.
    fn is_nearer(&self, receiver: u32, one: &Flight, other: &Flight) -> bool {
        let place = self.sites[receiver as usize].position;
        let squared = |from: Position| {
            let (x, y) = ((from.x_mm - place.x_mm) as f64, (from.y_mm - place.y_mm) as f64);
            x * x + y * y
        };
        one.milliwatts >= other.milliwatts && squared(one.position) <= squared(other.position)
    }
}
