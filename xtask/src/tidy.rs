//! Finds what a reader should not meet: paths of one machine, unfinished work, tests that never run, and
//! files too long to read.

use crate::Findings;
use crate::files::{ends_in, texts};

const SOURCES: &[&str] = &[
    ".rs", ".c", ".h", ".sh", ".toml", ".md", ".js", ".css", ".html", ".service", "Makefile",
];
const CODE: &[&str] = &[".rs", ".c", ".h"];
/// Past this a file holds more than one concern.
const LONGEST_FILE: usize = 600;

/// A piece of text that must not occur, and what to do instead.
struct Banned {
    text: &'static str,
    instead: &'static str,
    only_code: bool,
}

// Written in two halves, so that this file passes its own rule.
const BANNED: &[Banned] = &[
    Banned {
        text: concat!("/wo", "rk/"),
        instead: "a path of one machine; use a relative path",
        only_code: false,
    },
    Banned {
        text: concat!("/ro", "ot/"),
        instead: "a path of one machine; use a relative path",
        only_code: false,
    },
    Banned {
        text: concat!("/ho", "me/"),
        instead: "a path of one machine; use a relative path",
        only_code: false,
    },
    Banned {
        text: concat!("/tm", "p/"),
        instead: "use std::env::temp_dir or mktemp",
        only_code: false,
    },
    Banned {
        text: concat!("TO", "DO"),
        instead: "finish it, or open an issue",
        only_code: false,
    },
    Banned {
        text: concat!("FIX", "ME"),
        instead: "finish it, or open an issue",
        only_code: false,
    },
    Banned {
        text: concat!("to", "do!("),
        instead: "finish it",
        only_code: true,
    },
    Banned {
        text: concat!("unimple", "mented!("),
        instead: "finish it",
        only_code: true,
    },
    Banned {
        text: concat!("#[ig", "nore"),
        instead: "print \"skipped: REASON\" when it cannot run here",
        only_code: true,
    },
];

/// Looks through every text of the repository.
pub fn check() -> anyhow::Result<Findings> {
    let files = texts(|path| ends_in(path, SOURCES))?;
    let wrong = files.iter().flat_map(|(path, text)| faults(path, text)).collect();
    Ok(Findings {
        looked_at: format!("tidy: {} files", files.len()),
        wrong,
    })
}

fn faults(path: &str, text: &str) -> Vec<String> {
    let code = ends_in(path, CODE);
    let banned = |(number, line): (usize, &str)| {
        let hit = BANNED
            .iter()
            .find(|banned| (code || !banned.only_code) && line.contains(banned.text))?;
        Some(format!("{path}:{}: {} ({})", number + 1, hit.text, hit.instead))
    };
    let mut faults: Vec<String> = text.lines().enumerate().filter_map(banned).collect();
    let lines = text.lines().count();
    if code && lines > LONGEST_FILE {
        faults.push(format!(
            "{path}: {lines} lines, the limit is {LONGEST_FILE}; split it by concern"
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_path_is_found_with_its_line() {
        let text = format!("fine\nsee {}/x\n", concat!("/ro", "ot"));
        let found = faults("a.md", &text);
        assert!(found[0].starts_with("a.md:2: "), "{found:?}");
    }

    #[test]
    fn a_long_file_is_found_only_if_it_is_code() {
        let text = "line\n".repeat(LONGEST_FILE + 1);
        assert_eq!(faults("a.md", &text).len(), 0);
        assert_eq!(faults("a.rs", &text).len(), 1);
    }
}
