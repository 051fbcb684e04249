//! `count`, `grid` and `scatter`: one table for many access points or walkers.

use super::names::LONGEST;
use super::place::point;
use crate::plan::Point;
use crate::quantity::Quantity;
use crate::section::Section;
use std::ops::Range;

/// More members would not fit into the memory of a run.
const MOST: i64 = 10_000;

/// How many there are, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub count: usize,
    pub places: Places,
}

/// Where the members of a group are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Places {
    /// All where the table says.
    Same,
    /// In rows from the first corner.
    Grid {
        from: Point,
        columns: usize,
        step: (i64, i64),
    },
    /// Anywhere in a rectangle.
    Scatter { from: Point, to: Point },
}

/// A group that the file has: its name, and the indices of its members.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub name: String,
    pub members: Range<usize>,
}

/// Whether the table gives positions to a group.
pub(super) fn places_members(section: &Section<'_>) -> bool {
    section.has("grid") || section.has("scatter")
}

/// Reads it. `None`: a single thing. `positions` are the keys that give the table itself a position.
pub(super) fn read(section: &Section<'_>, name: &str, positions: &[&'static str]) -> Option<Group> {
    let count = section.count("count", 1..=MOST);
    if !section.has("count") {
        for key in ["grid", "scatter"].into_iter().filter(|key| section.has(key)) {
            let what = format!("`{key}` places the members of a group, and there is no `count`");
            section.note(key, what, "add `count`, or give one place: `at_m = [x, y]`");
        }
    }
    if section.has("grid") && section.has("scatter") {
        section.note("scatter", "`scatter` contradicts `grid`", "keep one of them");
    }
    if places_members(section) {
        for key in positions.iter().copied().filter(|key| section.has(key)) {
            let what = format!("`{key}` contradicts the places of the group");
            section.note(key, what, "keep `grid` or `scatter`, or this key");
        }
    }
    let places = places(section);
    let count = count? as usize;
    let longest = name.len() + 1 + count.to_string().len();
    if longest > LONGEST {
        section.note(
            "count",
            format!("the last member would be \"{name}-{count}\", of {longest} characters"),
            format!("shorten \"{name}\": names have at most {LONGEST} characters"),
        );
    }
    Some(Group { count, places })
}

fn places(section: &Section<'_>) -> Places {
    if let Some(grid) = section.child("grid", format!("`grid` of {}", section.what)) {
        for (key, instead) in [
            ("columns", "`columns = 10`: the number of members in a row"),
            (
                "step_m",
                "`step_m = [20, 20]`: metres between columns and between rows",
            ),
        ] {
            if !grid.has(key) {
                grid.missing(key, instead);
            }
        }
        let places = Places::Grid {
            from: point(&grid, "from_m"),
            columns: grid.count("columns", 1..=MOST).unwrap_or(1) as usize,
            step: grid.pair("step_m", &Quantity::M).unwrap_or_default(),
        };
        grid.finish();
        return places;
    }
    let Some(scatter) = section.child("scatter", format!("`scatter` of {}", section.what)) else {
        return Places::Same;
    };
    let places = Places::Scatter {
        from: point(&scatter, "from_m"),
        to: point(&scatter, "to_m"),
    };
    scatter.finish();
    places
}

impl Group {
    /// The names of its members.
    pub fn names(self, name: &str) -> impl Iterator<Item = String> {
        (1..=self.count).map(move |number| format!("{name}-{number}"))
    }

    /// Where a member is, if its group says so and the seed does not choose it.
    pub fn place(self, member: usize) -> Option<Point> {
        match self.places {
            Places::Same | Places::Scatter { .. } => None,
            Places::Grid { from, columns, step } => Some(Point {
                x_mm: from.x_mm + step.0 * (member % columns) as i64,
                y_mm: from.y_mm + step.1 * (member / columns) as i64,
            }),
        }
    }
}
