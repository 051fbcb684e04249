//! Frames on the air, and those that have left it but overlapped with one that has not.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::far::{Rings, Spot, Spots};
use super::grid::Grid;
use super::io::Kind;
use super::mode::Mode;
use crate::Position;

/// One frame on the air.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub(super) from: u32,
    /// `None`: to everybody.
    pub(super) to: Option<u32>,
    pub(super) kind: Kind,
    pub(super) mode: Mode,
    pub(super) channel: u8,
    pub(super) bytes: u32,
    /// Frames in it: more than one is an aggregate.
    pub(super) count: u32,
    /// What it acknowledges of an aggregate.
    pub(super) got: u64,
    /// Where its sender stands.
    pub(super) position: Position,
    pub(super) milliwatts: f64,
    /// Where it is near and where far, for others' frames.
    pub(super) rings: Rings,
    pub(super) start: u64,
    /// When the payload begins: preamble and header are over.
    pub(super) payload: u64,
    pub(super) end: u64,
    /// Until when it reserves the medium.
    pub(super) nav: u64,
    /// Everybody who hears it receives it, unless something else is on the air.
    pub(super) sure: bool,
    /// It had the channel to itself so far, as its place in the channel's count of frames.
    pub(super) alone: Option<u32>,
    pub(super) over: bool,
}

/// What a receiver must know of a frame that disturbs another, kept where it is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) from: u32,
    /// It is over, and told of because it overlaps with what is not.
    over: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) position: Position,
    pub(super) milliwatts: f64,
}

impl Source {
    /// How long it was on the air together with a frame.
    pub(super) fn beside(&self, flight: &Flight) -> u64 {
        self.end
            .min(flight.end)
            .saturating_sub(self.start.max(flight.start))
    }

    /// Whether it disturbs a frame: it was on the air with it, and is not that frame itself (nobody has two frames on the air).
    pub(super) fn disturbs(&self, flight: &Flight) -> bool {
        self.from != flight.from && self.beside(flight) > 0
    }
}

/// All frames of all channels.
#[derive(Debug)]
pub(super) struct Flights {
    all: Vec<Flight>,
    /// Where the frames of each aggregate end, in bytes.
    ends: Vec<Vec<u32>>,
    free: Vec<u16>,
    grid: Grid,
    /// By channel number.
    channels: Vec<Channel>,
}

#[derive(Debug, Clone, Default)]
struct Channel {
    tiles: Vec<Tile>,
    on_air: usize,
    /// Frames that have begun, modulo 2³².
    begun: u32,
    /// Frames on the air in the order in which they began, and some that are over: (start, frame).
    order: VecDeque<(u64, u16)>,
}

/// What is on the air in one tile of the plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Tile {
    /// On the air, and over but not yet forgotten.
    pub(super) present: Vec<Source>,
    /// The same, four by four.
    spots: Vec<Spots>,
    on_air: usize,
}

/// How many frames that are over a tile keeps before looking which of them nobody needs any more.
const KEPT: usize = 1;

impl Flights {
    pub(super) fn new(channels: usize, grid: Grid) -> Self {
        let channel = Channel {
            tiles: vec![Tile::default(); grid.tiles()],
            ..Channel::default()
        };
        Self {
            all: Vec::new(),
            ends: Vec::new(),
            free: Vec::new(),
            grid,
            channels: vec![channel; channels],
        }
    }

    pub(super) fn get(&self, id: u16) -> &Flight {
        &self.all[usize::from(id)]
    }

