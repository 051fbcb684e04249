//! docs/recordings.md has every type, field, variant and action of the format, with the numbers of the code.

use std::collections::BTreeSet;
use std::path::Path;

const VALUES: &str = include_str!("../src/values.rs");
const HEADER: &str = include_str!("../src/header.rs");
const ACTS: &str = include_str!("../src/acts.rs");

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recordings.md");
    std::fs::read_to_string(path).unwrap()
}

/// What is between the braces after `macro! `.
fn block<'t>(text: &'t str, macro_: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("\n{macro_}! {{")).unwrap();
    rest.split("\n}\n").next().unwrap()
}

/// The types of a block with what is between the braces of each.
fn types(block: &str) -> Vec<(String, String)> {
    let (mut all, mut depth, mut name, mut body) = (Vec::new(), 0, String::new(), String::new());
    for letter in block.chars() {
        match letter {
            '{' if depth == 0 => depth = 1,
            '}' if depth == 1 => {
                depth = 0;
                let whole = (std::mem::take(&mut name), std::mem::take(&mut body));
                all.push((whole.0.trim().to_owned(), whole.1));
            }
            _ if depth == 0 => name.push(letter),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                body.push(letter);
            }
        }
    }
    all
}

/// Names between separators.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A variant: its number, its name, and its fields.
type Variant = (String, String, Vec<String>);

/// Variants such as `0 Link(link, event), 6 Resumed`. A number begins each.
fn variants(body: &str) -> Vec<Variant> {
    let mut all: Vec<Variant> = Vec::new();
    for word in words(body) {
        let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
        match all.last_mut() {
            _ if is_number => all.push((word, String::new(), Vec::new())),
            Some((_, name, _)) if name.is_empty() => *name = word,
            Some((_, _, fields)) => fields.push(word),
            None => panic!("{word} before a number"),
        }
    }
    all
}

/// The cells of a section's rows, without those of its heading.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = page
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no section {heading}"));
    let lines = rest.lines().take_while(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

#[test]
fn every_structure_has_its_fields_in_order() {
    let page = page();
    let mut all = types(block(VALUES, "structs"));
    all.extend(types(block(HEADER, "structs")));
    assert!(all.len() > 10, "{all:?}");
    for (name, body) in all {
        let shown = rows(&page, &format!("### `{name}`"));
        let shown = Vec::from_iter(shown.into_iter().map(|cells| cells[0].clone()));
        let fields = Vec::from_iter(words(&body).iter().map(|field| quoted(field)));
        assert_eq!(shown, fields, "{name}");
    }
}

#[test]
fn every_choice_has_its_variants_with_their_numbers_and_fields() {
    let page = page();
    let plain = rows(&page, "## Choices without fields");
    let all = types(block(VALUES, "enums"));
    assert!(all.len() > 20, "{all:?}");
    for (name, body) in all {
        let variants = variants(&body);
        if variants.iter().all(|(.., fields)| fields.is_empty()) {
            let list = variants
                .iter()
                .map(|(number, variant, _)| format!("{number} `{variant}`"));
            let row = vec![quoted(&name), Vec::from_iter(list).join(", ")];
            assert!(plain.contains(&row), "{row:?}");
            continue;
        }
        let shown = rows(&page, &format!("### `{name}`"));
        assert_eq!(shown.len(), variants.len(), "{name}");
        for (cells, (number, variant, fields)) in shown.iter().zip(variants) {
            assert_eq!(cells[..2], [number, quoted(&variant)], "{name}");
            let mut rest = cells[2].as_str();
            for field in fields {
                let (_, after) = rest
                    .split_once(&quoted(&field))
                    .unwrap_or_else(|| panic!("{name}::{variant} lacks `{field}`, or has it elsewhere"));
                rest = after;
            }
        }
    }
}

#[test]
fn every_kind_of_number_has_its_unit() {
    let lines = block(VALUES, "numbers").lines();
    let known = BTreeSet::from_iter(lines.filter_map(|line| Some(quoted(line.split_once(':')?.0.trim()))));
    assert!(known.len() > 10, "{known:?}");
    let shown = rows(&page(), "## Values");
    let shown = BTreeSet::from_iter(shown.into_iter().map(|cells| cells[0].clone()));
    assert!(known.is_subset(&shown), "{known:?} {shown:?}");
}

#[test]
fn every_line_of_an_action_is_there() {
    let code = ACTS.split("#[cfg(test)]").next().unwrap();
    let begins = code.split('"').skip(1).step_by(2).filter_map(|text| {
        let (first, rest) = text.split_once(' ')?;
        let is_line = ["link", "conn", "subflow", "radio", "flow", "{}"];
        let second = rest.split(' ').next()?;
        (!first.is_empty() && is_line.contains(&second)).then(|| first.to_owned())
    });
    let known = BTreeSet::from_iter(begins);
    assert!(known.len() > 20, "{known:?}");
    let shown = rows(&page(), "### Actions as text");
    let shown = shown
        .iter()
        .filter_map(|cells| cells[0].trim_matches('`').split(' ').next());
    assert_eq!(BTreeSet::from_iter(shown.map(str::to_owned)), known);
}
