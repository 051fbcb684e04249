//! Checks the form of two documents: CHANGELOG.md has one line for each change, and no cell of a table in
//! ARCHITECTURE.md is too long to be read at a glance.
//!
//! # Sources
//! - <https://keepachangelog.com/en/1.1.0/>: the kinds of changes.

use crate::Findings;
use crate::files::texts;

const CHANGES: &str = "CHANGELOG.md";
const ROOMS: &str = "ARCHITECTURE.md";
/// Longest entry of the change log, in characters.
const LONGEST_ENTRY: usize = 150;
/// Longest cell of a table, in characters.
const LONGEST_CELL: usize = 200;
/// Headings below a version.
const KINDS: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Checks both documents.
pub fn check() -> anyhow::Result<Findings> {
    let files = texts(|path| [CHANGES, ROOMS].contains(&path))?;
    let wrong = files.iter().flat_map(|(path, text)| match path.as_str() {
        CHANGES => changes(text),
        _ => cells(text),
    });
    Ok(Findings {
        looked_at: format!("pages: {} files", files.len()),
        wrong: wrong.collect(),
    })
}

fn changes(text: &str) -> Vec<String> {
    let lines = text.lines().zip(1..);
    let entries = lines.skip_while(|(line, _)| !line.starts_with("## "));
    let wrong = entries.filter_map(|(line, number)| Some(format!("{CHANGES}:{number}: {}", fault(line)?)));
    wrong.collect()
}

/// What is wrong with a line below the first version. A line that ends with a colon names a group of entries.
fn fault(line: &str) -> Option<String> {
    if let Some(kind) = line.strip_prefix("### ") {
        return (!KINDS.contains(&kind))
            .then(|| format!("`{kind}` is no kind of change; use one of {KINDS:?}"));
    }
    let is_known =
        line.is_empty() || line.starts_with("## ") || line.starts_with("- ") || line.ends_with(':');
    if !is_known {
        return Some("write each change in one line that begins with \"- \"".to_owned());
    }
    let length = line.chars().count();
    (length > LONGEST_ENTRY)
        .then(|| format!("{length} characters, the limit is {LONGEST_ENTRY}; say only what a user notices"))
}

fn cells(text: &str) -> Vec<String> {
    let rows = text.lines().zip(1..).filter(|(line, _)| line.starts_with('|'));
    let cells = rows.flat_map(|(line, number)| line.split('|').map(move |cell| (cell.trim(), number)));
    let long = cells.filter(|(cell, _)| cell.chars().count() > LONGEST_CELL);
    long.map(|(cell, number)| {
        let length = cell.chars().count();
        format!("{ROOMS}:{number}: a cell of {length} characters, the limit is {LONGEST_CELL}; split it")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_one_line_below_a_known_kind() {
        let text = "# Changelog\n\nfree text\n\n## [Unreleased]\n\n### Added\n\nBenches:\n\n- a\n- b\n  c\n\n### New\n";
        assert_eq!(changes(text).len(), 2, "{:?}", changes(text));
        assert!(changes(text)[0].starts_with("CHANGELOG.md:13: write each change in one line"));
        assert!(changes(text)[1].starts_with("CHANGELOG.md:15: `New` is no kind of change"));
        let long = format!("## [1.0.0]\n- {}", "x".repeat(LONGEST_ENTRY));
        assert_eq!(changes(&long).len(), 1);
    }

    #[test]
    fn a_long_cell_is_found_and_long_text_is_not() {
        let long = "x".repeat(LONGEST_CELL + 1);
        let found = cells(&format!("{long}\n| a | {long} |\n| b | c |"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("ARCHITECTURE.md:2: a cell of 201 characters"),
            "{found:?}"
        );
    }
}
