//! The result as an aligned table.

use super::{Look, Paint, bar};
use crate::figures::{COLUMNS, Row, WAITING, rows};
use crate::words::headline;
use std::fmt::Write;
use trace::PlayDocument;

const BAR_CELLS: usize = 12;

/// Headline, table and notes, each line ended.
pub fn table(document: &PlayDocument, paint: Paint) -> String {
    let rows = rows(document);
    let cells: Vec<[String; 7]> = rows.iter().map(Row::cells).collect();
    let names = rows
        .iter()
        .map(|row| row.label.chars().count())
        .max()
        .unwrap_or(0)
        .max("waiting (means)".len());
    let widths = widths(&cells);
    let mut out = format!("{}\n\n", paint.apply(Look::Strong, &headline(document)));
    let header = header(names, &widths);
    let _ = writeln!(
        out,
        "{}\n{}",
        paint.apply(Look::Soft, &header),
        "─".repeat(header.chars().count())
    );
    let most = rows
        .iter()
        .map(|row| row.figures.goodput_mbps)
        .fold(f64::MIN_POSITIVE, f64::max);
    for (row, cells) in rows.iter().zip(&cells) {
        out += &line(row, cells, names, &widths, paint);
        let _ = writeln!(
            out,
            "  {}",
            paint.apply(
                bar_look(row),
                bar(row.figures.goodput_mbps / most, BAR_CELLS).trim_end()
            )
        );
    }
    out + &waiting(&rows, names, paint) + &told(document, &rows)
}

/// What waited where, on average: nothing where nobody looked.
fn waiting(rows: &[Row<'_>], names: usize, paint: Paint) -> String {
    let cells = rows
        .iter()
        .filter_map(|row| Some((row.label.as_str(), row.waiting()?)));
    let cells: Vec<(&str, [String; 3])> = cells.collect();
    if cells.is_empty() {
        return String::new();
    }
    let widths: [usize; 3] = std::array::from_fn(|column| {
        let widest = cells.iter().map(|(_, cells)| cells[column].chars().count()).max();
        widest.unwrap_or(0).max(WAITING[column].len())
    });
    let row = |label: &str, cells: [&str; 3]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{label:<names$}{}", padded.collect::<String>())
    };
    let mut out = format!(
        "\n{}\n",
        paint.apply(Look::Soft, &row("waiting (means)", WAITING))
    );
    for (label, cells) in &cells {
        out += &row(label, cells.each_ref().map(String::as_str));
        out.push('\n');
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
    out + &" ".repeat(BAR_CELLS + 2)
}

fn line(row: &Row<'_>, cells: &[String; 7], names: usize, widths: &[usize; 7], paint: Paint) -> String {
    let name = format!("{:<names$}", row.label);
    let mut out = match (row.run.policy.is_ours(), row.run.policy.is_computed()) {
        (true, _) => paint.apply(Look::Strong, &name),
        (_, true) => paint.apply(Look::Soft, &name),
        _ => name,
    };
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

fn bar_look(row: &Row<'_>) -> Look {
    if row.run.policy.is_ours() {
        Look::Good
    } else {
        Look::Soft
    }
}

fn told(document: &PlayDocument, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for row in rows.iter().filter(|row| !row.run.policy.is_computed()) {
        for note in &row.run.notes {
            let _ = writeln!(out, "{}: {note}", row.label);
        }
    }
    if let Some(run) = document.runs.first() {
        let sender = run.cc.as_deref().map_or_else(String::new, |cc| {
            format!("; sender's congestion controller {cc}, server {}", run.server)
        });
        let _ = writeln!(
            out,
            "\nScenario {}, world {}, seed {}{sender}.",
            document.scenario, document.world, document.seed
        );
    }
    out
}
