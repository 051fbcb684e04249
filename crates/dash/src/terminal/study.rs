//! The figures of many runs as an aligned table.

use super::Paint;
use crate::study::Study;
use show::paint::Look;
use show::{Cell, Table};
use std::fmt::Write;
use trace::{PlayDocument, Shown, wrapped};

/// Renders the table in `width` columns. `about` says what the scenario shows.
pub fn study(document: &PlayDocument, about: &str, paint: Paint, width: usize) -> String {
    let figures = Study::of(document).table();
    let header: Vec<&str> = figures.header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header)
        .numbers(figures.texts..header.len())
        .ruled()
        .painted(paint);
    for row in &figures.rows {
        table.cells(row.iter().map(|cell| Cell::new(cell, Look::Plain)));
    }
    let mut out = wrapped(&Shown(about).to_string(), width);
    let _ = write!(
        out,
        "\n{}\n{} runs in {:.1} s\n",
        table.fitted(width),
        document.runs.len(),
        document.wall_s
    );
    out
}
