//! The plan cut into tiles, so that only stations near enough to cause interference are considered.
//!
//! # Checked by
//! `tests`.

use core::ops::Range;

use crate::Position;

/// Tiles of one size that cover all places. A place outside belongs to the tile at the edge.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Grid {
    corner: Position,
    size_mm: i64,
    columns: i64,
    rows: i64,
}

/// At most this many tiles in each direction: for larger plans, tiles grow.
const MOST: i64 = 128;
/// Tiles from a place to the end of its reach. With more tiles, less of what is checked is out of reach, and
/// fewer frames are adjacent in memory.
const FINE: i64 = 2;

impl Grid {
    /// Covers these places with tiles of a size that fits `reach_mm`.
    pub(in crate::air) fn new(places: impl Iterator<Item = Position> + Clone, reach_mm: i64) -> Self {
        let (x, y) = (places.clone().map(|at| at.x_mm), places.map(|at| at.y_mm));
        let corner = Position {
            x_mm: x.clone().min().unwrap_or(0),
            y_mm: y.clone().min().unwrap_or(0),
        };
        let width = x.max().unwrap_or(0) - corner.x_mm;
        let height = y.max().unwrap_or(0) - corner.y_mm;
        let size_mm = (reach_mm / FINE + 1).max(width / MOST + 1).max(height / MOST + 1);
        Self {
            corner,
            size_mm,
            columns: width / size_mm + 1,
            rows: height / size_mm + 1,
        }
    }

    /// How many tiles there are.
    pub(in crate::air) const fn tiles(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// Number of tiles in a row, from west to east.
    pub(in crate::air) const fn columns(&self) -> usize {
        self.columns as usize
    }

    /// Offset of a place east and north of the grid's corner, in m.
    pub(in crate::air) fn metres(&self, at: Position) -> (f64, f64) {
        let (x, y) = (at.x_mm - self.corner.x_mm, at.y_mm - self.corner.y_mm);
        (x as f64 / 1e3, y as f64 / 1e3)
    }

    /// The tile of a place.
    #[cfg(test)]
    pub(in crate::air) fn tile(&self, at: Position) -> usize {
        let (row, column) = self.place(at);
        row * self.columns() + column
    }

    /// The row and the column of a place.
    #[inline]
    pub(in crate::air) fn place(&self, at: Position) -> (usize, usize) {
        (self.row(at.y_mm) as usize, self.column(at.x_mm) as usize)
    }

    /// Whether a place is nearer to the corner than `mm`, on either axis.
    pub(in crate::air) const fn is_within(&self, at: Position, mm: u64) -> bool {
        let (x, y) = (at.x_mm - self.corner.x_mm, at.y_mm - self.corner.y_mm);
        x.unsigned_abs() < mm && y.unsigned_abs() < mm
    }

    /// The tiles that contain every place within that distance, as spans of adjacent tiles.
    #[inline]
    pub(in crate::air) fn spans(&self, at: Position, reach_mm: i64) -> impl Iterator<Item = Range<usize>> {
        let columns = self.column(at.x_mm - reach_mm)..self.column(at.x_mm + reach_mm) + 1;
        let rows = self.row(at.y_mm - reach_mm)..self.row(at.y_mm + reach_mm) + 1;
        let width = self.columns;
        rows.map(move |row| (row * width + columns.start) as usize..(row * width + columns.end) as usize)
    }

    /// As [`Grid::spans`], without corner tiles in which every place is farther away.
    #[inline]
    pub(in crate::air) fn disc(&self, at: Position, reach_mm: i64) -> impl Iterator<Item = Range<usize>> {
        let columns = self.column(at.x_mm - reach_mm)..self.column(at.x_mm + reach_mm) + 1;
        let rows = self.row(at.y_mm - reach_mm)..self.row(at.y_mm + reach_mm) + 1;
        let (x, y) = (at.x_mm - self.corner.x_mm, at.y_mm - self.corner.y_mm);
        let grid = *self;
        rows.map(move |row| {
            let north = gap(y, row, grid.size_mm, grid.rows);
            let is_out = |column: i64| {
                let east = gap(x, column, grid.size_mm, grid.columns);
                east * east + north * north > reach_mm * reach_mm
            };
            let (mut start, mut end) = (columns.start, columns.end);
            while start < end && is_out(start) {
                start += 1;
            }
            while start < end && is_out(end - 1) {
                end -= 1;
            }
            let first = row * grid.columns;
            (first + start) as usize..(first + end) as usize
        })
    }

    const fn column(&self, x_mm: i64) -> i64 {
        place(x_mm - self.corner.x_mm, self.size_mm, self.columns)
    }

    const fn row(&self, y_mm: i64) -> i64 {
        place(y_mm - self.corner.y_mm, self.size_mm, self.rows)
    }
}

const fn place(offset: i64, size: i64, count: i64) -> i64 {
    let place = offset.div_euclid(size);
    if place < 0 {
        0
    } else if place >= count {
        count - 1
    } else {
        place
    }
}

/// Distance of an offset from the nearest one that belongs to a tile. What lies outside the grid belongs to
/// the first tile or to the last.
const fn gap(offset: i64, place: i64, size: i64, count: i64) -> i64 {
    if place > 0 && offset < place * size {
        place * size - offset
    } else if place + 1 < count && offset > (place + 1) * size {
        offset - (place + 1) * size
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const fn at(x_mm: i64, y_mm: i64) -> Position {
        Position { x_mm, y_mm }
    }

    fn tiles(grid: &Grid, from: Position, reach_mm: i64) -> Vec<usize> {
        grid.spans(from, reach_mm).flatten().collect()
    }

    #[test]
    fn whoever_is_in_reach_is_in_one_of_the_tiles() {
        let places = [at(-500, 0), at(95_000, 49_000)];
        let grid = Grid::new(places.into_iter(), 10_000);
        for (x, y) in [(0, 0), (999, 33_333), (94_990, 48_000), (-500, 20_000)] {
            for (dx, dy) in [
                (10_000, 0),
                (-10_000, 0),
                (0, 9_990),
                (7_000, -7_000),
                (3, 2_500),
                (0, 0),
            ] {
                let tile = grid.tile(at(x + dx, y + dy));
                assert!(
                    tiles(&grid, at(x, y), 10_000).contains(&tile),
                    "{x} {y} {dx} {dy}"
                );
            }
        }
        assert!(!tiles(&grid, at(0, 0), 10_000).contains(&grid.tile(at(50_000, 0))));
    }

    #[test]
    fn no_tile_is_told_twice_and_a_long_reach_leaves_none_out() {
        let grid = Grid::new([at(0, 0), at(20_000, 20_000)].into_iter(), 10_000);
        for middle in [at(10_000, 10_000), at(0, 0), at(0, 19_000)] {
            let mut all = tiles(&grid, middle, 100_000);
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), grid.tiles());
            assert_eq!(tiles(&grid, middle, 100_000).len(), grid.tiles());
        }
    }

