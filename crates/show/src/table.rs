//! Tables for people, fitted to their terminal. Every table of the programs is printed here.
//!
//! # Checked by
//! `tests`.

use std::ops::Range;

use trace::{Shown, wrapped};
use unicode_width::UnicodeWidthStr as _;

use crate::paint::{Look, Paint};

/// Spaces between two columns.
const GUTTER: usize = 2;
/// Fewest columns of the terminal in which the last cell of a row is wrapped beside the others.
const NARROWEST_LAST: usize = 30;
/// Spaces before the lines below the first cell of a block.
const INDENT: usize = 4;

/// A cell. Control characters in its text are escaped.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    look: Look,
}

impl Cell {
    /// A cell with this look on a terminal with colours.
    pub fn new(text: &str, look: Look) -> Self {
        let text = Shown(text).to_string();
        Self { text, look }
    }

    /// Columns of the terminal that it takes.
    fn width(&self) -> usize {
        self.text.width()
    }
}

/// Rows of cells under a header.
#[derive(Debug)]
pub struct Table {
    /// Empty: no header.
    header: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    numbers: Range<usize>,
    is_ruled: bool,
    paint: Paint,
}

impl Table {
    /// A table without rows. An empty `header` is not printed.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| Cell::new(name, Look::Soft)).collect(),
            rows: Vec::new(),
            numbers: 0..0,
            is_ruled: false,
            paint: Paint::Plain,
        }
    }

    /// Aligns these columns to the right.
    #[must_use]
    pub fn numbers(self, columns: Range<usize>) -> Self {
        Self {
            numbers: columns,
            ..self
        }
    }

    /// Draws a line under the header.
    #[must_use]
    pub fn ruled(self) -> Self {
        Self {
            is_ruled: true,
            ..self
        }
    }

    /// Uses colours, if the terminal has them.
    #[must_use]
    pub fn painted(self, paint: Paint) -> Self {
        Self { paint, ..self }
    }

    /// Adds a row of plain cells.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.cells(cells.map(|cell| Cell::new(cell, Look::Plain)));
    }

    /// Adds a row.
    pub fn cells(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Columns of the terminal in which no row needs to be wrapped.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GUTTER * widths.len().saturating_sub(1)
    }

    /// Formats the table for `width` columns: aligned if it fits, else with the last column wrapped if that
    /// is text, else one block per row.
    pub fn fitted(&self, width: usize) -> String {
        let widths = self.widths();
        let Some((last, others)) = widths.split_last() else {
            return String::new();
        };
        let indent: usize = others.iter().map(|width| width + GUTTER).sum();
        let room = width.saturating_sub(indent);
        let ends_in_text = !self.numbers.contains(&others.len());
        if room >= *last {
            self.lines(width, |cells| self.aligned(cells, &widths))
        } else if room >= NARROWEST_LAST && ends_in_text {
            self.lines(width, |cells| self.hanging(cells, &widths, room))
        } else {
            self.rows.iter().map(|cells| self.block(cells, width)).collect()
        }
    }

    /// Width of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for cells in self.rows.iter().chain([&self.header]) {
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.width().max(*width);
            }
        }
        widths
    }

    /// Formats the header, its rule, and all rows by `line`. The first two are optional.
    fn lines(&self, width: usize, line: impl Fn(&[Cell]) -> String) -> String {
        let mut lines = String::new();
        if !self.header.is_empty() {
            lines += &line(&self.header);
        }
        if self.is_ruled {
            lines += &"─".repeat(self.width().min(width));
            lines.push('\n');
        }
        lines.extend(self.rows.iter().map(|cells| line(cells)));
        lines
    }

    /// One line, without spaces at its end.
    fn aligned(&self, cells: &[Cell], widths: &[usize]) -> String {
        let mut line = String::new();
        let mut blank = 0;
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if cell.text.is_empty() {
                blank += width + GUTTER;
                continue;
            }
            let pad = width - cell.width();
            let (before, after) = match self.numbers.contains(&column) {
                true => (pad, 0),
                false => (0, pad),
            };
            line += &" ".repeat(blank + before);
            line += &self.paint.apply(cell.look, &cell.text);
            blank = after + GUTTER;
        }
        line + "\n"
    }

    /// A line whose last cell wraps within its column.
    fn hanging(&self, cells: &[Cell], widths: &[usize], room: usize) -> String {
        let Some((last, others)) = cells.split_last().filter(|_| cells.len() == widths.len()) else {
            return self.aligned(cells, widths);
        };
        let text = wrapped(&last.text, room);
        let part = |text: &str| Cell {
            text: text.trim_start().to_owned(),
            look: last.look,
        };
        let mut parts = text.lines().map(part);
        let first: Vec<Cell> = others.iter().cloned().chain(parts.next()).collect();
        let indent: usize = widths[..others.len()].iter().map(|width| width + GUTTER).sum();
        let rest = parts.map(|part| format!("{:indent$}{}\n", "", self.paint.apply(part.look, &part.text)));
        self.aligned(&first, widths) + &rest.collect::<String>()
    }

    /// The first cell, and below it the other non-empty cells, each with the name of its column. A line has
    /// as many cells as fit. Without a header, they begin beside the first cell.
    fn block(&self, cells: &[Cell], width: usize) -> String {
        let mut lines: Vec<String> = Vec::new();
        // Free columns of the last line.
        let mut room = 0;
        for (column, cell) in cells.iter().enumerate() {
            if column > 0 && cell.text.is_empty() {
                continue;
            }
            let text = self.labelled(column, cell);
            let needed = GUTTER + text.width();
            if let Some(line) = lines.last_mut().filter(|_| needed <= room) {
                *line += &" ".repeat(GUTTER);
                *line += &self.paint.apply(cell.look, &text);
                room -= needed;
                continue;
            }
            let indent = if column == 0 { 0 } else { INDENT };
            let text = wrapped(&(" ".repeat(indent) + &text), width);
            let text = text.trim_end();
            let is_title = column == 0 && !self.header.is_empty();
            let is_alone = is_title || text.contains('\n');
            room = if is_alone {
                0
            } else {
                width.saturating_sub(text.width())
            };
            lines.push(self.paint.apply(cell.look, text));
        }
        lines.join("\n") + "\n"
    }

    /// A cell of a block: the name of its column and its text. The first column and those without a name have
    /// the text alone.
    fn labelled(&self, column: usize, cell: &Cell) -> String {
        match self.header.get(column) {
            Some(name) if column > 0 && !name.text.is_empty() => format!("{}: {}", name.text, cell.text),
            _ => cell.text.clone(),
        }
    }
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
    fn numbers_end_below_each_other_and_wide_characters_take_two_columns() {
        let mut table = Table::new(&["name", "ms", "note"]).numbers(1..2).ruled();
        table.row(["東京", "7", "x"]);
        table.row(["é", "120", ""]);
        assert_eq!(
            table.fitted(80),
            "name   ms  note\n───────────────\n東京    7  x\né     120\n"
        );
        assert_eq!(table.width(), 15);
    }

    #[test]
    fn colours_change_no_width() {
        let mut table = links().painted(Paint::Colour);
        table.cells([Cell::new("lte", Look::Alarm), Cell::new("down", Look::Plain)]);
        let text = table.fitted(80);
        assert!(text.contains("\n\x1b[1;31mlte\x1b[0m    down\n"), "{text:?}");
        assert!(text.starts_with("\x1b[2mLINK\x1b[0m   \x1b[2mSTATE"), "{text:?}");
    }

    #[test]
    fn a_last_column_of_numbers_does_not_wrap() {
        let mut table = Table::new(&["policy", "Mb/s"]).numbers(1..2);
        table.row(["slowhand", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"]);
        assert!(table.fitted(45).starts_with("slowhand\n    Mb/s: 1 2 3"));
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

    #[test]
    fn a_line_of_a_block_has_as_many_cells_as_fit() {
        let mut table = Table::new(&["LINK", "RTT", "RETRANS", "WINDOW", "CC"]).painted(Paint::Colour);
        let cell = |text: &str| Cell::new(text, Look::Plain);
        table.cells(["wlan0", "12.5 ms", "3"].map(cell));
        table.rows[0].extend([Cell::new("98.3 kB", Look::Strong), cell("reno")]);
        assert_eq!(
            table.fitted(32),
            "wlan0\n    RTT: 12.5 ms  RETRANS: 3\n\x1b[1m    WINDOW: 98.3 kB\x1b[0m  CC: reno\n"
        );
    }

    #[test]
    fn without_a_header_a_block_begins_beside_its_first_cell() {
        let mut table = Table::new(&[]);
        table.row(["ok", "mptcp", "must", "net.mptcp.enabled = 1"]);
        table.row([
            "--",
            "tun",
            "lab",
            "no /dev/net/tun; `modprobe tun`, or pass the device",
        ]);
        assert_eq!(
            table.fitted(40),
            "ok  mptcp  must  net.mptcp.enabled = 1\n\
             --  tun  lab\n    no /dev/net/tun; `modprobe tun`, or\n      pass the device\n"
        );
    }
}
