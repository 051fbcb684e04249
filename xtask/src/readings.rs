//! Checks the measurements in `docs/readings/*.csv` and renders the current ones into `docs/window.md`.
//!
//! Each table of the page is between two markers. The first one names the file and the columns:
//!
//! ```text
//! <!-- readings bars: steady, first_5s, stall_p50 -->
//! <!-- /readings -->
//! ```
//!
//! A row of the table is one bench. A cell holds the newest value of each controller, "reno / bbr".
//! Bold values miss the limit in the column `must`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use crate::Findings;
use crate::files::texts;

const FOLDER: &str = "docs/readings/";
const PAGE: &str = "docs/window.md";
const COLUMNS: &str = "date,bench,controller,variant,setup,n,metric,value,unit,must,note";
const OPEN: &str = "<!-- readings ";
const CLOSE: &str = "<!-- /readings -->";
/// Setup of the current results. Others are earlier engines, other machines, models or traces.
const CURRENT: &str = "reference";

/// One measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    /// Day of the measurement, or of the commit that recorded it: `2026-11-26`.
    date: String,
    bench: String,
    /// Congestion controller of the sender. Empty where the value holds for all of them.
    controller: String,
    /// What was measured: `slowhand`, a lever or a rule.
    variant: String,
    setup: String,
    /// Number of runs. Empty if unknown.
    n: String,
    metric: String,
    /// The number as written, so that the table keeps its digits.
    value: String,
    unit: String,
    /// Limit that the value must meet: `>=0.97` or `<=200`. Empty if there is none.
    must: String,
}

impl Reading {
    fn misses_its_limit(&self) -> bool {
        let value: f64 = self.value.parse().unwrap_or(f64::NAN);
        match limit(&self.must) {
            Some((">=", least)) => value < least,
            Some((_, most)) => value > most,
            None => false,
        }
    }

    fn cell(&self) -> String {
        if self.misses_its_limit() {
            format!("**{}**", self.value)
        } else {
            self.value.clone()
        }
    }
}

/// The sign and the number of a limit.
fn limit(must: &str) -> Option<(&str, f64)> {
    let (sign, number) = must.split_at_checked(2)?;
    let known = [">=", "<="].contains(&sign);
    known
        .then(|| number.parse().ok())
        .flatten()
        .map(|number| (sign, number))
}

/// Checks the files and that the page shows their current values.
pub fn check() -> anyhow::Result<Findings> {
    let (files, mut wrong) = files()?;
    let page = page()?;
    match rendered(&page, &files) {
        Ok(fresh) if fresh == page => {}
        Ok(_) => wrong.push(format!(
            "{PAGE}: a table is out of date; run cargo xtask readings"
        )),
        Err(fault) => wrong.push(format!("{PAGE}: {fault}")),
    }
    Ok(findings(&files, wrong))
}

/// Checks the files and writes the tables of the page.
pub fn write() -> anyhow::Result<Findings> {
    let (files, mut wrong) = files()?;
    let page = page()?;
    match rendered(&page, &files) {
        Ok(fresh) => std::fs::write(PAGE, fresh).with_context(|| format!("cannot write {PAGE}"))?,
        Err(fault) => wrong.push(format!("{PAGE}: {fault}")),
    }
    Ok(findings(&files, wrong))
}

fn page() -> anyhow::Result<String> {
    std::fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}; run it in the repository"))
}

fn findings(files: &Files, wrong: Vec<String>) -> Findings {
    let rows: usize = files.values().map(Vec::len).sum();
    Findings {
        looked_at: format!("readings: {rows} in {} files", files.len()),
        wrong,
    }
}

/// Measurements by the file's name without its ending.
type Files = BTreeMap<String, Vec<Reading>>;

fn files() -> anyhow::Result<(Files, Vec<String>)> {
    let (mut files, mut wrong) = (Files::new(), Vec::new());
    for (path, text) in texts(|path| path.starts_with(FOLDER) && path.ends_with(".csv"))? {
        let (readings, faults) = parsed(&path, &text);
        let name = Path::new(&path).file_stem().unwrap_or_default();
        files.insert(name.to_string_lossy().into_owned(), readings);
        wrong.extend(faults);
    }
    Ok((files, wrong))
}

fn parsed(path: &str, text: &str) -> (Vec<Reading>, Vec<String>) {
    let (mut readings, mut wrong) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    if lines.next() != Some(COLUMNS) {
        wrong.push(format!("{path}:1: the columns must be {COLUMNS}"));
    }
    for (index, line) in lines.enumerate() {
        match reading(line) {
            Ok(reading) => readings.push(reading),
            Err(fault) => wrong.push(format!("{path}:{}: {fault}", index + 2)),
        }
    }
    (readings, wrong)
}

