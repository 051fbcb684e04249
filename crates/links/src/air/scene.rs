//! What else was on the air beside one frame: gathered once for all who receive it.
//!
//! # Checked by
//! `reception`'s tests: outcomes with a scene against those of sums of their own.

use alloc::vec::Vec;

use super::far::{Background, FarField, Limits};
use super::flight::{Flight, Flights, Source};
use crate::Position;

/// The frames that overlap with one.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// The frame, and when it began.
    of: Option<(u16, u64)>,
    pub(super) near: Vec<Near>,
    pub(super) far: Background,
    /// Where near ones begin and end while the frame is on the air, in the order of time; worked out when it is asked for.
    edges: Vec<Edge>,
    has_edges: bool,
}

/// What is too near to be summed up with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near {
    pub(super) from: u32,
    pub(super) position: Position,
    pub(super) milliwatts: f64,
    /// From when to when it was on the air together with the frame.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The same as a part of the frame.
    pub(super) part: f64,
}

impl Near {
    /// `None`: it does not disturb the frame.
    fn of(source: &Source, flight: &Flight) -> Option<Self> {
        source.disturbs(flight).then(|| Self {
            from: source.from,
            position: source.position,
            milliwatts: source.milliwatts,
            start: source.start.max(flight.start),
            end: source.end.min(flight.end),
            part: source.beside(flight) as f64 / (flight.end - flight.start) as f64,
        })
    }
}

/// One of the near ones begins or ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) at: u64,
    /// Its place among the near ones.
    pub(super) near: u32,
    pub(super) begins: bool,
}

impl Scene {
    /// Gathers what is near a frame, and bounds of what is far: the same for all who receive it, as until its end nothing else begins or ends.
    pub(super) fn gather(&mut self, flights: &Flights, id: u16, limits: &Limits) {
        let flight = flights.get(id);
        let of = Some((id, flight.start));
        if self.of == of {
            return;
        }
        self.of = of;
        self.near.clear();
        self.has_edges = false;
        let (spot, near) = (flights.spot(flight), &mut self.near);
        let mut far = FarField::default();
        for (sources, spots) in flights.around(flight.channel, flight.position, limits.scope_mm) {
            far.add(limits, &spot, spots, |place| {
                near.extend(Near::of(&sources[place], flight))
            });
        }
        self.far = far.over(flight.end - flight.start);
    }

    /// Where the near ones of that frame begin and end while it is on the air, in the order of time.
    pub(super) fn edges(&mut self, flight: &Flight) -> &[Edge] {
        if !self.has_edges {
            self.has_edges = true;
            self.edges.clear();
            for (place, near) in self.near.iter().enumerate() {
                let edge = |at, begins| Edge {
                    at,
                    near: place as u32,
                    begins,
                };
                if near.start > flight.start {
                    self.edges.push(edge(near.start, true));
                }
                if near.end < flight.end {
                    self.edges.push(edge(near.end, false));
                }
            }
            self.edges.sort_unstable_by_key(|edge| edge.at);
        }
        &self.edges
    }
}
