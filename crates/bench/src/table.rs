//! Prints the rows of a benchmark as text.

use std::fmt::Write as _;

use serde_json::Value;
use trace::{BenchRow, TheirsFrom};

use show::paint::Look;
use show::{Cell, Table};

/// One line for each row: the figure, its spread, and the peer's. Tables below it fit into `width` columns.
pub fn text(rows: &[BenchRow], width: usize) -> String {
    rows.iter().map(|row| line(row, width)).collect()
}

fn line(row: &BenchRow, width: usize) -> String {
    let mut line = format!("{:<15} {:>10} {}", row.name, figure(row.ours), row.unit);
    if row.runs > 1 {
        let (p50, p99) = (figure(row.p50), figure(row.p99));
        let (min, max) = (figure(row.min), figure(row.max));
        let _ = write!(line, "   p50 {p50}  p99 {p99}  [{min} – {max}]  of {}", row.runs);
    }
    if let (Some(peer), Some(theirs)) = (&row.peer, row.theirs) {
        let from = if row.theirs_from == TheirsFrom::ThisRun {
            ""
        } else {
            ", stored"
        };
        let _ = write!(
            line,
            "   {peer}: {}{from}, {} ×",
            figure(Some(theirs)),
            figure(row.ratio)
        );
    }
    let (tables, fields): (Vec<_>, Vec<_>) = row.extra.iter().partition(|(_, value)| value.is_array());
    for (key, value) in fields {
        let _ = write!(line, "   {}: {}", key.replace('_', " "), words(value));
    }
    line.push('\n');
    for (key, value) in tables {
        let parts = value.as_array().map_or(&[][..], Vec::as_slice);
        let _ = writeln!(line, "  {}:", key.replace('_', " "));
        let lines = match aligned(parts) {
            Some(table) => table.fitted(width.saturating_sub(INDENT.len())),
            None => parts.iter().map(|part| part_in_words(part) + "\n").collect(),
        };
        for part in lines.lines() {
            let _ = writeln!(line, "{INDENT}{part}");
        }
    }
    line
}

/// Indentation of a table's lines.
const INDENT: &str = "    ";

/// A table, with words before numbers. `None` unless all parts have the same fields, each a word or a number.
fn aligned(parts: &[Value]) -> Option<Table> {
    let objects: Vec<_> = parts.iter().map(Value::as_object).collect::<Option<_>>()?;
    let first = objects.get(..2)?[0];
    let alike = objects.iter().all(|object| object.keys().eq(first.keys()));
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    if !alike || !objects.iter().all(|object| object.values().all(plain)) {
        return None;
    }
    let (texts, numbers): (Vec<&String>, Vec<&String>) =
        first.keys().partition(|key| first[*key].is_string());
    let keys: Vec<&String> = texts.iter().chain(&numbers).copied().collect();
    let header: Vec<String> = keys.iter().map(|key| key.replace('_', " ")).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header).numbers(texts.len()..keys.len());
    for object in objects {
        table.cells(
            keys.iter()
                .map(|&key| Cell::new(&words(&object[key]), Look::Plain)),
        );
    }
    Some(table)
}

/// One line of a list: all fields of an object.
fn part_in_words(part: &Value) -> String {
    let Some(fields) = part.as_object() else {
        return words(part);
    };
    let field = |(key, value): (&String, &Value)| format!("{} {}", key.replace('_', " "), words(value));
    fields.iter().map(field).collect::<Vec<_>>().join("; ")
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => figure(number.as_f64()),
        Value::Null => figure(None),
        other => other.to_string(),
    }
}

/// Three significant digits; integers in full.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 || value.abs() >= 1e3 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Better;

    #[test]
    fn shows_figure_spread_and_what_is_special() {
        let row = crate::catalogue::row("fade")
            .trials(&[1.0, 2.5, 3.0])
            .with("stalls", 0);
        let line = line(&row, 80);
        for part in ["fade", "2.500 ms", "[1 – 3]", "of 3", "stalls: 0"] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn lists_stand_below_their_row_one_line_each() {
        let row = crate::catalogue::row("window-mixes")
            .with(
                "each",
                vec![
                    serde_json::json!({"mix": 1, "stall_ms": 97.5}),
                    serde_json::json!({"mix": 2}),
                ],
            )
            .with("worst", 0.5);
        assert_eq!(
            line(&row, 80),
            "window-mixes             – ratio   worst: 0.500\n  each:\n    mix 1; stall ms 97.5\n    mix 2\n"
        );
    }

    #[test]
    fn lists_of_the_same_fields_are_tables() {
        let part = |sender: &str, gap_ms: u64, mbps: Option<f64>| serde_json::json!({"sender": sender, "gap_ms": gap_ms, "mbps": mbps});
        let each = vec![part("CLA", 0, Some(15.5)), part("+ order", 2_000, None)];
        let row = crate::catalogue::row("cla-steps").with("each", each);
        assert_eq!(
            line(&row, 80),
            "cla-steps                – Mb/s\n  each:\n    sender   gap ms  mbps\n    CLA           0  15.5\n    \
             + order    2000     –\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_for_the_terminal_has_a_block_for_each_row() {
        let each: Vec<Value> = ["a", "b"]
            .into_iter()
            .map(|name| serde_json::json!({"name": name, "gap_ms": 7, "text": "x ".repeat(30)}))
            .collect();
        let row = BenchRow::new("wide", "", Better::Higher).with("each", each);
        let text = line(&row, 60);
        assert!(text.contains("    a\n        text: x x x"), "{text}");
        assert!(text.contains("    b\n        text: x x x"), "{text}");
    }

    #[test]
    fn figures_keep_three_digits() {
        let shown = [0.1234, 12.34, 1234.5, 7.0].map(|value| figure(Some(value)));
        assert_eq!(shown, ["0.123", "12.3", "1234", "7"]);
    }
}
