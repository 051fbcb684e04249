//! Published results beside ours: the document of `papers --json`.

use crate::PapersSchema;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The output of `slowhand papers`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PapersDocument {
    /// Name and version of this format.
    pub schema: PapersSchema,
    /// Every claim of every figure that was run.
    pub claims: Vec<Claim>,
    /// Ours beside the published points.
    pub figures: Vec<PaperFigure>,
    /// Wall time of all of it, in seconds.
    pub wall_s: f64,
}

/// Something that must hold, and whether it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The folder in `papers/`.
    pub id: String,
    /// Its name in that folder.
    pub name: String,
    /// What kind of statement it is.
    pub kind: ClaimKind,
    /// The statement.
    pub claim: String,
    /// What the paper has, by the names of figures.
    pub published: BTreeMap<String, f64>,
    /// What ours has.
    pub ours: BTreeMap<String, f64>,
    /// Whether it holds.
    pub holds: bool,
    /// The tolerance and its reason; if it does not hold, what is known of the cause.
    pub note: String,
}

words! {
    /// Kinds of claim.
    ClaimKind is "kind of claim" {
        /// A ranking, or where a curve turns.
        Order = "order",
        /// How much larger or smaller one figure is than another.
        Ratio = "ratio",
        /// The value itself.
        Number = "number",
    }
}

/// One figure or table, drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperFigure {
    /// The folder in `papers/`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: String,
    /// Label of the vertical axis, with its unit.
    pub y: String,
    /// The curves.
    pub series: Vec<PaperSeries>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperSeries {
    /// Its name.
    pub name: String,
    /// Whether these are the paper's points; otherwise they are ours.
    pub published: bool,
    /// Whether the paper has one value for all of it, between the ends of which there is no point.
    #[serde(default)]
    pub level: bool,
    /// Its points, from left to right.
    pub points: Vec<[f64; 2]>,
}