    #[test]
    fn a_disc_is_what_is_left_of_a_square_without_tiles_that_are_too_far() {
        let grid = Grid::new([at(0, 0), at(100_000, 70_000)].into_iter(), 10_000);
        let reach_mm = 33_000;
        for (middle, cut) in [
            (at(50_000, 35_000), true),
            (at(3_000, 69_000), true),
            // A place outside the plan may be any distance away from it.
            (at(-40_000, 20_000), false),
        ] {
            let disc: Vec<usize> = grid.disc(middle, reach_mm).flatten().collect();
            let square = tiles(&grid, middle, reach_mm);
            assert_eq!(disc.len() < square.len(), cut);
            assert!(disc.iter().all(|tile| square.contains(tile)));
            for step in 0..40_000_i64 {
                // Places in and around the plan, some of them outside of it.
                let place = at(step * 7_919 % 180_000 - 40_000, step * 104_729 % 150_000 - 40_000);
                let (x, y) = (place.x_mm - middle.x_mm, place.y_mm - middle.y_mm);
                let is_near = x * x + y * y <= reach_mm * reach_mm;
                assert!(
                    !is_near || disc.contains(&grid.tile(place)),
                    "{middle:?} {place:?}"
                );
            }
        }
    }

    #[test]
    fn one_place_is_one_tile() {
        let grid = Grid::new([at(3, 3)].into_iter(), 1_000);
        assert_eq!(grid.tiles(), 1);
        assert_eq!(tiles(&grid, at(90_000, 0), 1_000), [0]);
    }
}
