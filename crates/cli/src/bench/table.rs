//! The rows of a benchmark as text.

use std::fmt::Write as _;

use serde_json::Value;
use trace::{BenchRow, TheirsFrom};

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
        let _ = writeln!(line, "  {}:", key.replace('_', " "));
        for part in value.as_array().into_iter().flatten() {
            let _ = writeln!(line, "    {}", part_in_words(part));
        }
    }
    line
}

/// One line of a list: of an object all its fields.
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
        other => other.to_string(),
    }
}

/// Three digits that matter; whole numbers whole.
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
        let row = BenchRow::new("fade", "ms", Better::Lower)
            .trials(&[1.0, 2.5, 3.0])
            .with("stalls", 0);
        let line = line(&row);
        for part in ["fade", "2.500 ms", "[1 – 3]", "of 3", "stalls: 0"] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn lists_stand_below_their_row_one_line_each() {
        let row = BenchRow::new("window-mixes", "ratio", Better::Higher)
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
    fn figures_keep_three_digits() {
        let shown = [0.1234, 12.34, 1234.5, 7.0].map(|value| figure(Some(value)));
        assert_eq!(shown, ["0.123", "12.3", "1234", "7"]);
    }
}
