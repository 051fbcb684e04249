use super::*;
use crate::Position;
use crate::air::transmission::flight::tests::flying;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

fn flight(from: u32, position: Position, span: (u64, u64)) -> Flight {
    Flight {
        milliwatts: f64::from(from),
        ..flying(from, position, span)
    }
}

fn grid() -> Grid {
    let corners = [0, 39_000].map(|mm| Position { x_mm: mm, y_mm: mm });
    Grid::new(corners.into_iter(), 20_000)
}

/// The sources in some tiles of a row, in order.
fn present(field: &Field, grid: &Grid, tiles: Range<usize>) -> Vec<u32> {
    let stretch = field.stretch(grid.columns(), tiles);
    assert_eq!(stretch.sources.len(), 4 * stretch.spots.len());
    for (place, source) in stretch.sources.iter().enumerate() {
        let (kept, expected) = (stretch.spots[place / 4].get(place % 4), field.spot(grid, source));
        if source.from == u32::MAX {
            assert_eq!(kept, Spot::NOBODY);
        } else {
            assert_eq!(kept, expected);
        }
    }
    let sources = stretch.sources.iter().map(|source| source.from);
    sources.filter(|&from| from != u32::MAX).collect()
}

proptest! {
    #[test]
    fn every_tile_has_what_began_there_until_it_may_be_forgotten(
        steps in prop::collection::vec((any::<bool>(), 0..40_000_i64, 0..40_000_i64, 1..3_000_000_u64), 1..200),
    ) {
        let grid = grid();
        let mut field = Field::new(&grid, Rings::NEAR, 0);
        let mut now = 0;
        // Sources on the air, and all that were not over before the earliest of these began.
        let (mut on_air, mut needed) = (Vec::<(Flight, Place)>::new(), BTreeMap::<usize, Vec<(u32, u64)>>::new());
        for (number, (begins, x_mm, y_mm, time)) in steps.into_iter().enumerate() {
            now += time;
            if begins || on_air.is_empty() {
                let frame = flight(number as u32, Position { x_mm, y_mm }, (now, now + 1));
                let place = field.begin(&grid, &frame);
                needed.entry(grid.tile(frame.position)).or_default().push((frame.from, u64::MAX));
                on_air.push((frame, place));
            } else {
                let (frame, place) = on_air.remove(x_mm as usize % on_air.len());
                let earliest = on_air.iter().map(|(frame, _)| frame.start).min().unwrap_or(u64::MAX);
                field.end(place, &frame, earliest);
                for (from, end) in needed.values_mut().flatten() {
                    *end = if *from == frame.from { frame.end } else { *end };
                }
                needed.values_mut().for_each(|there| there.retain(|&(_, end)| end > earliest));
            }
            for tile in 0..grid.tiles() {
                let found = present(&field, &grid, tile..tile + 1);
                let expected = needed.get(&tile).cloned().unwrap_or_default();
                prop_assert!(expected.iter().all(|(from, _)| found.contains(from)), "{expected:?} {found:?}");
                prop_assert!(found.is_sorted(), "in the order in which they began: {found:?}");
            }
            for row in (0..grid.tiles()).step_by(grid.columns()) {
                let each = (row..row + grid.columns()).flat_map(|tile| present(&field, &grid, tile..tile + 1));
                prop_assert_eq!(each.collect::<Vec<u32>>(), present(&field, &grid, row..row + grid.columns()));
            }
        }
    }
}

#[test]
fn times_stay_exact_however_long_it_takes() {
    let grid = grid();
    let mut field = Field::new(&grid, Rings::NEAR, 0);
    let hour = 3_600_000_000_000;
    for start in [5, MOVES - 1, MOVES + 7, hour + 13, 1_000 * hour + 1] {
        let frame = flight(1, Position { x_mm: 0, y_mm: 0 }, (start, start + 228_001));
        let place = field.begin(&grid, &frame);
        let spot = field.spot(&grid, &Source::of(&frame));
        assert!(spot.start > -EXACT && spot.end < EXACT);
        assert_eq!(f64::from(spot.end) - f64::from(spot.start), 228_001.0);
        field.end(place, &frame, u64::MAX);
    }
}
