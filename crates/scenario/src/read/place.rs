//! `[place]`: walls, words, and how signals fall.

use super::db;
use super::propagation::Spread;
use crate::plan::{Label, Place, Point, Wall};
use crate::quantity::Quantity;
use crate::section::Section;

pub(super) fn read(section: &Section<'_>) -> (Place, Spread) {
    let place = Place {
        walls: section.tables("walls", "wall").iter().map(wall).collect(),
        labels: section.tables("labels", "label").iter().map(label).collect(),
        noises: Vec::new(),
    };
    let spread = Spread::read(section);
    section.finish();
    (place, spread)
}

/// A point of the plan; noted and the origin if it is missing.
pub(super) fn point(section: &Section<'_>, key: &'static str) -> Point {
    if !section.has(key) {
        section.missing(key, &format!("`{key} = [x, y]` in metres east and north"));
    }
    section
        .pair(key, &Quantity::M)
        .map_or_else(Point::default, |(x_mm, y_mm)| Point { x_mm, y_mm })
}

fn wall(section: &Section<'_>) -> Wall {
    if !section.has("loss_db") {
        section.missing(
            "loss_db",
            "`loss_db`: 3.4 for a light wall, 6.9 for a heavy one (COST 231)",
        );
    }
    let wall = Wall {
        from: point(section, "from_m"),
        to: point(section, "to_m"),
        loss: section.amount("loss_db", &Quantity::LOSS_DB).map_or(db(0), db),
    };
    section.finish();
    wall
}

fn label(section: &Section<'_>) -> Label {
    if !section.has("text") {
        section.missing("text", "`text = \"…\"`: the text of the label");
    }
    let label = Label {
        text: section.text("text").unwrap_or_default().to_owned(),
        at: point(section, "at_m"),
    };
    section.finish();
    label
}
