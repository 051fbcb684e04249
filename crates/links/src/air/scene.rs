//! What else was on the air beside one frame: gathered once for all who receive it.
//!
//! # Checked by
//! `reception`'s tests: outcomes with a scene against those of sums of their own.

use alloc::vec::Vec;

use super::far::{FarField, Limits};
use super::flight::{Flights, Source};
use super::geometry::Geometry;

/// The frames that overlap with one.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// The frame, and when it began.
    of: Option<(u16, u64)>,
    near: Vec<Source>,
    far: FarField,
}

impl Scene {
    /// What is near a frame, and bounds of what is far: the same for all who receive it, as until its end nothing else begins or ends.
    pub(super) fn of(
        &mut self,
        flights: &Flights,
        id: u16,
        (geometry, limits): (&Geometry, &Limits),
    ) -> (&[Source], FarField) {
        let flight = flights.get(id);
        let of = Some((id, flight.start));
        if self.of != of {
            self.of = of;
            self.near.clear();
            self.far = FarField::default();
            for sources in flights.around(flight.channel, flight.position, limits.scope_mm) {
                let (far, near) = (&mut self.far, &mut self.near);
                far.add(geometry, limits, flight, sources, |source| {
                    if source.id != id {
                        near.push(*source);
                    }
                });
            }
        }
        (&self.near, self.far)
    }
}
