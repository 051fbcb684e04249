//! The result as an aligned table.

use super::fit::wrapped;
use super::{Look, Paint, bar};
use crate::figures::{BUFFERED, COLUMNS, Row, rows};
use crate::words::headline;
use std::fmt::Write;
use trace::{PlayDocument, Shown};

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
    let columns = Columns::of(&rows);
    let figures = if columns.width() <= width {
        columns.table(&rows, paint, width)
    } else {
        rows.iter().map(|row| block(row, paint, width)).collect()
    };
    format!(
        "{headline}\n\n{figures}{}{footer}",
        buffered(&rows, columns.names, paint, width)
    )
}

/// Cells of all rows, with the widths of the columns.
struct Columns {
    names: usize,
    widths: [usize; 7],
    cells: Vec<[String; 7]>,
}

impl Columns {
    fn of(rows: &[Row<'_>]) -> Self {
        let cells: Vec<[String; 7]> = rows.iter().map(Row::cells).collect();
        let names = rows.iter().map(|row| row.label.chars().count());
        Self {
            names: names.max().unwrap_or(0).max("buffered (means)".len()),
            widths: widths(&cells),
            cells,
        }
    }

    /// Total width, without bars.
    fn width(&self) -> usize {
        self.names + self.widths.iter().map(|width| width + 2).sum::<usize>()
    }

    fn table(&self, rows: &[Row<'_>], paint: Paint, width: usize) -> String {
        let bars = if self.width() + BAR_CELLS + 2 <= width {
            BAR_CELLS
        } else {
            0
        };
        let mut header = header(self.names, &self.widths);
        if bars > 0 {
            header += &" ".repeat(bars + 2);
        }
        let rule = "─".repeat(header.chars().count());
        let mut out = format!("{}\n{rule}\n", paint.apply(Look::Soft, &header));
        let most = rows
            .iter()
            .map(|row| row.figures.goodput_mbps)
            .fold(f64::MIN_POSITIVE, f64::max);
        for (row, cells) in rows.iter().zip(&self.cells) {
            out += &line(row, cells, self.names, &self.widths, paint);
            if bars > 0 {
                let bar = bar(row.figures.goodput_mbps / most, bars);
                out += &format!("  {}", paint.apply(bar_look(row), bar.trim_end()));
            }
            out.push('\n');
        }
        out
    }
}

/// Renders a row as a block, one line per cell, for a terminal that is too narrow for the table.
fn block(row: &Row<'_>, paint: Paint, width: usize) -> String {
    let name = wrapped(&row.label, width);
    let mut out = paint.apply(name_look(row), name.trim_end()) + "\n";
    for (column, cell) in row
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.is_empty())
    {
        let line = wrapped(&format!("  {}: {cell}", COLUMNS[column]), width);
        let look = if row.alarming(column) {
            Look::Alarm
        } else {
            Look::Plain
        };
        out += &(paint.apply(look, line.trim_end()) + "\n");
    }
    out
}

/// Table of mean buffer levels. Empty if no run recorded them.
fn buffered(rows: &[Row<'_>], names: usize, paint: Paint, width: usize) -> String {
    let cells = rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), row.buffered()?)));
    let cells: Vec<(&str, [String; 3])> = cells.collect();
    if cells.is_empty() {
        return String::new();
    }
    let widths: [usize; 3] = std::array::from_fn(|column| {
        let widest = cells.iter().map(|(_, cells)| cells[column].chars().count()).max();
        widest.unwrap_or(0).max(BUFFERED[column].len())
    });
    if names + widths.iter().map(|width| width + 2).sum::<usize>() > width {
        return buffered_blocks(&cells, paint, width);
    }
    let row = |label: &str, cells: [&str; 3]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{label:<names$}{}", padded.collect::<String>())
    };
    let mut out = format!(
        "\n{}\n",
        paint.apply(Look::Soft, &row("buffered (means)", BUFFERED))
    );
    for (label, cells) in &cells {
        out += &row(label, cells.each_ref().map(String::as_str));
        out.push('\n');
    }
    out
}

fn buffered_blocks(cells: &[(&str, [String; 3])], paint: Paint, width: usize) -> String {
    let mut out = format!("\n{}\n", paint.apply(Look::Soft, "buffered (means)"));
    for (label, cells) in cells {
        out += &wrapped(label, width);
        for (heading, cell) in BUFFERED.iter().zip(cells) {
            out += &wrapped(&format!("  {heading}: {cell}"), width);
        }
    }
    out
}

fn widths(cells: &[[String; 7]]) -> [usize; 7] {
    std::array::from_fn(|column| {
        let widest = cells
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0);
        widest.max(COLUMNS[column].len())
    })
}

fn header(names: usize, widths: &[usize; 7]) -> String {
    let mut out = format!("{:<names$}", "policy");
    for (column, width) in COLUMNS.iter().zip(widths) {
        let _ = write!(out, "  {column:>width$}");
    }
    out
}

fn line(row: &Row<'_>, cells: &[String; 7], names: usize, widths: &[usize; 7], paint: Paint) -> String {
    let name = format!("{:<names$}", row.label);
    let mut out = paint.apply(name_look(row), &name);
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padded = format!("  {cell:>width$}");
        out += &if row.alarming(column) {
            paint.apply(Look::Alarm, &padded)
        } else {
            padded
        };
    }
    out
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
