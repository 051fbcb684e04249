//! What else was on the air beside one frame: gathered once for all who receive it, ring by ring around its sender.
//!
//! # Checked by
//! `reception`'s tests: outcomes with a scene of many rings against those with one.

use alloc::vec::Vec;

use super::far::{FarField, Limits};
use super::flight::{Flights, Source};
use super::geometry::Geometry;

/// The frames that overlap with one, as far as anybody has asked for them.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// The frame, and when it began.
    of: Option<(u16, u64)>,
    sources: Vec<Source>,
    /// How many of them are in each ring and those inside it.
    ends: Vec<usize>,
    /// At least as many frames as overlap, of each ring.
    most: Vec<u32>,
    /// What is far, if that has been asked for: its bounds, and how many of the sources are near. Near ones come first then.
    far: Option<(FarField, usize)>,
}

impl Scene {
    /// From now on it is about this frame, until whose end nothing else begins or ends.
    pub(super) fn turn_to(&mut self, flights: &Flights, id: u16) {
        let of = Some((id, flights.get(id).start));
        if self.of != of {
            self.of = of;
            self.sources.clear();
            self.ends.clear();
            self.most.clear();
            self.far = None;
        }
    }

    /// What comes from one ring.
    pub(super) fn ring(&mut self, flights: &Flights, ring: usize) -> &[Source] {
        let Some((id, _)) = self.of else { return &[] };
        while self.ends.len() <= ring {
            let sources = &mut self.sources;
            flights.overlapping(id, self.ends.len(), |source| sources.push(*source));
            self.ends.push(self.sources.len());
        }
        let begin = if ring == 0 { 0 } else { self.ends[ring - 1] };
        &self.sources[begin..self.ends[ring]]
    }

    /// Everything that comes from so many rings: what is near, what is far, and bounds of that. The same number for all who ask.
    pub(super) fn parted(
        &mut self,
        flights: &Flights,
        rings: usize,
        (geometry, limits): (&Geometry, &Limits),
    ) -> (&[Source], &[Source], FarField) {
        let Some((id, _)) = self.of else {
            return (&[], &[], FarField::default());
        };
        let (field, near) = match self.far {
            Some(known) => known,
            None => {
                self.ring(flights, rings - 1);
                let (flight, mut field, mut near) = (flights.get(id), FarField::default(), 0);
                for place in 0..self.sources.len() {
                    if !field.add(geometry, limits, flight, &self.sources[place]) {
                        self.sources.swap(near, place);
                        near += 1;
                    }
                }
                *self.far.insert((field, near))
            }
        };
        let (near, far) = self.sources.split_at(near);
        (near, far, field)
    }

    /// Whether that has been asked for: sources are in the order of their rings no more.
    pub(super) const fn is_parted(&self) -> bool {
        self.far.is_some()
    }

    /// Asks anew whatever is asked next.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }

    /// No more frames than this come from one ring.
    pub(super) fn at_most(&mut self, flights: &Flights, ring: usize) -> u32 {
        let Some((id, _)) = self.of else { return 0 };
        while self.most.len() <= ring {
            self.most.push(flights.at_most(id, self.most.len()));
        }
        self.most[ring]
    }
}