/// Reads one line. No field may hold a comma or a quote, so that a plain split is enough.
fn reading(line: &str) -> Result<Reading, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let wanted = COLUMNS.split(',').count();
    if fields.len() != wanted {
        return Err(format!(
            "{} fields instead of {wanted}; write ; instead of a comma in notes",
            fields.len()
        ));
    }
    if line.contains('"') {
        return Err("quotes are not supported; remove them".to_owned());
    }
    let field = |index: usize| fields[index].to_owned();
    let reading = Reading {
        date: field(0),
        bench: field(1),
        controller: field(2),
        variant: field(3),
        setup: field(4),
        n: field(5),
        metric: field(6),
        value: field(7),
        unit: field(8),
        must: field(9),
    };
    fault(&reading).map_or(Ok(reading), Err)
}

/// What is wrong with the values of a line, and what would be right.
fn fault(reading: &Reading) -> Option<String> {
    let Reading {
        date, n, value, must, ..
    } = reading;
    if !is_date(date) {
        Some(format!("date {date}: write it as 2026-11-26"))
    } else if !n.is_empty() && n.parse::<u32>().is_err() {
        Some(format!("n {n}: must be a whole number or empty"))
    } else if reading.bench.is_empty() || reading.metric.is_empty() {
        Some("bench and metric must not be empty".to_owned())
    } else if !value.parse::<f64>().is_ok_and(f64::is_finite) {
        Some(format!("value {value}: must be a number"))
    } else if !must.is_empty() && limit(must).is_none() {
        Some(format!("must {must}: write >= or <= and a number"))
    } else {
        None
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts[..] else {
        return false;
    };
    let within = |part: &str, most| {
        part.parse::<u32>()
            .is_ok_and(|number| (1..=most).contains(&number))
    };
    digits(year, 4) && digits(month, 2) && digits(day, 2) && within(month, 12) && within(day, 31)
}

/// The page with every table rendered anew.
fn rendered(page: &str, files: &Files) -> Result<String, String> {
    let mut fresh = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let Some(marker) = line.strip_prefix(OPEN) else {
            continue;
        };
        fresh.push_str(&table(marker.trim_end_matches("-->").trim(), files)?);
        lines
            .find(|line| *line == CLOSE)
            .ok_or_else(|| format!("no {CLOSE} after {line}"))?;
        fresh.push_str(CLOSE);
        fresh.push('\n');
    }
    Ok(fresh)
}

