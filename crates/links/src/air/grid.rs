//! The plan cut into tiles, so that only those are asked for interference who are near enough to cause any.
//!
//! # Checked by
//! `tests`.

use crate::Position;

/// Tiles of one size that cover all places; what lies outside belongs to the tile at the edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    corner: Position,
    size_mm: i64,
    columns: i64,
    rows: i64,
}

/// At most this many tiles in each direction: beyond, tiles grow.
const MOST: i64 = 64;

impl Grid {
    /// Covers these places with tiles, so that whoever is nearer than `reach_mm` is in a tile around one's own.
    pub(super) fn new(places: impl Iterator<Item = Position> + Clone, reach_mm: i64) -> Self {
        let (x, y) = (places.clone().map(|at| at.x_mm), places.map(|at| at.y_mm));
        let corner = Position {
            x_mm: x.clone().min().unwrap_or(0),
            y_mm: y.clone().min().unwrap_or(0),
        };
        let width = x.max().unwrap_or(0) - corner.x_mm;
        let height = y.max().unwrap_or(0) - corner.y_mm;
        let size_mm = reach_mm.max(width / MOST + 1).max(height / MOST + 1);
        Self {
            corner,
            size_mm,
            columns: width / size_mm + 1,
            rows: height / size_mm + 1,
        }
    }

    /// How many there are.
    pub(super) const fn tiles(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// The tile of a place.
    pub(super) fn tile(&self, at: Position) -> usize {
        let (column, row) = self.cell(at);
        (row * self.columns + column) as usize
    }

    /// The tile of a place and those around it.
    pub(super) fn around(&self, at: Position) -> impl Iterator<Item = usize> + use<> {
        let ((column, row), columns, rows) = (self.cell(at), self.columns, self.rows);
        let near = move |middle: i64, count: i64| (middle - 1).max(0)..=(middle + 1).min(count - 1);
        near(row, rows)
            .flat_map(move |row| near(column, columns).map(move |column| (row * columns + column) as usize))
    }

    fn cell(&self, at: Position) -> (i64, i64) {
        let place = |offset: i64, count: i64| (offset / self.size_mm).clamp(0, count - 1);
        (
            place(at.x_mm - self.corner.x_mm, self.columns),
            place(at.y_mm - self.corner.y_mm, self.rows),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(x_mm: i64, y_mm: i64) -> Position {
        Position { x_mm, y_mm }
    }

    #[test]
    fn whoever_is_in_reach_is_around() {
        let places = [at(-500, 0), at(9_500, 4_900)];
        let grid = Grid::new(places.into_iter(), 1_000);
        assert_eq!(grid.tiles(), 11 * 5);
        for (x, y) in [(0, 0), (999, 3_333), (9_499, 4_800), (-500, 2_000)] {
            for (dx, dy) in [(1_000, 0), (-1_000, 0), (0, 1_000), (700, -700)] {
                let mut around = grid.around(at(x, y));
                let near = grid.tile(at(x + dx, y + dy));
                assert!(around.any(|tile| tile == near), "{x} {y} {dx} {dy}");
            }
        }
        assert!(!grid.around(at(0, 0)).any(|tile| tile == grid.tile(at(5_000, 0))));
    }

    #[test]
    fn one_place_is_one_tile() {
        let grid = Grid::new([at(3, 3)].into_iter(), 1_000);
        assert_eq!((grid.tiles(), grid.around(at(90_000, 0)).count()), (1, 1));
    }
}
