//! What else was on the air during one frame: collected once for all its receivers.
//!
//! # Checked by
//! `reception`'s tests: outcomes with a scene against those of individual sums.

use alloc::vec::Vec;

use super::far::{Background, FarField, Limits, Nearby};
use super::flight::{Flight, Flights, Source};
use super::four::Four;
use crate::air::place::circle::millimetres;

/// The frames that overlap with one.
#[derive(Debug, Default)]
pub(in crate::air) struct Scene {
    /// The frame, and when it began.
    of: Option<(u16, u64)>,
    near: Vec<Near>,
    /// `near`, in groups of four.
    fours: Vec<Nears>,
    /// Number of valid entries for this frame.
    count: usize,
    pub(in crate::air) far: Background,
    /// Scratch space for the near ones in a span of tiles.
    nearby: Nearby,
    /// Starts and ends of near sources during the frame, sorted by time. Computed on first use.
    edges: Vec<Edge>,
    has_edges: bool,
}

/// A source too near to be summed with others: the span of its overlap with the frame.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Near {
    start: u64,
    end: u64,
    /// 1 if it was on the air when the frame began, otherwise 0.
    pub(in crate::air) first: f64,
}

impl Near {
    const NOBODY: Self = Self {
        start: 0,
        end: 0,
        first: 0.0,
    };
}

/// Four near sources side by side.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Nears {
    pub(in crate::air) from: [u32; 4],
    /// Offset east and north of the centre of those who hear the frame, in mm. Single precision represents
    /// them as whole numbers up to 16 km.
    pub(in crate::air) x: Four,
    pub(in crate::air) y: Four,
    pub(in crate::air) milliwatts: Four,
    /// Duration of each overlap with the frame, as a fraction of the frame.
    pub(in crate::air) part: Four,
}

impl Nears {
    pub(in crate::air) const NOBODY: Self = Self {
        from: [u32::MAX; 4],
        x: Four([0.0; 4]),
        y: Four([0.0; 4]),
        milliwatts: Four([0.0; 4]),
        part: Four([0.0; 4]),
    };
}

/// The start or end of a near source.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Edge {
    pub(in crate::air) at: u64,
    /// Its index among the near sources.
    pub(in crate::air) near: u32,
    pub(in crate::air) ends: bool,
}

impl Scene {
    /// Collects what is near a frame, and bounds on what is far. It is the same for all receivers, because
    /// nothing else begins or ends until the frame's end.
    pub(in crate::air) fn gather(&mut self, flights: &Flights, id: u16, limits: &Limits) {
        let flight = flights.get(id);
        let of = Some((id, flight.start));
        if self.of == of {
            return;
        }
        self.of = of;
        self.count = 0;
        self.has_edges = false;
        let mut far = FarField::default();
        let mut nearby = core::mem::take(&mut self.nearby);
        for field in flights.fields(flight.channel) {
            let sight = flights.sight(field, flight);
            for stretch in flights.within(field, flight.circle.middle, limits.scope_mm(&flight.circle)) {
                far.add(&sight, &stretch, limits.rest, &mut nearby);
                for &place in nearby.places() {
                    self.take_in(&stretch.sources[place as usize], flight);
                }
            }
        }
        self.close();
        self.nearby = nearby;
        self.far = far.over(flight.end - flight.start, &flight.circle, limits);
    }

    /// Adds a near source. If it does not interfere with the frame, the next one overwrites it: a branch
    /// could not be predicted.
    fn take_in(&mut self, source: &Source, flight: &Flight) {
        let (four, lane) = (self.count / 4, self.count % 4);
        if four == self.fours.len() {
            self.fours.push(Nears::NOBODY);
            self.near.extend([Near::NOBODY; 4]);
        }
        let (x, y) = millimetres(flight.circle.middle, source.position);
        let part = source.beside(flight) as i64 as f64 / (flight.end - flight.start) as i64 as f64;
        let four = &mut self.fours[four];
        four.from[lane] = source.from;
        (four.x.0[lane], four.y.0[lane]) = (x as f32, y as f32);
        four.milliwatts.0[lane] = source.milliwatts as f32;
        four.part.0[lane] = part as f32;
        self.near[self.count] = Near {
            start: source.start.max(flight.start),
            end: source.end.min(flight.end),
            first: f64::from(u8::from(source.start <= flight.start)),
        };
        self.count += usize::from(source.disturbs(flight));
    }

    /// The near sources of the frame.
    pub(in crate::air) fn near(&self) -> &[Near] {
        &self.near[..self.count]
    }

    /// The near frames in groups of four.
    pub(in crate::air) fn fours(&self) -> &[Nears] {
        &self.fours[..self.count.div_ceil(4)]
    }

    /// Fills up the last four with empty places.
    fn close(&mut self) {
        if let Some(four) = self.fours.get_mut(self.count / 4) {
            for lane in self.count % 4..4 {
                four.from[lane] = u32::MAX;
                four.milliwatts.0[lane] = 0.0;
            }
        }
    }

    /// Starts and ends of the near sources during that frame, sorted by time.
    pub(in crate::air) fn edges(&mut self, flight: &Flight) -> &[Edge] {
        if !self.has_edges {
            self.has_edges = true;
            self.edges.clear();
            for (number, near) in (0..).zip(&self.near[..self.count]) {
                let edge = |at, ends| Edge {
                    at,
                    near: number,
                    ends,
                };
                if near.start > flight.start {
                    self.edges.push(edge(near.start, false));
                }
                if near.end < flight.end {
                    self.edges.push(edge(near.end, true));
                }
            }
            self.edges.sort_unstable_by_key(|edge| edge.at);
        }
        &self.edges
    }
}
