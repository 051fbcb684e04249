//! Checks how comments, documents and messages read: the width of comments, words with a plain replacement,
//! and tests named by "Checked by".

use std::collections::BTreeSet;

use crate::Findings;
use crate::files::{ends_in, listed, texts};

/// Comments keep to the width of the code, in columns.
const WIDEST_COMMENT: usize = 110;
const COMMENTED: &[&str] = &[".rs", ".c", ".h", ".sh"];
const PROSE: &[&str] = &[".rs", ".c", ".h", ".sh", ".md", ".toml"];
/// This file and the table of words name what they forbid.
const EXEMPT: &[&str] = &["xtask/src/prose.rs", "CONTRIBUTING.md"];

/// Wording that has a plainer one. Whole words, in any case.
const WORDS: &[(&str, &str)] = &[
    ("put by", "demoted"),
    ("is told of", "reports, or is notified of"),
    ("are told of", "report, or are notified of"),
    ("brings", "carries, for a rate"),
    ("so long", "for this long"),
    ("what stands", "the backlog"),
    ("is asked", "is probed"),
    ("are asked", "are probed"),
    ("looked at", "polled, or checked"),
    ("in vain", "wasted, or without effect"),
    ("worth a word", "worth reporting"),
    ("taken for", "mistaken for"),
    ("a reading", "a measurement"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("goes on", "continues"),
    ("go on", "continue"),
    ("under way", "in flight"),
    ("in doubt", "suspect"),
];

/// The width of comments, and whether what "Checked by" names exists.
pub fn comments() -> anyhow::Result<Findings> {
    let files = texts(|path| ends_in(path, COMMENTED))?;
    let tree = Tree::new()?;
    let wrong = files.iter().flat_map(|(path, text)| {
        let mut wrong = wide(path, text);
        wrong.extend(unchecked(path, text, &tree));
        wrong
    });
    Ok(Findings {
        looked_at: format!("comments: {} files", files.len()),
        wrong: wrong.collect(),
    })
}

/// Wording that has a plainer one.
pub fn words() -> anyhow::Result<Findings> {
    let files = texts(|path| ends_in(path, PROSE) && !EXEMPT.contains(&path))?;
    Ok(Findings {
        looked_at: format!("words: {} files", files.len()),
        wrong: files.iter().flat_map(|(path, text)| odd(path, text)).collect(),
    })
}

fn wide(path: &str, text: &str) -> Vec<String> {
    let is_comment = |line: &str| {
        ["//", "*", "/*", "# "]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    };
    let lines = text.lines().enumerate();
    let wide = lines.filter(|(_, line)| is_comment(line) && line.chars().count() > WIDEST_COMMENT);
    // A link cannot be broken.
    let wide = wide.filter(|(_, line)| !line.contains("://"));
    wide.map(|(number, _)| {
        format!(
            "{path}:{}: the comment is wider than {WIDEST_COMMENT} columns",
            number + 1
        )
    })
    .collect()
}

fn odd(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (odd, plain) in WORDS {
            if has_words(&line, odd) {
                found.push(format!(
                    "{path}:{}: write \"{plain}\" instead of \"{odd}\"",
                    number + 1
                ));
            }
        }
    }
    found
}

