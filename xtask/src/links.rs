//! Every link in a Markdown file leads somewhere: to a file of the repository, and to a heading of that file.
//!
//! Network addresses are not fetched: a check must not fail because a remote server does.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::Findings;
use crate::files::{listed, texts};

/// Checks every Markdown file of the repository.
pub fn check() -> anyhow::Result<Findings> {
    let paths = listed()?;
    let pages: BTreeMap<String, String> = texts(|path| path.ends_with(".md"))?.into_iter().collect();
    let mut wrong = Vec::new();
    for (path, text) in &pages {
        for (line, target) in targets(text) {
            if let Some(fault) = fault(path, &target, &paths, &pages) {
                wrong.push(format!("{path}:{line}: {target}: {fault}"));
            }
        }
    }
    Ok(Findings {
        looked_at: format!("links: {} pages", pages.len()),
        wrong,
    })
}

fn fault(page: &str, target: &str, paths: &[String], pages: &BTreeMap<String, String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target
        .split_once('#')
        .map_or((target, None), |(file, heading)| (file, Some(heading)));
    let file = if file.is_empty() {
        page.to_owned()
    } else {
        beside(page, file)
    };
    let known = paths
        .iter()
        .any(|path| *path == file || path.starts_with(&format!("{}/", file.trim_end_matches('/'))));
    if !known {
        return Some(format!("no file {file}"));
    }
    let heading = heading?;
    let text = pages.get(&file)?;
    let found = headings(text).iter().any(|slug| slug == heading);
    (!found).then(|| format!("no heading #{heading} in {file}"))
}

/// `target` as seen from `page`, without `.` and `..`.
fn beside(page: &str, target: &str) -> String {
    let joined = Path::new(page).parent().unwrap_or(Path::new("")).join(target);
    let mut clean = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean.to_string_lossy().into_owned()
}

/// Lines outside fenced code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// Finds every link target, with its line: `](target)`, `[name]: target`, `src="target"` and `href="target"`.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        let inline = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ']).next());
        let named = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(_, target)| target.trim());
        let quoted = ["src=\"", "href=\"", "srcset=\""].iter().flat_map(|start| {
            line.split(start)
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
        });
        found.extend(
            inline
                .chain(named)
                .chain(quoted)
                .map(|target| (number, target.to_owned())),
        );
    }
    found
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The anchors that a forge makes of the headings: lower case, spaces to hyphens, punctuation dropped.
fn headings(text: &str) -> Vec<String> {
    let slug = |heading: &str| {
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    let heading =
        |(_, line): (usize, &str)| line.starts_with('#').then(|| slug(line.trim_start_matches('#')));
    prose(text).into_iter().filter_map(heading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(target: &str) -> Option<String> {
        let paths = ["docs/a.md", "README.md", "crates/x/src/lib.rs"].map(str::to_owned);
        let pages = BTreeMap::from([("README.md".to_owned(), "# Two words, here\n".to_owned())]);
        fault("docs/a.md", target, &paths, &pages)
    }

    #[test]
    fn follows_files_folders_and_headings() {
        for good in [
            "../README.md",
            "../crates/x",
            "../README.md#two-words-here",
            "https://example.org/x",
            "a.md",
        ] {
            assert_eq!(fault_of(good), None, "{good}");
        }
        for bad in ["README.md", "../README.md#three", "../crates/y", "../docs/b.md"] {
            assert!(fault_of(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn finds_every_kind_of_link_and_none_in_code() {
        let text = "[a](b.md) and ![c](d.svg \"title\")\n[e]: f.md\n<img src=\"g.svg\">\n`[no](h.md)`\n```\n[no](i.md)\n```\n";
        let found: Vec<String> = targets(text).into_iter().map(|(_, target)| target).collect();
        assert_eq!(found, ["b.md", "d.svg", "f.md", "g.svg"]);
    }
}
