//! The page that lists every key is right and complete.

use super::*;
use crate::document;
use crate::section::Log;
use crate::source::Sources;

const PAGE: &str = include_str!("../../../../scenarios/README.md");

/// The example of the page.
fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").expect("the page has an example");
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_documented_example_is_valid_and_has_every_key() {
    let mut sources = Sources::default();
    let source = sources.add("README.md", example());
    let root = document::parse(&sources, source, example()).unwrap();
    let log = Log::new(&sources);
    let files = |name: &str| Ok((name.to_owned(), b"1\n2\n".to_vec()));
    let plan = plan(
        &Section::new(&log, root.at, "the scenario", &root),
        "README",
        &files,
    );
    let keys = log.keys();
    assert_eq!(log.into_problems(), []);
    assert_eq!(plan.links.len(), 14);
    assert!(keys.len() > 90, "{} keys", keys.len());
    // A key stands there as a key, as a table, or in backquotes.
    let mentioned = |key: &str| {
        [
            format!("{key} ="),
            format!("[{key}."),
            format!("[{key}]"),
            format!(".{key}]"),
            format!("`{key}`"),
        ]
        .iter()
        .any(|form| PAGE.contains(form.as_str()))
    };
    let missing: Vec<_> = keys.into_iter().filter(|key| !mentioned(key)).collect();
    assert!(missing.is_empty(), "scenarios/README.md lacks {missing:?}");
}
