//! Interference from far away, added up at one receiver: for receivers where the common sum (`far`) leaves a
//! doubt.
//!
//! # Where we differ, and why
//! 1. Sources are taken four at a time in single precision, as near ones are (`foresight`). The bounds
//!    include the resulting error.
//!
//! # Checked by
//! `far`'s tests: bounds against exact sums. `reception`'s tests: outcomes with and without.

use super::foresight::Border;
use crate::Position;
use crate::air::transmission::far::{INEXACT, Limits, Sight};
use crate::air::transmission::field::Stretch;
use crate::air::transmission::flight::{Flight, Flights};
use crate::air::transmission::four::Four;

/// Lower and upper limit of what the far sources of one frame add at a receiver, in mW times ns.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::air) struct Arrival {
    least: Four,
    most: Four,
}

impl Arrival {
    /// Lower and upper limit, in mW, of what the far sources of a frame add at a place, averaged over the
    /// frame. `None` if single precision does not resolve the place to a millimetre.
    pub(in crate::air) fn at(
        flights: &Flights,
        flight: &Flight,
        place: Position,
        within: (&Limits, Border),
    ) -> Option<[f64; 2]> {
        let at = flights.fine(place)?;
        let mut arrival = Self::default();
        for field in flights.fields(flight.channel) {
            let sight = flights.sight(field, flight);
            let scope_mm = within.0.scope_mm(&flight.circle);
            for stretch in flights.within(field, flight.circle.middle, scope_mm) {
                arrival.add(&sight, at, &stretch, within);
            }
        }
        Some(arrival.over(flight.end - flight.start))
    }

    /// Adds the far sources of a frame, at a place given in metres east and north of the plan's corner. It is
    /// a separate function: inlined into other code, compilers split the vectors of four.
    #[inline(never)]
    pub(in crate::air) fn add(
        &mut self,
        to: &Sight,
        at: (f32, f32),
        stretch: &Stretch<'_>,
        (limits, negligible): (&Limits, Border),
    ) {
        let (east, north) = (Four::all(at.0), Four::all(at.1));
        let [near_ring, ..] = to.rings(stretch.rings);
        let mut sum = *self;
        for spots in stretch.spots {
            let (x, y) = (spots.x - east, spots.y - north);
            let squared = (x * x + y * y).at_least(Four::all(1.0));
            let power = limits.arriving(spots.milliwatts, squared);
            let (counts, may_count) = negligible.split(power);
            let mean = power * to.far(near_ring, spots);
            sum.least += counts.keep(mean);
            sum.most += may_count.keep(mean);
        }
        *self = sum;
    }

    /// The limits averaged over a frame of that many ns, in mW.
    pub(in crate::air) fn over(&self, nanos: u64) -> [f64; 2] {
        let nanos = nanos as i64 as f64;
        [
            self.least.sum() / nanos * (1.0 - INEXACT),
            self.most.sum() / nanos * (1.0 + INEXACT),
        ]
    }
}
