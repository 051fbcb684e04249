//! What a file has instead of one time in milliseconds a line, as far as its first lines tell.

use super::LineError;
use std::fmt;

/// Number of lines that are checked.
const LOOKED_AT: usize = 100;

/// Times that are none in milliseconds since the start, or more than times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    columns: usize,
    unit: Option<Unit>,
}

/// What the first number of each line most likely counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Since 1970, in this.
    Epoch(&'static str),
    /// Fractions of something, most likely of seconds.
    Fractions,
    /// Too many milliseconds.
    Long,
}

/// What the lines have in common; nothing if they are numbers as they should be, or no numbers at all.
pub(super) fn of(content: &[u8]) -> Option<Shape> {
    let lines = content.split(|&byte| byte == b'\n').take(LOOKED_AT);
    let rows: Vec<Row<'_>> = lines.filter_map(Row::of).collect();
    let columns = rows.iter().map(|row| row.columns).min()?;
    let unit = rows.first()?.unit(rows.iter().any(|row| row.has_fraction()));
    let long = || is_long(content).then_some(Unit::Long);
    let shape = Shape {
        columns,
        unit: unit.or_else(long),
    };
    (columns > 1 || shape.unit.is_some()).then_some(shape)
}

/// A line that is all numbers.
struct Row<'l> {
    first: &'l str,
    columns: usize,
}

impl<'l> Row<'l> {
    /// `None`: headings, comments, text.
    fn of(line: &'l [u8]) -> Option<Self> {
        let line = str::from_utf8(line).ok()?;
        let fields = line.split([',', ';', ' ', '\t', '\r']);
        let mut fields = fields.filter(|field| !field.is_empty());
        let first = fields.next().filter(|field| is_number(field))?;
        let mut columns = 1;
        for field in fields {
            is_number(field).then_some(())?;
            columns += 1;
        }
        Some(Self { first, columns })
    }

    fn has_fraction(&self) -> bool {
        self.first.contains('.')
    }

    fn unit(&self, fractions: bool) -> Option<Unit> {
        let whole = self.first.split('.').next().unwrap_or_default();
        match whole.trim_start_matches('0').len() {
            19.. => Some(Unit::Epoch("nanoseconds")),
            16..=18 => Some(Unit::Epoch("microseconds")),
            13..=15 => Some(Unit::Epoch("milliseconds")),
            10..=12 => Some(Unit::Epoch("seconds")),
            _ => fractions.then_some(Unit::Fractions),
        }
    }
}

fn is_number(field: &str) -> bool {
    field.starts_with(|c: char| c.is_ascii_digit())
        && field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether the last line that is a number is more than a day in milliseconds.
fn is_long(content: &[u8]) -> bool {
    let mut lines = content.rsplit(|&byte| byte == b'\n');
    let last = lines.find_map(Row::of);
    let time = last.and_then(|row| row.first.split('.').next()?.parse::<u64>().ok());
    time.is_some_and(|time| time > u64::from(super::LONGEST_MS))
}

impl Shape {
    pub(super) fn wrong(self) -> LineError {
        let instead = match (self.columns, self.unit) {
            (1, Some(Unit::Long)) => {
                "if they are microseconds, divide them by 1000, otherwise shorten the trace, as it repeats anyway"
            }
            (_, Some(Unit::Epoch(_))) => "give whole milliseconds since the first delivery, one on each line",
            (1, Some(Unit::Fractions)) => "give whole milliseconds: multiply seconds by 1000",
            _ => {
                "give one time on each line, in whole milliseconds; if the first column has them, remove the others"
            }
        };
        LineError::new(self.to_string(), instead)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.columns > 1 {
            write!(f, "the file has {} columns of numbers", self.columns)?;
        }
        let joint = if self.columns > 1 { ", and " } else { "" };
        match self.unit {
            None => Ok(()),
            Some(Unit::Epoch(unit)) => write!(f, "{joint}the times are {unit} since 1970"),
            Some(Unit::Fractions) => write!(f, "{joint}the times have fractions"),
            Some(Unit::Long) => write!(f, "{joint}the times exceed one day"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        of(text.as_bytes()).map(|shape| shape.to_string())
    }

    #[test]
    fn columns_and_units_are_recognised_from_the_numbers() {
        let table = [
            ("0 1500\n1 1500\n", "the file has 2 columns of numbers"),
            (
                "time,bytes,seq\n1,2,3\n4,5,6\n",
                "the file has 3 columns of numbers",
            ),
            ("1700000000\n1700000001\n", "the times are seconds since 1970"),
            ("1700000000.25\n", "the times are seconds since 1970"),
            ("1700000000123\n", "the times are milliseconds since 1970"),
            ("1700000000123456\n", "the times are microseconds since 1970"),
            ("1700000000123456789\n", "the times are nanoseconds since 1970"),
            ("0.001\n0.002\n", "the times have fractions"),
            ("0\n1.5\n", "the times have fractions"),
            (
                "1700000000.1\t1500\n1700000000.2\t60\n",
                "the file has 2 columns of numbers, and the times are seconds since 1970",
            ),
            ("1000\n2000\n99000000\n", "the times exceed one day"),
        ];
        for (text, expected) in table {
            assert_eq!(told(text).as_deref(), Some(expected), "{text:?}");
        }
        for nothing in ["", "a b\n", "1\nx\n3\n", "5\n4\n", "root:x:0:0\n", "-3 4\n"] {
            assert_eq!(told(nothing), None, "{nothing:?}");
        }
    }
}
