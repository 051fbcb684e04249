//! Frames on the air, and those that have left it but overlapped with one that has not.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

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
    id: u16,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) position: Position,
    pub(super) milliwatts: f64,
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
    /// How many frames each tile has, those that are over included.
    counts: Vec<u16>,
    on_air: usize,
    /// Frames that have begun, modulo 2³².
    begun: u32,
    /// Frames on the air in the order in which they began, and some that are over: (start, frame).
    order: VecDeque<(u64, u16)>,
}

/// What is on the air in one tile of the plan.
#[derive(Debug, Clone, Default)]
struct Tile {
    /// On the air, and over but not yet forgotten.
    present: Vec<Source>,
    on_air: usize,
}

/// How many frames that are over a tile keeps before looking which of them nobody needs any more.
const KEPT: usize = 1;

impl Flights {
    pub(super) fn new(channels: usize, grid: Grid) -> Self {
        let channel = Channel {
            tiles: vec![Tile::default(); grid.tiles()],
            counts: vec![0; grid.tiles()],
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
        let place = self.grid.tile(flight.position);
        let tile = &mut channel.tiles[place];
        tile.present.push(Source {
            from: flight.from,
            id,
            start: flight.start,
            end: flight.end,
            position: flight.position,
            milliwatts: flight.milliwatts,
        });
        tile.on_air += 1;
        channel.counts[place] = tile.present.len() as u16;
        id
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

    /// Tells of the frames that overlap in time with this one, itself excluded, and that come from a ring around its sender.
    pub(super) fn overlapping(&self, id: u16, ring: usize, mut tell: impl FnMut(&Source)) {
        let flight = self.get(id);
        let (start, end) = (flight.start, flight.end);
        let channel = &self.channels[usize::from(flight.channel)];
        self.grid.spans(self.grid.cell(flight.position), ring, |span| {
            // Most tiles are empty: their counts lie close together.
            for place in span.filter(|&place| channel.counts[place] > 0) {
                for other in &channel.tiles[place].present {
                    if other.start < end && other.end > start && other.id != id {
                        tell(other);
                    }
                }
            }
        });
    }

    /// At least as many frames as overlap with this one and come from a ring around its sender.
    pub(super) fn at_most(&self, id: u16, ring: usize) -> u32 {
        let flight = self.get(id);
        let counts = &self.channels[usize::from(flight.channel)].counts;
        let mut sum = 0;
        self.grid.spans(self.grid.cell(flight.position), ring, |span| {
            sum += counts[span].iter().map(|&count| u32::from(count)).sum::<u32>();
        });
        sum
    }

    pub(super) const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Takes a frame off the air, and forgets what overlaps with nothing that is still on it.
    pub(super) fn end(&mut self, id: u16) {
        let flight = &mut self.all[usize::from(id)];
        flight.over = true;
        let (position, number) = (flight.position, usize::from(flight.channel));
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
        let place = self.grid.tile(position);
        let tile = &mut channel.tiles[place];
        tile.on_air -= 1;
        if tile.on_air == 0 || tile.present.len() > 2 * tile.on_air + KEPT {
            tile.forget(&self.all, earliest, &mut self.free);
            channel.counts[place] = tile.present.len() as u16;
        }
    }
}

impl Tile {
    /// Forgets what was over before `earliest`.
    fn forget(&mut self, all: &[Flight], earliest: u64, free: &mut Vec<u16>) {
        self.present.retain(|source| {
            let kept = source.end > earliest || !all[usize::from(source.id)].over;
            if !kept {
                free.push(source.id);
            }
            kept
        });
    }
}

#[cfg(test)]
#[path = "flight_tests.rs"]
mod tests;
