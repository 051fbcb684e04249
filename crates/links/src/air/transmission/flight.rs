//! Frames on the air, and finished frames that overlapped with one that is still on it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::far::{Rings, Sight, Spot};
use super::field::{EXACT, Field, Place, Stretch};
use crate::Position;
use crate::air::io::Kind;
use crate::air::phy::mode::Mode;
use crate::air::place::circle::Circle;
use crate::air::place::grid::Grid;

/// No frame.
pub(in crate::air) const NONE: u16 = u16::MAX;

/// One frame on the air.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Flight {
    pub(in crate::air) from: u32,
    /// `None`: to everybody.
    pub(in crate::air) to: Option<u32>,
    pub(in crate::air) kind: Kind,
    pub(in crate::air) mode: Mode,
    pub(in crate::air) channel: u8,
    pub(in crate::air) bytes: u32,
    /// Number of frames in it: more than one is an aggregate.
    pub(in crate::air) count: u32,
    /// The frames of an aggregate that it acknowledges.
    pub(in crate::air) got: u64,
    /// Where its sender stands.
    pub(in crate::air) position: Position,
    /// A circle around those who hear it.
    pub(in crate::air) circle: Circle,
    pub(in crate::air) milliwatts: f64,
    /// The distances at which it is near or far, for others' frames.
    pub(in crate::air) rings: Rings,
    pub(in crate::air) start: u64,
    /// Start of the payload: end of preamble and header.
    pub(in crate::air) payload: u64,
    pub(in crate::air) end: u64,
    /// End of the time for which it reserves the medium.
    pub(in crate::air) nav: u64,
    /// Everybody who hears it receives it, unless something else is on the air.
    pub(in crate::air) sure: bool,
    /// The channel's count of frames when it began, if nothing else was on the air then.
    pub(in crate::air) alone: Option<u32>,
    pub(in crate::air) over: bool,
}

/// What a receiver needs of a frame that interferes with another, stored by place.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Source {
    pub(in crate::air) from: u32,
    /// It is over, and kept because it overlaps with a frame that is not.
    pub(in crate::air) over: bool,
    pub(in crate::air) start: u64,
    pub(in crate::air) end: u64,
    pub(in crate::air) position: Position,
    pub(in crate::air) milliwatts: f64,
}

impl Source {
    /// An empty place.
    pub(in crate::air) const NOBODY: Self = Self {
        from: u32::MAX,
        over: true,
        start: 0,
        end: 0,
        position: Position { x_mm: 0, y_mm: 0 },
        milliwatts: 0.0,
    };

    pub(in crate::air) const fn of(flight: &Flight) -> Self {
        Self {
            from: flight.from,
            over: false,
            start: flight.start,
            end: flight.end,
            position: flight.position,
            milliwatts: flight.milliwatts,
        }
    }

    /// The source for sums over far sources, with times relative to `since`.
    pub(in crate::air) fn spot(&self, grid: &Grid, since: u64) -> Spot {
        let (x, y) = grid.metres(self.position);
        let moment = |at: u64| at.wrapping_sub(since).cast_signed() as f32;
        Spot {
            start: moment(self.start),
            end: moment(self.end),
            place: (x as f32, y as f32),
            milliwatts: self.milliwatts as f32,
        }
    }

    /// Duration of its overlap with a frame.
    pub(in crate::air) fn beside(&self, flight: &Flight) -> u64 {
        self.end
            .min(flight.end)
            .saturating_sub(self.start.max(flight.start))
    }

    /// Whether it interferes with a frame: it overlaps with that frame, and is not the frame itself (no
    /// station has two frames on the air).
    pub(in crate::air) fn disturbs(&self, flight: &Flight) -> bool {
        self.from != flight.from && self.beside(flight) > 0
    }
}

/// All frames of all channels.
#[derive(Debug)]
pub(in crate::air) struct Flights {
    all: Vec<Flight>,
    /// Ends of the frames in each aggregate, in bytes.
    ends: Vec<Vec<u32>>,
    /// The field of its channel that each frame is in, and its place there.
    places: Vec<(usize, Place)>,
    free: Vec<u16>,
    grid: Grid,
    /// Channels, by number.
    channels: Vec<Channel>,
}

#[derive(Debug, Default)]
struct Channel {
    /// The transmit power of a frame decides its field.
    fields: Vec<Field>,
    on_air: usize,
    /// Number of frames that have begun, modulo 2³².
    begun: u32,
    /// Frames on the air by start, and some that are over: (start, frame).
    order: VecDeque<(u64, u16)>,
}

/// Most fields of a channel. Further powers share one, which treats everything that may be near as near.
const FIELDS: usize = 5;

impl Channel {
    /// Index of the field for sources with these rings.
    #[inline]
    fn field(&mut self, rings: Rings, grid: &Grid, now: u64) -> usize {
        let known = self.fields.iter().position(|field| field.rings == rings);
        known.unwrap_or_else(|| {
            if self.fields.len() < FIELDS {
                self.fields.push(Field::new(grid, rings, now));
            }
            let last = self.fields.len() - 1;
            self.fields[last].rings = self.fields[last].rings.with(rings);
            last
        })
    }
}

impl Flights {
    pub(in crate::air) fn new(channels: usize, grid: Grid) -> Self {
        Self {
            all: Vec::new(),
            ends: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            grid,
            channels: (0..channels).map(|_| Channel::default()).collect(),
        }
    }

    pub(in crate::air) fn get(&self, id: u16) -> &Flight {
        &self.all[usize::from(id)]
    }