/// The table of a marker such as `bars: steady, first_5s`.
fn table(marker: &str, files: &Files) -> Result<String, String> {
    let (name, metrics) = marker
        .split_once(':')
        .ok_or_else(|| format!("{marker}: write FILE: METRIC, METRIC"))?;
    let readings = files
        .get(name)
        .ok_or_else(|| format!("{marker}: no file {FOLDER}{name}.csv"))?;
    let metrics: Vec<&str> = metrics.split(',').map(str::trim).collect();
    let current: Vec<&Reading> = readings
        .iter()
        .filter(|reading| reading.setup == CURRENT && metrics.contains(&reading.metric.as_str()))
        .collect();
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for reading in &current {
        let row = (reading.bench.as_str(), reading.variant.as_str());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut text = String::from("| bench | n |");
    for metric in &metrics {
        let unit = current.iter().find(|reading| reading.metric == **metric);
        let unit = unit.ok_or_else(|| format!("{marker}: no current {metric}"))?;
        text.push_str(&format!(" {} |", heading(metric, &unit.unit)));
    }
    text.push_str(&format!("\n|{}\n", "---|".repeat(metrics.len() + 2)));
    for row in rows {
        let of_row: Vec<&Reading> = current
            .iter()
            .copied()
            .filter(|reading| (reading.bench.as_str(), reading.variant.as_str()) == row)
            .collect();
        text.push_str(&format!("| {} | {} |", label(row), runs(&of_row)));
        metrics
            .iter()
            .for_each(|metric| text.push_str(&format!(" {} |", cell(metric, &of_row))));
        text.push('\n');
    }
    Ok(text)
}

fn heading(metric: &str, unit: &str) -> String {
    let words = metric.replace('_', " ");
    match unit {
        "" => words,
        "x" => format!("{words}, ×"),
        unit => format!("{words}, {unit}"),
    }
}

fn label((bench, variant): (&str, &str)) -> String {
    let bench = if bench.starts_with("window-") {
        format!("`{bench}`")
    } else {
        bench.to_owned()
    };
    match variant {
        "" | "slowhand" => bench,
        variant => format!("{bench}, {variant}"),
    }
}

/// The number of runs, or each of them where they differ.
fn runs(readings: &[&Reading]) -> String {
    let mut counts: Vec<&str> = Vec::new();
    for reading in readings {
        if !reading.n.is_empty() && !counts.contains(&reading.n.as_str()) {
            counts.push(&reading.n);
        }
    }
    counts.join(", ")
}

/// The newest value of each controller, in the order of the file. The later line wins on the same day.
fn cell(metric: &str, readings: &[&Reading]) -> String {
    let mut newest: Vec<&Reading> = Vec::new();
    for &reading in readings.iter().filter(|reading| reading.metric == metric) {
        match newest
            .iter_mut()
            .find(|known| known.controller == reading.controller)
        {
            Some(known) if reading.date >= known.date => *known = reading,
            Some(_) => {}
            None => newest.push(reading),
        }
    }
    let cells: Vec<String> = newest.iter().map(|reading| reading.cell()).collect();
    cells.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "2026-11-26,window-bdp,reno,slowhand,reference,20,steady,0.98,x,>=0.97,";

    fn of(lines: &[&str]) -> Files {
        let text = format!("{COLUMNS}\n{}\n", lines.join("\n"));
        let (readings, wrong) = parsed("a.csv", &text);
        assert_eq!(wrong, Vec::<String>::new());
        Files::from([("bars".to_owned(), readings)])
    }

    #[test]
    fn a_faulty_line_is_reported_with_its_place() {
        for (from, to, told) in [
            ("2026-11-26", "26 Nov", "date 26 Nov: write it as 2026-11-26"),
            (
                "2026-11-26",
                "2026-13-26",
                "date 2026-13-26: write it as 2026-11-26",
            ),
            (",20,", ",many,", "n many: must be a whole number or empty"),
            ("0.98", "about 1", "value about 1: must be a number"),
            ("0.98", "inf", "value inf: must be a number"),
            (">=0.97", "0.97", "must 0.97: write >= or <= and a number"),
            (">=0.97", "≥", "must ≥: write >= or <= and a number"),
            ("steady", "", "bench and metric must not be empty"),
            ("reno", "\"reno\"", "quotes are not supported; remove them"),
            (
                "reno",
                "reno,bbr",
                "12 fields instead of 11; write ; instead of a comma in notes",
            ),
        ] {
            let text = format!("{COLUMNS}\n{LINE}\n{}\n", LINE.replacen(from, to, 1));
            let (_, wrong) = parsed("a.csv", &text);
            assert_eq!(wrong, [format!("a.csv:3: {told}")], "{to}");
        }
    }

    #[test]
    fn other_columns_are_reported() {
        let (_, wrong) = parsed("a.csv", "date,value\n");
        assert_eq!(wrong, [format!("a.csv:1: the columns must be {COLUMNS}")]);
    }

    #[test]
    fn the_newest_value_of_each_controller_is_shown_and_a_missed_limit_is_bold() {
        let files = of(&[
            LINE,
            "2026-11-25,window-bdp,bbr,slowhand,reference,20,steady,0.90,x,>=0.97,",
            "2026-11-26,window-bdp,bbr,slowhand,reference,20,steady,0.96,x,>=0.97,",
            "2026-11-24,window-bdp,reno,slowhand,reference,20,steady,0.10,x,>=0.97,older",
            "2026-11-27,window-bdp,reno,slowhand,earlier engine,20,steady,0.20,x,>=0.97,not current",
            "2026-11-26,window-bdp,reno,slowhand,reference,20,stall_max,173,ms,<=200,",
            "2026-11-26,walk,,egress,reference,,stall_max,201,ms,<=200,",
        ]);
        let table = table("bars: steady, stall_max", &files).unwrap();
        let expected = "| bench | n | steady, × | stall max, ms |\n|---|---|---|---|\n\
            | `window-bdp` | 20 | 0.98 / **0.96** | 173 |\n| walk, egress |  |  | **201** |\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let files = of(&[LINE]);
        let page = format!("before\n{OPEN}bars: steady -->\nstale\n{CLOSE}\nafter\n");
        let fresh = rendered(&page, &files).unwrap();
        assert!(
            fresh.starts_with("before\n<!-- readings bars: steady -->\n| bench |"),
            "{fresh}"
        );
        assert!(
            fresh.ends_with("| `window-bdp` | 20 | 0.98 |\n<!-- /readings -->\nafter\n"),
            "{fresh}"
        );
        assert_eq!(rendered(&fresh, &files).unwrap(), fresh);
    }

    #[test]
    fn a_marker_that_cannot_be_rendered_says_why() {
        let files = of(&[LINE]);
        for (marker, told) in [
            ("bars", "bars: write FILE: METRIC, METRIC"),
            ("b: steady", "b: steady: no file docs/readings/b.csv"),
            ("bars: stall", "bars: stall: no current stall"),
        ] {
            assert_eq!(table(marker, &files).unwrap_err(), told);
        }
        let unclosed = format!("{OPEN}bars: steady -->\n");
        assert!(
            rendered(&unclosed, &files)
                .unwrap_err()
                .starts_with("no <!-- /readings -->")
        );
    }
}