/// Whether a line contains the phrase as whole words.
fn has_words(line: &str, words: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(words).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + words.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

/// Names that exist: files, words of code, and modules.
struct Tree {
    /// Every file's path, without `.rs`.
    files: Vec<String>,
    /// Every word of code outside comments.
    words: BTreeSet<String>,
    /// Modules that stand in the file of another one, as in `crates/a/src/b/tests`.
    inner: BTreeSet<String>,
}

impl Tree {
    fn new() -> anyhow::Result<Self> {
        let code = texts(|path| ends_in(path, &[".rs", ".c", ".h", ".sh"]))?;
        let mut tree = Self {
            files: listed()?.iter().map(|file| bare(file)).collect(),
            words: BTreeSet::new(),
            inner: BTreeSet::new(),
        };
        for (path, text) in &code {
            tree.words.extend(code_words(text));
            let module = bare(path);
            let folder = module.strip_suffix("/mod").unwrap_or(&module).to_owned();
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix("mod ")?.split([' ', ';']).next());
            tree.inner.extend(lines.map(|name| format!("{folder}/{name}")));
        }
        Ok(tree)
    }

    /// Whether a name in backticks, in the file at `path`, exists: a file, a module, or a word of code such
    /// as a benchmark's name.
    fn has(&self, path: &str, named: &str) -> bool {
        let named = named.rsplit(' ').next().unwrap_or(named).trim_end_matches('/');
        if let Some(start) = named.strip_suffix('…') {
            return self.words.iter().any(|word| word.starts_with(start));
        }
        let tail = bare(&named.replace("::", "/"));
        let tail = tail.trim_start_matches("crate/").trim_start_matches("super/");
        let file = bare(path);
        let own = format!("{}/{tail}", file.strip_suffix("/mod").unwrap_or(&file));
        if tail.contains('/') || tail.contains("tests") || tail.contains('.') {
            return self.is_module(&own) || self.is_module(tail) || self.is_item(tail);
        }
        self.words.contains(tail)
    }

    /// Whether a file, a folder or a module ends like this.
    fn is_module(&self, tail: &str) -> bool {
        let (below, within) = (format!("/{tail}"), format!("/{tail}/"));
        let is = |path: &String| {
            path == tail || path.starts_with(&within[1..]) || path.ends_with(&below) || path.contains(&within)
        };
        self.files.iter().chain(&self.inner).any(is)
    }

    /// Whether `module/item` is a word of code, with a module that there is.
    fn is_item(&self, tail: &str) -> bool {
        let split = tail.rsplit_once('/');
        split.is_some_and(|(module, item)| {
            let is_type = module.starts_with(char::is_uppercase) && self.words.contains(module);
            self.words.contains(item) && (is_type || self.is_module(module))
        })
    }
}

fn bare(path: &str) -> String {
    path.strip_suffix(".rs").unwrap_or(path).to_owned()
}

/// The words of code, with the hyphens in them.
fn code_words(text: &str) -> BTreeSet<String> {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-'))
        .map(str::to_owned)
        .collect()
}

/// Names in backticks under "Checked by" that nothing has.
fn unchecked(path: &str, text: &str, tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let mut within = false;
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//!") else {
            within = false;
            continue;
        };
        let comment = comment.trim_start();
        if comment.starts_with('#') {
            within = comment.contains("Checked by");
            continue;
        }
        if within {
            let named = comment.split('`').skip(1).step_by(2);
            let missing = named.filter(|named| !tree.has(path, named));
            found.extend(missing.map(|named| {
                format!(
                    "{path}:{}: \"Checked by\" names `{named}`, which does not exist",
                    number + 1
                )
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_comment_is_found_and_wide_code_is_not() {
        let (comment, code) = (
            format!("// {}", "x".repeat(110)),
            format!("let y = {};", "x".repeat(110)),
        );
        assert_eq!(
            wide("a.rs", &format!("{code}\n{comment}\n")),
            ["a.rs:2: the comment is wider than 110 columns"]
        );
    }

    #[test]
    fn refused_words_are_found_as_whole_words_with_a_replacement() {
        assert_eq!(
            odd("a.md", "fine\nIt Goes on.\namended, so longer"),
            ["a.md:2: write \"continues\" instead of \"goes on\""]
        );
    }

    #[test]
    fn checked_by_must_name_something_that_exists() {
        let tree = Tree {
            files: ["crates/a/tests/b", "crates/a/src/x", "golden/x.csv"]
                .map(str::to_owned)
                .into(),
            words: code_words("mod tests;\nfn holds() {}\nname(\"window-equal\") // gone"),
            inner: BTreeSet::from(["crates/a/src/x/tests".to_owned()]),
        };
        let text = "//! # Checked by\n//! `tests/b.rs`, `x::tests`, `tests`, `holds`, `window-…`, `golden/x.csv`,\n//! `tests/c.rs`, `gone`, `y::tests`.\n//! # Sources\n//! `no`";
        assert_eq!(
            unchecked("crates/a/src/x.rs", text, &tree),
            [
                "crates/a/src/x.rs:3: \"Checked by\" names `tests/c.rs`, which does not exist",
                "crates/a/src/x.rs:3: \"Checked by\" names `gone`, which does not exist",
                "crates/a/src/x.rs:3: \"Checked by\" names `y::tests`, which does not exist"
            ]
        );
    }
}
