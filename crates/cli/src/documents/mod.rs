//! What the documents say is true: the program understands every command in them, and every name in them
//! exists.
//!
//! Covers all Markdown files of the repository and the systemd unit: fenced blocks of shell, and our commands
//! between backquotes. Blocks marked `run` are run, too: `tests/documents.rs`.

pub mod command;
pub mod page;
mod programs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use page::Page;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The part of a page under a heading.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let rest = text.split(&format!("## {heading}\n")).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("there is no section `{heading}`"));
    rest.split("\n## ").next().unwrap_or(rest)
}

/// The text between backquotes in the first cell of each table row.
fn first_cells(text: &str) -> BTreeSet<String> {
    let cells = text
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

/// The scenario files, without their ending.
fn scenarios() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("scenarios")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect()
}

#[test]
fn every_command_in_every_document_parses() {
    let pages = Page::all(&root());
    let mut wrong = Vec::new();
    let mut understood = 0;
    for page in &pages {
        for (line, words) in page.commands() {
            match command::judge(&root(), &words) {
                Ok(()) => understood += 1,
                Err(why) => wrong.push(format!("{}:{line}: {}: {why}", page.path, words.join(" "))),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let documents: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    for needed in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "dist/slowhand.service",
    ] {
        assert!(documents.contains(&needed), "{needed} was not checked");
    }
    assert!(understood > 25, "found only {understood} commands");
}

#[test]
fn every_scenario_is_in_the_readme_and_in_the_list_of_scenarios() {
    let readme = read("README.md");
    let listed: BTreeSet<String> = scenarios()
        .into_iter()
        .filter(|name| readme.contains(&format!("| [{name}](scenarios/{name}.toml) |")))
        .collect();
    assert_eq!(listed, scenarios(), "README.md, Try your own");
    assert_eq!(
        first_cells(read("scenarios/README.md").split("## Every key").next().unwrap()),
        scenarios()
    );
}

/// The README's table of figures has the benchmarks that ask for it, in their order and in the words of their
/// declaration.
#[test]
fn the_readme_quotes_benchmarks_as_they_are_declared() {
    let readme = read("README.md");
    let cells = section(&readme, "How well")
        .lines()
        .filter_map(|line| line.strip_prefix("| `"));
    let cells: Vec<String> = cells
        .filter_map(|rest| Some(format!("`{}", rest.split(" | ").next()?)))
        .collect();
    let quoted = bench::catalogue::figures().filter(|figure| figure.is_quoted);
    let declared: Vec<String> = quoted
        .map(|figure| format!("`{}`: {}", figure.name, figure.what))
        .collect();
    assert_eq!(cells, declared);
}

#[test]
fn every_policy_is_in_the_readme() {
    let readme = read("README.md");
    let told = first_cells(section(&readme, "Policies"));
    let known: BTreeSet<String> = trace::PolicyName::VALID
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(told, known);
}

#[test]
fn every_target_of_make_is_explained_by_make_help() {
    let makefile = read("Makefile");
    for target in command::targets(&makefile) {
        let told = target == "help" || makefile.contains(&format!("@echo 'make {target} "));
        assert!(told, "make help does not list {target}");
    }
}
