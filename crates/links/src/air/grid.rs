//! The plan cut into tiles, so that only those are asked for interference who are near enough to cause any, and the nearest first.
//!
//! # Checked by
//! `tests`.

use core::ops::Range;

use crate::Position;

/// Tiles of one size that cover all places; what lies outside belongs to the tile at the edge.
///
/// The tiles around a place come in rings: ring 0 is its own tile and those that touch it, every further ring surrounds the one before. From
/// a place to whatever lies in ring `k` it is at least `k` times the size of a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    corner: Position,
    size_mm: i64,
    columns: i64,
    rows: i64,
    rings: i64,
}

/// At most this many tiles in each direction: beyond, tiles grow.
const MOST: i64 = 128;
/// Tiles from a place to the end of its reach: the more there are, the less of what is looked at is out of reach, and the more tiles are
/// empty.
const FINE: i64 = 8;

impl Grid {
    /// Covers these places with tiles, so that whoever is nearer than `reach_mm` is in one of the rings around one's own.
    pub(super) fn new(places: impl Iterator<Item = Position> + Clone, reach_mm: i64) -> Self {
        let (x, y) = (places.clone().map(|at| at.x_mm), places.map(|at| at.y_mm));
        let corner = Position {
            x_mm: x.clone().min().unwrap_or(0),
            y_mm: y.clone().min().unwrap_or(0),
        };
        let width = x.max().unwrap_or(0) - corner.x_mm;
        let height = y.max().unwrap_or(0) - corner.y_mm;
        let size_mm = (reach_mm / FINE + 1).max(width / MOST + 1).max(height / MOST + 1);
        let (columns, rows) = (width / size_mm + 1, height / size_mm + 1);
        let in_reach = reach_mm / size_mm + 1;
        Self {
            corner,
            size_mm,
            columns,
            rows,
            rings: in_reach.min(columns.max(rows) - 1).max(1),
        }
    }

    /// How many tiles there are.
    pub(super) const fn tiles(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// How many rings are in reach.
    pub(super) const fn rings(&self) -> usize {
        self.rings as usize
    }

    /// How near a place in a ring can be, in mm.
    pub(super) const fn nearest_mm(&self, ring: usize) -> i64 {
        ring as i64 * self.size_mm
    }

    /// How many tiles two places can be apart at most that are no farther from each other than that.
    pub(super) const fn across(&self, mm: i64) -> usize {
        (mm / self.size_mm + 1) as usize
    }

    /// The tile of a place.
    pub(super) fn tile(&self, at: Position) -> usize {
        let (column, row) = self.cell(at);
        (row * self.columns + column) as usize
    }

    /// The tiles of a ring around a cell, in spans of tiles that lie side by side.
    #[inline]
    pub(super) fn spans(&self, (column, row): Cell, ring: usize, mut tell: impl FnMut(Range<usize>)) {
        let far = ring as i64 + 1;
        let (left, right) = (column - far, column + far);
        for other in (row - far).max(0)..=(row + far).min(self.rows - 1) {
            let tile = |x: i64| (other * self.columns + x) as usize;
            if ring == 0 || (other - row).abs() == far {
                tell(tile(left.max(0))..tile(right.min(self.columns - 1)) + 1);
                continue;
            }
            // A row through the middle has only its two ends in the ring.
            if left >= 0 {
                tell(tile(left)..tile(left) + 1);
            }
            if right < self.columns {
                tell(tile(right)..tile(right) + 1);
            }
        }
    }

    /// How many rings the tiles of two places are apart: who is in ring `k` around one is at least in ring `k` less so many around the other.
    pub(super) fn apart(&self, one: Position, other: Position) -> usize {
        let (one, other) = (self.cell(one), self.cell(other));
        (one.0 - other.0).abs().max((one.1 - other.1).abs()) as usize
    }

    /// Where the tile of a place is.
    pub(super) fn cell(&self, at: Position) -> Cell {
        let place = |offset: i64, count: i64| (offset / self.size_mm).clamp(0, count - 1);
        (
            place(at.x_mm - self.corner.x_mm, self.columns),
            place(at.y_mm - self.corner.y_mm, self.rows),
        )
    }
}

/// Column and row of a tile.
type Cell = (i64, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const fn at(x_mm: i64, y_mm: i64) -> Position {
        Position { x_mm, y_mm }
    }

    fn tiles(grid: &Grid, from: Position, ring: usize) -> Vec<usize> {
        let mut tiles = Vec::new();
        grid.spans(grid.cell(from), ring, |span| tiles.extend(span));
        tiles
    }

    /// The ring in which a place lies as seen from another; `None`: out of reach.
    fn ring_of(grid: &Grid, from: Position, to: Position) -> Option<usize> {
        let tile = grid.tile(to);
        (0..grid.rings()).find(|&ring| tiles(grid, from, ring).contains(&tile))
    }

    #[test]
    fn whoever_is_in_reach_is_in_a_ring_that_is_not_farther() {
        let places = [at(-500, 0), at(95_000, 49_000)];
        let grid = Grid::new(places.into_iter(), 10_000);
        assert_eq!(grid.rings(), 8);
        for (x, y) in [(0, 0), (999, 33_333), (94_990, 48_000), (-500, 20_000)] {
            for (dx, dy) in [
                (10_000, 0),
                (-10_000, 0),
                (0, 9_990),
                (7_000, -7_000),
                (3, 2_500),
                (0, 0),
            ] {
                let (from, to) = (at(x, y), at(x + dx, y + dy));
                let ring = ring_of(&grid, from, to).expect("in reach");
                assert!(
                    grid.nearest_mm(ring) <= dx.abs().max(dy.abs()),
                    "{x} {y} {dx} {dy}: {ring}"
                );
            }
        }
        assert_eq!(ring_of(&grid, at(0, 0), at(50_000, 0)), None);
    }

    #[test]
    fn rings_are_disjoint_and_leave_nothing_out() {
        let grid = Grid::new([at(0, 0), at(20_000, 20_000)].into_iter(), 10_000);
        for middle in [at(10_000, 10_000), at(0, 0), at(0, 19_000)] {
            let mut all: Vec<usize> = (0..20).flat_map(|ring| tiles(&grid, middle, ring)).collect();
            assert_eq!(all.len(), grid.tiles());
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), grid.tiles());
        }
    }

    #[test]
    fn one_place_is_one_tile() {
        let grid = Grid::new([at(3, 3)].into_iter(), 1_000);
        assert_eq!((grid.tiles(), grid.rings()), (1, 1));
        assert_eq!(tiles(&grid, at(90_000, 0), 0), [0]);
    }
}