    /// Puts a frame on the air.
    ///
    /// # Panics
    /// If more than 65,534 frames are on the air at the same time.
    pub(in crate::air) fn begin(&mut self, mut flight: Flight) -> u16 {
        let channel = &mut self.channels[usize::from(flight.channel)];
        channel.begun = channel.begun.wrapping_add(1);
        channel.on_air += 1;
        flight.alone = (channel.on_air == 1).then_some(channel.begun);
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(flight);
            self.ends.push(Vec::new());
            self.places.push((0, Place::default()));
            u16::try_from(self.all.len() - 1).expect("at most 65,534 frames at a time")
        });
        self.all[usize::from(id)] = flight;
        channel.order.push_back((flight.start, id));
        let rings = rings(&self.grid, &flight);
        let field = channel.field(rings, &self.grid, flight.start);
        let place = channel.fields[field].begin(&self.grid, &flight);
        self.places[usize::from(id)] = (field, place);
        id
    }

    /// A frame, as the sums over a field's far sources need it.
    pub(in crate::air) fn sight(&self, field: &Field, flight: &Flight) -> Sight {
        let spot = field.spot(&self.grid, &Source::of(flight));
        let is_in_time = spot.start > -EXACT && spot.end < EXACT;
        let (x, y) = self.grid.metres(flight.circle.middle);
        Sight {
            time: (spot.start, spot.end),
            middle: (x as f32, y as f32),
            radius: (flight.circle.radius_mm / 1e3) as f32,
            exact: is_in_time && self.grid.is_within(flight.circle.middle, PRECISE_MM),
        }
    }

    /// Offset of a place east and north of the plan's corner, in m, if single precision resolves it to a
    /// millimetre.
    pub(in crate::air) fn fine(&self, at: Position) -> Option<(f32, f32)> {
        let (x, y) = self.grid.metres(at);
        self.grid.is_within(at, FINE_MM).then_some((x as f32, y as f32))
    }

    /// Sets the length of each frame of an aggregate.
    pub(in crate::air) fn divide(&mut self, id: u16, frames: impl Iterator<Item = u32>) {
        let ends = &mut self.ends[usize::from(id)];
        ends.clear();
        ends.extend(frames.scan(0, |end, bytes| {
            *end += bytes;
            Some(*end)
        }));
    }

    /// Ends of the frames of an aggregate, in bytes. Empty for a single frame.
    pub(in crate::air) fn ends(&self, id: u16) -> &[u32] {
        if self.get(id).count > 1 {
            &self.ends[usize::from(id)]
        } else {
            &[]
        }
    }

    /// Whether nothing else was on the channel from the frame's start until now.
    pub(in crate::air) fn is_alone(&self, id: u16) -> bool {
        let flight = self.get(id);
        flight.alone == Some(self.channels[usize::from(flight.channel)].begun)
    }

    /// Frames on the air of a channel now.
    pub(in crate::air) fn present(&self, channel: u8) -> impl Iterator<Item = (u16, &Flight)> {
        let order = self.channels[usize::from(channel)].order.iter();
        order
            .map(|&(start, id)| (start, id, self.get(id)))
            .filter(|(start, _, flight)| flight.start == *start && !flight.over)
            .map(|(_, id, flight)| (id, flight))
    }

    /// What is or was on the air of a channel, by transmit power.
    pub(in crate::air) fn fields(&self, channel: u8) -> &[Field] {
        &self.channels[usize::from(channel)].fields
    }

    /// What is or was on the air of a channel within that reach of a place, by span of tiles. It may include
    /// sources farther away, sources that ended before any current frame began, and empty places.
    pub(in crate::air) fn around(
        &self,
        channel: u8,
        at: Position,
        reach_mm: i64,
    ) -> impl Iterator<Item = &[Source]> {
        let spans = move |field| self.grid.spans(at, reach_mm).map(move |span| (field, span));
        let spans = self.fields(channel).iter().flat_map(spans);
        spans.map(|(field, span)| field.stretch(self.grid.columns(), span).sources)
    }

    /// As [`Flights::around`], for one field, without tiles that are entirely out of reach.
    pub(in crate::air) fn within<'a>(
        &'a self,
        field: &'a Field,
        at: Position,
        reach_mm: i64,
    ) -> impl Iterator<Item = Stretch<'a>> {
        let spans = self.grid.disc(at, reach_mm).filter(|span| !span.is_empty());
        spans.map(|span| field.stretch(self.grid.columns(), span))
    }

    /// Takes a frame off the air, and forgets those that overlap with no current frame. Its number is free
    /// for the next one.
    pub(in crate::air) fn end(&mut self, id: u16) {
        let flight = &mut self.all[usize::from(id)];
        flight.over = true;
        self.free.push(id);
        let flight = &self.all[usize::from(id)];
        let channel = &mut self.channels[usize::from(flight.channel)];
        channel.on_air -= 1;
        let is_on_air = |&&(start, id): &&(u64, u16)| {
            let flight = &self.all[usize::from(id)];
            flight.start == start && !flight.over
        };
        while channel.order.front().filter(|first| !is_on_air(first)).is_some() {
            channel.order.pop_front();
        }
        let earliest = channel.order.front().map_or(u64::MAX, |&(start, _)| start);
        let (field, place) = self.places[usize::from(id)];
        channel.fields[field].end(place, flight, earliest);
    }
}

/// Beyond this distance from the plan's corner, in mm, single precision is too coarse.
const PRECISE_MM: u64 = 100_000_000;
/// Up to here it counts millimetres.
const FINE_MM: u64 = 16_000_000;

/// The distances at which a frame is near or far. If its place is not precise, it is near everywhere.
fn rings(grid: &Grid, flight: &Flight) -> Rings {
    if grid.is_within(flight.position, PRECISE_MM) {
        flight.rings
    } else {
        Rings::NEAR
    }
}

#[cfg(test)]
#[path = "flight_tests.rs"]
pub(in crate::air) mod tests;
