//! Tables for people, fitted to their terminal.

use trace::{Shown, wrapped};

/// Spaces between two columns.
const GUTTER: usize = 2;
/// Fewest columns of the terminal in which the last cell of a row is wrapped beside the others.
const NARROWEST_LAST: usize = 30;

/// Rows of cells under a header. Control characters in cells are escaped.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows. An empty `header` is not printed.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.iter().map(|cell| Shown(cell).to_string()).collect());
    }

    /// Formats the table for `width` columns: aligned if it fits, else with the last column wrapped, else one
    /// block per row.
    pub fn fitted(&self, width: usize) -> String {
        let lines: Vec<&[String]> = std::iter::once(self.header.as_slice())
            .filter(|header| !header.is_empty())
            .chain(self.rows.iter().map(Vec::as_slice))
            .collect();
        let widths = widths(&lines);
        let Some((last, others)) = widths.split_last() else {
            return String::new();
        };
        let indent: usize = others.iter().map(|width| width + GUTTER).sum();
        if indent + last <= width {
            lines.iter().map(|cells| aligned(cells, &widths)).collect()
        } else if indent + NARROWEST_LAST <= width {
            let rows = lines.iter().map(|cells| hanging(cells, &widths, width - indent));
            rows.collect()
        } else {
            self.rows.iter().map(|cells| self.block(cells, width)).collect()
        }
    }

    /// The first cell, and below it each non-empty cell, with the name of its column if there is one.
    fn block(&self, cells: &[String], width: usize) -> String {
        let mut block = wrapped(cells.first().map_or("", String::as_str), width);
        for (column, cell) in cells.iter().enumerate().skip(1) {
            if !cell.is_empty() {
                let name = self.header.get(column).map(|name| format!("{name}: "));
                let line = format!("    {}{cell}", name.unwrap_or_default());
                block.push_str(&wrapped(&line, width));
            }
        }
        block
    }
}

/// Width of each column, in characters.
fn widths(lines: &[&[String]]) -> Vec<usize> {
    let columns = lines.iter().map(|cells| cells.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|cells| cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

/// One line; its last cell is not padded.
fn aligned(cells: &[String], widths: &[usize]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<0$}", width + GUTTER));
    padded.collect::<String>().trim_end().to_owned() + "\n"
}

/// A line whose last cell wraps within its column.
fn hanging(cells: &[String], widths: &[usize], room: usize) -> String {
    let Some((last, others)) = cells.split_last().filter(|_| cells.len() == widths.len()) else {
        return aligned(cells, widths);
    };
    let text = wrapped(last, room);
    let mut parts = text.lines().map(str::trim_start);
    let mut first = others.to_vec();
    first.push(parts.next().unwrap_or_default().to_owned());
    let indent: usize = widths[..others.len()].iter().map(|width| width + GUTTER).sum();
    let rest = parts.map(|part| format!("{:indent$}{part}\n", ""));
    aligned(&first, widths) + &rest.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Table {
        let mut table = Table::new(&["LINK", "STATE", "ADDRESS"]);
        table.row(["é", "use", "192.0.2.1,2001:db8::1 and a few more of them"]);
        table.row(["wlan0", "", "-"]);
        table
    }

    #[test]
    fn columns_are_aligned_and_hostile_names_are_escaped() {
        let mut table = Table::new(&[]);
        table.row(["wl\x1b[2J\n", "\u{202e}up"]);
        table.row(["lo", "up"]);
        assert_eq!(
            table.fitted(usize::MAX),
            "wl\\u{1b}[2J\\n  \\u{202e}up\nlo             up\n"
        );
    }

    #[test]
    fn the_last_column_wraps_where_the_table_is_wider_than_the_terminal() {
        assert_eq!(
            links().fitted(45),
            "LINK   STATE  ADDRESS\n\
             é      use    192.0.2.1,2001:db8::1 and a few\n              more of them\n\
             wlan0         -\n"
        );
    }

    #[test]
    fn each_row_is_a_block_in_the_narrowest_terminals() {
        assert_eq!(
            links().fitted(30),
            "é\n    STATE: use\n    ADDRESS:\n      192.0.2.1,2001:db8::1\n      and a few more of them\nwlan0\n    ADDRESS: -\n"
        );
        for width in 20..120 {
            let text = links().fitted(width);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}\n{text}"
            );
        }
    }
}