    /// Puts a frame on the air.
    ///
    /// # Panics
    /// If more than 65,534 frames are on the air at the same time.
    pub(super) fn begin(&mut self, mut flight: Flight) -> u16 {
        let channel = &mut self.channels[usize::from(flight.channel)];
        channel.begun = channel.begun.wrapping_add(1);
        channel.on_air += 1;
        flight.alone = (channel.on_air == 1).then_some(channel.begun);
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(flight);
            self.ends.push(Vec::new());
            u16::try_from(self.all.len() - 1).expect("at most 65,534 frames at a time")
        });
        self.all[usize::from(id)] = flight;
        channel.order.push_back((flight.start, id));
        let spot = spot(&self.grid, &flight);
        channel.tiles[self.grid.tile(flight.position)].add(&flight, &spot);
        id
    }

    /// A frame as sums of far sources see it.
    pub(super) fn spot(&self, flight: &Flight) -> Spot {
        spot(&self.grid, flight)
    }

    /// Says how long each frame of an aggregate is.
    pub(super) fn divide(&mut self, id: u16, frames: impl Iterator<Item = u32>) {
        let ends = &mut self.ends[usize::from(id)];
        ends.clear();
        ends.extend(frames.scan(0, |end, bytes| {
            *end += bytes;
            Some(*end)
        }));
    }

    /// Where the frames of an aggregate end, in bytes; nothing for what is none.
    pub(super) fn ends(&self, id: u16) -> &[u32] {
        if self.get(id).count > 1 {
            &self.ends[usize::from(id)]
        } else {
            &[]
        }
    }

    /// Whether nothing else was on the channel from the frame's start until now.
    pub(super) fn is_alone(&self, id: u16) -> bool {
        let flight = self.get(id);
        flight.alone == Some(self.channels[usize::from(flight.channel)].begun)
    }

    /// What is on the air of a channel now.
    pub(super) fn present(&self, channel: u8) -> impl Iterator<Item = (u16, &Flight)> {
        let order = self.channels[usize::from(channel)].order.iter();
        order
            .map(|&(start, id)| (start, id, self.get(id)))
            .filter(|(start, _, flight)| flight.start == *start && !flight.over)
            .map(|(_, id, flight)| (id, flight))
    }

    /// What is or was on a channel's air within that reach of a place, tile by tile: some of it is farther away, some of it was over before
    /// anything that is on the air now began.
    pub(super) fn around(
        &self,
        channel: u8,
        at: Position,
        reach_mm: i64,
    ) -> impl Iterator<Item = (&[Source], &[Spots])> {
        let channel = &self.channels[usize::from(channel)];
        let tiles = self
            .grid
            .spans(at, reach_mm)
            .flat_map(|span| &channel.tiles[span]);
        tiles.map(|tile| (tile.present.as_slice(), tile.spots.as_slice()))
    }

    /// As [`Flights::around`], in spans of tiles that lie side by side, without those of which no part is that near.
    pub(super) fn within(&self, channel: u8, at: Position, reach_mm: i64) -> impl Iterator<Item = &[Tile]> {
        let channel = &self.channels[usize::from(channel)];
        let spans = self.grid.disc(at, reach_mm);
        spans.map(|span| &channel.tiles[span])
    }

    /// Takes a frame off the air, and forgets what overlaps with nothing that is still on it. Its number is free for the next one.
    pub(super) fn end(&mut self, id: u16) {
        let flight = &mut self.all[usize::from(id)];
        flight.over = true;
        self.free.push(id);
        let (from, position, number) = (flight.from, flight.position, usize::from(flight.channel));
        let channel = &mut self.channels[number];
        channel.on_air -= 1;
        let is_on_air = |&&(start, id): &&(u64, u16)| {
            let flight = &self.all[usize::from(id)];
            flight.start == start && !flight.over
        };
        while channel.order.front().filter(|first| !is_on_air(first)).is_some() {
            channel.order.pop_front();
        }
        let earliest = channel.order.front().map_or(u64::MAX, |&(start, _)| start);
        let tile = &mut channel.tiles[self.grid.tile(position)];
        tile.end(from);
        if tile.on_air == 0 || tile.present.len() > 2 * tile.on_air + KEPT {
            tile.forget(earliest);
        }
    }
}

/// Beyond this many metres from the plan's corner single precision is too coarse.
const PRECISE: f64 = 1e5;

fn spot(grid: &Grid, flight: &Flight) -> Spot {
    let (x, y) = grid.metres(flight.position);
    let precise = x.abs().max(y.abs()) < PRECISE;
    Spot {
        start: flight.start as f64,
        end: flight.end as f64,
        place: (x as f32, y as f32),
        milliwatts: flight.milliwatts as f32,
        rings: if precise { flight.rings } else { Rings::NEAR },
    }
}

impl AsRef<[Spots]> for Tile {
    fn as_ref(&self) -> &[Spots] {
        &self.spots
    }
}

impl Tile {
    fn add(&mut self, flight: &Flight, spot: &Spot) {
        let place = self.present.len();
        if place / 4 == self.spots.len() {
            self.spots.push(Spots::NOBODY);
        }
        self.spots[place / 4].set(place % 4, spot);
        self.present.push(Source {
            from: flight.from,
            over: false,
            start: flight.start,
            end: flight.end,
            position: flight.position,
            milliwatts: flight.milliwatts,
        });
        self.on_air += 1;
    }

    /// The frame of this sender is over.
    fn end(&mut self, from: u32) {
        self.on_air -= 1;
        let mut latest = self.present.iter_mut().rev();
        if let Some(source) = latest.find(|source| source.from == from) {
            source.over = true;
        }
    }

    /// Forgets what was over before `earliest`.
    fn forget(&mut self, earliest: u64) {
        let mut kept = 0;
        for place in 0..self.present.len() {
            let source = self.present[place];
            if source.end > earliest || !source.over {
                if kept < place {
                    let spot = self.spots[place / 4].get(place % 4);
                    self.spots[kept / 4].set(kept % 4, &spot);
                    self.present[kept] = source;
                }
                kept += 1;
            }
        }
        (kept..self.present.len()).for_each(|place| self.spots[place / 4].clear(place % 4));
        self.present.truncate(kept);
        self.spots.truncate(kept.div_ceil(4));
    }
}

#[cfg(test)]
#[path = "flight_tests.rs"]
mod tests;
