//! Prints the rows of a benchmark as text.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;
use trace::{BenchRow, TheirsFrom};

use show::terminal;

/// One line for each row: the figure, its spread, and the peer's.
pub fn text(rows: &[BenchRow]) -> String {
    rows.iter().map(line).collect()
}

fn line(row: &BenchRow) -> String {
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
        let widest = WIDEST.min(terminal::width(&io::stdout()).saturating_sub(INDENT.len()));
        let aligned = aligned(parts).filter(|lines| lines.iter().all(|line| line.chars().count() <= widest));
        for part in aligned.unwrap_or_else(|| parts.iter().map(part_in_words).collect()) {
            let _ = writeln!(line, "{INDENT}{part}");
        }
    }
    line
}

/// Greatest width of a table. A wider one becomes a list.
const WIDEST: usize = 110;
/// Indentation of a table's lines.
const INDENT: &str = "    ";
/// Space between two columns.
const GUTTER: &str = "  ";

/// Lines of a table, header first, with words before numbers. `None` unless all parts have the same fields,
/// each a word or a number.
fn aligned(parts: &[Value]) -> Option<Vec<String>> {
    let objects: Vec<_> = parts.iter().map(Value::as_object).collect::<Option<_>>()?;
    let first = objects.get(..2)?[0];
    let alike = objects.iter().all(|object| object.keys().eq(first.keys()));
    let plain = |value: &Value| !value.is_array() && !value.is_object();
    if !alike || !objects.iter().all(|object| object.values().all(plain)) {
        return None;
    }
    let (texts, numbers): (Vec<&String>, Vec<&String>) =
        first.keys().partition(|key| first[*key].is_string());
    let mut lines = vec![String::new(); parts.len() + 1];
    for key in texts.iter().chain(&numbers) {
        let cells = objects.iter().map(|object| words(&object[*key]));
        let head = key.replace('_', " ");
        add_column(
            &mut lines,
            std::iter::once(head).chain(cells).collect(),
            first[*key].is_string(),
        );
    }
    Some(lines.iter().map(|line| line.trim_end().to_owned()).collect())
}

/// Appends a column: texts are left-aligned, numbers right-aligned.
fn add_column(lines: &mut [String], cells: Vec<String>, text: bool) {
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    for (line, cell) in lines.iter_mut().zip(cells) {
        if !line.is_empty() {
            line.push_str(GUTTER);
        }
        let _ = if text {
            write!(line, "{cell:<width$}")
        } else {
            write!(line, "{cell:>width$}")
        };
    }
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
        let line = line(&row);
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
            line(&row),
            "window-mixes             – ratio   worst: 0.500\n  each:\n    mix 1; stall ms 97.5\n    mix 2\n"
        );
    }

    #[test]
    fn lists_of_the_same_fields_are_tables() {
        let part = |sender: &str, gap_ms: u64, mbps: Option<f64>| serde_json::json!({"sender": sender, "gap_ms": gap_ms, "mbps": mbps});
        let each = vec![part("CLA", 0, Some(15.5)), part("+ order", 2_000, None)];
        let row = crate::catalogue::row("cla-steps").with("each", each);
        assert_eq!(
            line(&row),
            "cla-steps                – Mb/s\n  each:\n    sender   gap ms  mbps\n    CLA           0  15.5\n    \
             + order    2000     –\n"
        );
    }

    #[test]
    fn what_is_too_wide_for_a_table_is_a_list() {
        let each: Vec<Value> = ["a", "b"]
            .into_iter()
            .map(|name| serde_json::json!({"name": name, "text": "x".repeat(WIDEST)}))
            .collect();
        let row = BenchRow::new("wide", "", Better::Higher).with("each", each);
        assert!(line(&row).contains("    name a; text x"), "{}", line(&row));
    }

    #[test]
    fn figures_keep_three_digits() {
        let shown = [0.1234, 12.34, 1234.5, 7.0].map(|value| figure(Some(value)));
        assert_eq!(shown, ["0.123", "12.3", "1234", "7"]);
    }
}
