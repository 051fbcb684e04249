//! The result as an aligned table.

use super::{Paint, bar};
use crate::figures::{BUFFERED, COLUMNS, Row, rows};
use crate::words::headline;
use show::paint::Look;
use show::{Cell, Table};
use std::fmt::Write;
use trace::{PlayDocument, Shown, wrapped};

const BAR_CELLS: usize = 12;

/// Renders headline, table and notes, without a width limit.
pub fn table(document: &PlayDocument, paint: Paint) -> String {
    fitted(document, paint, usize::MAX)
}

/// Renders the same in `width` columns. Sentences are wrapped. If the table does not fit, each row becomes a
/// block of lines.
pub fn fitted(document: &PlayDocument, paint: Paint, width: usize) -> String {
    let rows = rows(document);
    let headline = wrapped(&headline(document), width);
    let headline = paint.apply(Look::Strong, headline.trim_end());
    let footer = wrapped(&footer(document, &rows), width);
    let with_bars = results(&rows, true);
    let figures = if with_bars.width() <= width {
        with_bars
    } else {
        results(&rows, false)
    };
    let figures = figures.painted(paint).fitted(width);
    format!("{headline}\n\n{figures}{}{footer}", buffered(&rows, paint, width))
}

/// The figures of every run. `bars`: with a bar for its goodput.
fn results(rows: &[Row<'_>], bars: bool) -> Table {
    let bar_header = bars.then_some("");
    let header: Vec<&str> = ["policy"].into_iter().chain(COLUMNS).chain(bar_header).collect();
    let mut table = Table::new(&header).numbers(1..1 + COLUMNS.len()).ruled();
    let goodputs = rows.iter().map(|row| row.figures.goodput_mbps);
    let most = goodputs.fold(f64::MIN_POSITIVE, f64::max);
    for row in rows {
        let cells = row.cells();
        let figures = cells.iter().enumerate().map(|(column, cell)| {
            let look = if row.alarming(column) {
                Look::Alarm
            } else {
                Look::Plain
            };
            Cell::new(cell, look)
        });
        let bar = bar(row.figures.goodput_mbps / most, BAR_CELLS);
        let bar = bars.then(|| Cell::new(bar.trim_end(), bar_look(row)));
        let name = Cell::new(&row.label, name_look(row));
        table.cells([name].into_iter().chain(figures).chain(bar));
    }
    table
}

/// Table of mean buffer levels. Empty if no run recorded them.
fn buffered(rows: &[Row<'_>], paint: Paint, width: usize) -> String {
    let [queue, window, held] = BUFFERED;
    let mut table = Table::new(&["policy", queue, window, held]).numbers(1..4);
    let levels: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((&row.label, row.buffered()?)))
        .collect();
    for (label, [queue, window, held]) in &levels {
        table.row([label, queue, window, held]);
    }
    if levels.is_empty() {
        return String::new();
    }
    let title = paint.apply(Look::Soft, "buffered (means)");
    format!("\n{title}\n{}", table.painted(paint).fitted(width))
}

fn name_look(row: &Row<'_>) -> Look {
    match (row.run.policy.is_ours(), row.run.policy.is_computed()) {
        (true, _) => Look::Strong,
        (_, true) => Look::Soft,
        _ => Look::Plain,
    }
}

fn bar_look(row: &Row<'_>) -> Look {
    if row.run.policy.is_ours() {
        Look::Good
    } else {
        Look::Soft
    }
}

fn footer(document: &PlayDocument, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for row in rows.iter().filter(|row| !row.run.policy.is_computed()) {
        for note in &row.run.notes {
            let _ = writeln!(out, "{}: {}", row.label, Shown(note));
        }
    }
    if let Some(run) = document.runs.first() {
        let sender = run.cc.as_deref().map_or_else(String::new, |cc| {
            let (cc, server) = (Shown(cc), Shown(&run.server));
            format!("; sender's congestion controller {cc}, server {server}")
        });
        let _ = writeln!(
            out,
            "\nScenario {}, world {}, seed {}{sender}.",
            Shown(&document.scenario),
            document.world,
            document.seed
        );
    }
    out
}
