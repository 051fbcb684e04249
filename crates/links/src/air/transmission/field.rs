//! What is on the air of one channel, by place. The sources of a row of tiles are adjacent in memory, four by
//! four, tile after tile, so summing them reads memory sequentially.
//!
//! # Where we differ, and why
//! 1. Times are kept in single precision, relative to an origin that moves along. Within [`EXACT`] of it,
//!    nanoseconds are exact. What begins or ends farther away does so outside of any frame that is weighed
//!    with this.
//!
//! # Checked by
//! `tests`: what is found against what was put in. `flight`'s and `far`'s tests.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::far::{Rings, Spot, Spots};
use super::flight::{Flight, Source};
use crate::air::place::grid::Grid;

/// Single precision counts nanoseconds exactly up to here.
pub(super) const EXACT: f32 = 16_777_216.0;
/// After this many ns the time origin moves: long before times become inexact.
const MOVES: u64 = 1 << 23;

/// All that has been sent with powers of about the same reach.
#[derive(Debug)]
pub(in crate::air) struct Field {
    /// The near and far distances of its sources: those of each, or the widest possible.
    pub(in crate::air) rings: Rings,
    /// The origin of times.
    since: u64,
    rows: Vec<Row>,
}

/// A row of tiles from west to east.
#[derive(Debug, Clone)]
struct Row {
    tiles: Vec<Tile>,
    spots: Vec<Spots>,
    /// The same sources, one by one.
    sources: Vec<Source>,
}

/// Number of sources in a tile: on the air, and over but not yet forgotten.
#[derive(Debug, Clone, Copy, Default)]
struct Tile {
    /// Index of its first four in the row.
    first: u32,
    present: u32,
    on_air: u32,
}

/// The tile of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::air) struct Place {
    row: usize,
    column: usize,
}

/// Number of finished frames that a tile keeps before it checks which are still needed.
const KEPT: u32 = 1;

/// Sources of adjacent tiles.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Stretch<'a> {
    pub(in crate::air) rings: &'a Rings,
    pub(in crate::air) spots: &'a [Spots],
    /// Four for each of the spots. Some are empty.
    pub(in crate::air) sources: &'a [Source],
}

impl Field {
    pub(in crate::air) fn new(grid: &Grid, rings: Rings, since: u64) -> Self {
        let row = Row {
            // One more tile marks the end of the last one.
            tiles: vec![Tile::default(); grid.columns() + 1],
            spots: Vec::new(),
            sources: Vec::new(),
        };
        Self {
            rings,
            since,
            rows: vec![row; grid.tiles() / grid.columns()],
        }
    }

    /// A source, as the sums of this field need it.
    pub(in crate::air) fn spot(&self, grid: &Grid, source: &Source) -> Spot {
        source.spot(grid, self.since)
    }

    /// Adds a frame. Returns its tile, for its end.
    pub(in crate::air) fn begin(&mut self, grid: &Grid, flight: &Flight) -> Place {
        if flight.start.abs_diff(self.since) > MOVES {
            self.count_from(flight.start, grid);
        }
        let (row, column) = grid.place(flight.position);
        let source = Source::of(flight);
        self.rows[row].add(column, source, &source.spot(grid, self.since));
        Place { row, column }
    }

    /// Ends a frame. What was over before `earliest` may be forgotten.
    pub(in crate::air) fn end(&mut self, place: Place, flight: &Flight, earliest: u64) {
        let (row, column) = (&mut self.rows[place.row], place.column);
        let tile = row.tiles[column];
        if tile.present == 1 && flight.end <= earliest {
            // The common case if no other source is in the tile.
            row.put(4 * tile.first as usize, Source::NOBODY, &Spot::NOBODY);
            (row.tiles[column].present, row.tiles[column].on_air) = (0, 0);
            return;
        }
        row.end(column, flight.from);
        let tile = row.tiles[column];
        if tile.on_air == 0 || tile.present > 2 * tile.on_air + KEPT {
            row.forget(column, earliest);
        }
    }

    /// The sources in some tiles of a row.
    pub(in crate::air) fn stretch(&self, columns: usize, tiles: Range<usize>) -> Stretch<'_> {
        // Divided as 32-bit numbers, which takes a third of the time.
        let number = tiles.start as u32 / columns as u32;
        let row = &self.rows[number as usize];
        let fours = row.fours(tiles.start - number as usize * columns, tiles.len());
        Stretch {
            rings: &self.rings,
            spots: &row.spots[fours.clone()],
            sources: &row.sources[4 * fours.start..4 * fours.end],
        }
    }

    fn count_from(&mut self, since: u64, grid: &Grid) {
        self.since = since;
        for row in &mut self.rows {
            let sources = row.sources.iter().enumerate();
            for (place, source) in sources.filter(|(_, source)| source.from != u32::MAX) {
                row.spots[place / 4].set(place % 4, &source.spot(grid, since));
            }
        }
    }
}

impl Row {
    fn fours(&self, column: usize, columns: usize) -> Range<usize> {
        self.tiles[column].first as usize..self.tiles[column + columns].first as usize
    }

    fn put(&mut self, place: usize, source: Source, spot: &Spot) {
        self.spots[place / 4].set(place % 4, spot);
        self.sources[place] = source;
    }

    fn add(&mut self, column: usize, source: Source, spot: &Spot) {
        let fours = self.fours(column, 1);
        let place = 4 * fours.start + self.tiles[column].present as usize;
        if place == 4 * fours.end {
            self.spots.insert(fours.end, Spots::NOBODY);
            self.sources.splice(place..place, [Source::NOBODY; 4]);
            self.tiles[column + 1..]
                .iter_mut()
                .for_each(|tile| tile.first += 1);
        }
        self.put(place, source, spot);
        self.tiles[column].present += 1;
        self.tiles[column].on_air += 1;
    }

    /// The frame of this sender ends.
    fn end(&mut self, column: usize, from: u32) {
        let tile = &mut self.tiles[column];
        tile.on_air -= 1;
        let first = 4 * tile.first as usize;
        let present = &mut self.sources[first..first + tile.present as usize];
        if let Some(source) = present.iter_mut().rev().find(|source| source.from == from) {
            source.over = true;
        }
    }

    /// Forgets what was over before `earliest`.
    fn forget(&mut self, column: usize, earliest: u64) {
        let fours = self.fours(column, 1);
        let first = 4 * fours.start;
        let mut kept = first;
        for place in first..first + self.tiles[column].present as usize {
            let source = self.sources[place];
            if source.end > earliest || !source.over {
                if kept < place {
                    let spot = self.spots[place / 4].get(place % 4);
                    self.put(kept, source, &spot);
                }
                kept += 1;
            }
        }
        for place in kept..first + self.tiles[column].present as usize {
            self.put(place, Source::NOBODY, &Spot::NOBODY);
        }
        self.tiles[column].present = (kept - first) as u32;
        // Where one source was, another is likely to follow.
        let left = kept.div_ceil(4).max(fours.start + 1);
        let gone = fours.end - left;
        if gone > 0 {
            self.spots.drain(left..fours.end);
            self.sources.drain(4 * left..4 * fours.end);
            let later = &mut self.tiles[column + 1..];
            later.iter_mut().for_each(|tile| tile.first -= gone as u32);
        }
    }
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;
