//! Frames on the air, and those that have left it but overlapped with one that has not.

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
    /// Frames in it: more than one is an aggregate.
    pub(in crate::air) count: u32,
    /// What it acknowledges of an aggregate.
    pub(in crate::air) got: u64,
    /// Where its sender stands.
    pub(in crate::air) position: Position,
    /// Where those stand who hear it.
    pub(in crate::air) circle: Circle,
    pub(in crate::air) milliwatts: f64,
    /// Where it is near and where far, for others' frames.
    pub(in crate::air) rings: Rings,
    pub(in crate::air) start: u64,
    /// When the payload begins: preamble and header are over.
    pub(in crate::air) payload: u64,
    pub(in crate::air) end: u64,
    /// Until when it reserves the medium.
    pub(in crate::air) nav: u64,
    /// Everybody who hears it receives it, unless something else is on the air.
    pub(in crate::air) sure: bool,
    /// It had the channel to itself so far, as its place in the channel's count of frames.
    pub(in crate::air) alone: Option<u32>,
    pub(in crate::air) over: bool,
}

/// What a receiver must know of a frame that disturbs another, kept where it is looked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Source {
    pub(in crate::air) from: u32,
    /// It is over, and told of because it overlaps with what is not.
    pub(in crate::air) over: bool,
    pub(in crate::air) start: u64,
    pub(in crate::air) end: u64,
    pub(in crate::air) position: Position,
    pub(in crate::air) milliwatts: f64,
}

impl Source {
    /// A place that nobody takes.
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

    /// As sums of far sources see it where times are counted from `since` on.
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

    /// How long it was on the air together with a frame.
    pub(in crate::air) fn beside(&self, flight: &Flight) -> u64 {
        self.end
            .min(flight.end)
            .saturating_sub(self.start.max(flight.start))
    }

    /// Whether it disturbs a frame: it was on the air with it, and is not that frame itself (nobody has two frames on the air).
    pub(in crate::air) fn disturbs(&self, flight: &Flight) -> bool {
        self.from != flight.from && self.beside(flight) > 0
    }
}

/// All frames of all channels.
#[derive(Debug)]
pub(in crate::air) struct Flights {
    all: Vec<Flight>,
    /// Where the frames of each aggregate end, in bytes.
    ends: Vec<Vec<u32>>,
    /// In which of its channel's fields each frame is, and where there.
    places: Vec<(usize, Place)>,
    free: Vec<u16>,
    grid: Grid,
    /// By channel number.
    channels: Vec<Channel>,
}

#[derive(Debug, Default)]
struct Channel {
    /// What it was sent with decides about the field.
    fields: Vec<Field>,
    on_air: usize,
    /// Frames that have begun, modulo 2³².
    begun: u32,
    /// Frames on the air in the order in which they began, and some that are over: (start, frame).
    order: VecDeque<(u64, u16)>,
}

/// Fields of a channel at most: powers beyond share one, which takes whatever may be near for near.
const FIELDS: usize = 5;

impl Channel {
    /// The place of the field for what has these rings.
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

    /// A frame as sums of far sources of a field see it.
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

    /// How far east and north of the plan's corner a place is, in m, if single precision tells it to a millimetre.
    pub(in crate::air) fn fine(&self, at: Position) -> Option<(f32, f32)> {
        let (x, y) = self.grid.metres(at);
        self.grid.is_within(at, FINE_MM).then_some((x as f32, y as f32))
    }

    /// Says how long each frame of an aggregate is.
    pub(in crate::air) fn divide(&mut self, id: u16, frames: impl Iterator<Item = u32>) {
        let ends = &mut self.ends[usize::from(id)];
        ends.clear();
        ends.extend(frames.scan(0, |end, bytes| {
            *end += bytes;
            Some(*end)
        }));
    }

    /// Where the frames of an aggregate end, in bytes; nothing for what is none.
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

    /// What is on the air of a channel now.
    pub(in crate::air) fn present(&self, channel: u8) -> impl Iterator<Item = (u16, &Flight)> {
        let order = self.channels[usize::from(channel)].order.iter();
        order
            .map(|&(start, id)| (start, id, self.get(id)))
            .filter(|(start, _, flight)| flight.start == *start && !flight.over)
            .map(|(_, id, flight)| (id, flight))
    }

    /// What is or was on a channel's air, by what it was sent with.
    pub(in crate::air) fn fields(&self, channel: u8) -> &[Field] {
        &self.channels[usize::from(channel)].fields
    }

    /// What is or was on a channel's air within that reach of a place, span by span of tiles: some of it is farther away, some of it was over
    /// before anything that is on the air now began, some is nobody.
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

    /// As [`Flights::around`], of one field, without tiles of which no part is that near.
    pub(in crate::air) fn within<'a>(
        &'a self,
        field: &'a Field,
        at: Position,
        reach_mm: i64,
    ) -> impl Iterator<Item = Stretch<'a>> {
        let spans = self.grid.disc(at, reach_mm).filter(|span| !span.is_empty());
        spans.map(|span| field.stretch(self.grid.columns(), span))
    }

    /// Takes a frame off the air, and forgets what overlaps with nothing that is still on it. Its number is free for the next one.
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

/// Beyond this many millimetres from the plan's corner single precision is too coarse.
const PRECISE_MM: u64 = 100_000_000;
/// Up to here it counts millimetres.
const FINE_MM: u64 = 16_000_000;

/// Where a frame is near and where far: near everywhere if its place is not precise.
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
