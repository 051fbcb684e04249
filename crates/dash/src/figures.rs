//! Rows of the result table, with the order and wording that every output format uses.

use std::cmp::Reverse;
use trace::{Figures, PlayDocument, PolicyName, Run};

/// One row: a run, its label and its figures. An empty cell does not apply to the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row<'a> {
    pub run: &'a Run,
    pub label: String,
    pub figures: Figures,
}

/// Column headings, in order.
pub(crate) const COLUMNS: [&str; 7] = [
    "data",
    "goodput",
    "longest stall",
    "all stalls",
    "vs tcp-best",
    "vs optimal",
    "intact",
];

/// Headings of the buffer columns, in order. Each is a mean over the run.
pub(crate) const BUFFERED: [&str; 3] = ["server queue", "window", "out of order"];

impl Row<'_> {
    /// One text per column of [`COLUMNS`].
    pub(crate) fn cells(&self) -> [String; 7] {
        let figures = &self.figures;
        let intact = match figures.intact {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        [
            megabytes(figures.bytes as f64),
            format!("{:.1} Mb/s", figures.goodput_mbps),
            figures.longest_stall_ms.map_or_else(String::new, stall),
            figures.stall_total_ms.map_or_else(String::new, stall),
            figures.versus_best.map_or_else(String::new, times),
            figures.versus_optimal.map_or_else(String::new, times),
            if self.run.policy.is_computed() {
                String::new()
            } else {
                intact.to_owned()
            },
        ]
    }

    /// One text per column of [`BUFFERED`]. `None` if the run recorded no buffer levels.
    pub(crate) fn buffered(&self) -> Option<[String; 3]> {
        let levels = &self.run.levels;
        let limit = levels
            .window_bytes
            .map_or_else(|| "set by the kernel".to_owned(), bytes);
        let or_unknown = |level: Option<u64>| level.map_or_else(|| "unknown".to_owned(), bytes);
        (!levels.is_unknown()).then(|| {
            [
                or_unknown(levels.server_queue_bytes),
                limit,
                or_unknown(levels.held_bytes),
            ]
        })
    }

    /// Whether to highlight a cell: a stall of a second or more, or data that was not received intact.
    pub(crate) fn alarming(&self, column: usize) -> bool {
        match COLUMNS[column] {
            "longest stall" => self.figures.longest_stall_ms.is_some_and(|ms| ms >= 1_000.0),
            "intact" => self.figures.intact == Some(false),
            _ => false,
        }
    }
}

/// Runs in display order: ours, then the other policies by bytes moved, then the single networks. `tcp-best`
/// comes before the single networks. Runs of one policy stay together.
pub(crate) fn rows(document: &PlayDocument) -> Vec<Row<'_>> {
    let mut runs: Vec<&Run> = document.runs.iter().collect();
    runs.sort_by_cached_key(|run| rank(document, run));
    runs.into_iter()
        .map(|run| Row {
            run,
            label: document.label(run),
            figures: document.figures(run),
        })
        .collect()
}

fn rank<'d>(document: &'d PlayDocument, run: &'d Run) -> (u8, Reverse<u64>, &'d PolicyName, Reverse<u64>) {
    let group = if run.policy.is_ours() {
        0
    } else if run.policy.is_computed() {
        2
    } else if run.policy.only_link().is_some() {
        3
    } else {
        1
    };
    let of_policy = document.runs.iter().filter(|other| other.policy == run.policy);
    let most = of_policy.map(Run::bytes).max().unwrap_or(0);
    // Two worlds stay in the order in which they ran.
    let own = if run.case.world.is_some() { 0 } else { run.bytes() };
    (group, Reverse(most), &run.policy, Reverse(own))
}

/// "214 MB", "3.2 MB".
pub(crate) fn megabytes(bytes: f64) -> String {
    let digits = usize::from(bytes < 1e7);
    format!("{:.digits$} MB", bytes / 1e6)
}

/// "30 kB", "2.7 MB".
fn bytes(bytes: u64) -> String {
    match bytes {
        ..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// "none", "340 ms", "1.30 s", "12.4 s".
pub(crate) fn stall(ms: f64) -> String {
    match ms {
        0.0 => "none".to_owned(),
        ..1_000.0 => format!("{ms:.0} ms"),
        ..10_000.0 => format!("{:.2} s", ms / 1e3),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2} ×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_a_suitable_unit_at_every_size() {
        assert_eq!(
            [0.0, 3.21e6, 9.99e6, 2.144e8].map(megabytes),
            ["0.0 MB", "3.2 MB", "10.0 MB", "214 MB"]
        );
        assert_eq!(
            [0.0, 99.6, 1_300.0, 12_440.0].map(stall),
            ["none", "100 ms", "1.30 s", "12.4 s"]
        );
        assert_eq!(times(1.1), "1.10 ×");
        assert_eq!(
            [0, 1, 29_001, 2_740_000].map(bytes),
            ["0 kB", "1 kB", "30 kB", "2.7 MB"]
        );
    }
}
