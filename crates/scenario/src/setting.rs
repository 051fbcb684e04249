//! `--set KEY=V,V…`: values from the command line that replace those of the file.
//!
//! A key is a dotted path as in TOML: `cells.lte.rate_mbps`, `faults.0.at_s` (lists are counted from 0). A value is TOML, or a
//! bare word that stands for text. Several values, separated by commas, are several runs.

use crate::document::{self, Entry, Node, Table, Value};
use crate::source::{At, Problem, Sources};
use crate::suggest;
use std::fmt;

/// One key and one value from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    key: String,
    value: String,
}

/// Why a `--set` is no setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is no `=`.
    #[error("--set {0}: there is no value; write KEY=VALUE, for example cells.lte.rate_mbps=6")]
    NoValue(String),
    /// A part of the key is empty.
    #[error(
        "--set {0}: a part of the key is empty; write it as table.name.key, for example aps.ap1.channel=11"
    )]
    EmptyKey(String),
    /// One of the values is empty.
    #[error("--set {0}: a value is empty; give one after each = and comma")]
    EmptyValue(String),
}

impl Setting {
    /// The settings that `KEY=V,V…` stands for, one for each value.
    pub fn alternatives(text: &str) -> Result<Vec<Self>, SettingError> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| SettingError::NoValue(text.to_owned()))?;
        let key = key.trim();
        if key.split('.').any(|part| part.trim().is_empty()) {
            return Err(SettingError::EmptyKey(text.to_owned()));
        }
        let one = |value: &str| match value.trim() {
            "" => Err(SettingError::EmptyValue(text.to_owned())),
            value => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
            }),
        };
        split_values(values).into_iter().map(one).collect()
    }

    /// The dotted key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as it was written.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Puts the value into the document.
    pub(crate) fn apply(&self, sources: &mut Sources, root: &mut Node) -> Result<(), Problem> {
        let source = sources.add("--set", &self.to_string());
        let value = self.parse_value(sources, source)?;
        let parts: Vec<Part<'_>> = parts(&self.key, source);
        insert(root, &parts, value).map_err(|lost| lost.problem(sources))
    }

    fn parse_value(&self, sources: &Sources, source: usize) -> Result<Node, Problem> {
        let start = self.key.len() + 1;
        let at = At {
            source,
            start,
            end: start + self.value.len(),
        };
        let bare = |c: char| c.is_alphanumeric() || "._/+-:".contains(c);
        match document::parse_value(source, start, &self.value) {
            Some(node) => Ok(node),
            None if self.value.chars().all(bare) => Ok(Node {
                value: Value::Text(self.value.clone()),
                at,
            }),
            None => Err(sources.problem(
                at,
                format!("`{}` is neither a TOML value nor a plain word", self.value),
                "put text in double quotes".to_owned(),
            )),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Splits at commas that are not inside quotes or brackets.
fn split_values(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start, mut values) = (0_i32, None, 0, Vec::new());
    for (index, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                values.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    values.push(&text[start..]);
    values
}

/// One part of a dotted key.
struct Part<'k> {
    name: &'k str,
    at: At,
}

fn parts(key: &str, source: usize) -> Vec<Part<'_>> {
    let mut start = 0;
    let place = |part: &'_ str, start: usize| At {
        source,
        start,
        end: start + part.len(),
    };
    key.split('.')
        .map(|part| {
            let at = place(part, start);
            start = at.end + 1;
            Part {
                name: part.trim(),
                at,
            }
        })
        .collect()
}

/// A part of a key that leads nowhere.
struct Lost {
    at: At,
    what: String,
    instead: String,
}

impl Lost {
    fn problem(self, sources: &Sources) -> Problem {
        sources.problem(self.at, self.what, self.instead)
    }
}

/// Tables that a setting may create: there is one of each, so that a typing error cannot make a new link.
const SINGLE: [&str; 2] = ["place", "report"];

fn insert(node: &mut Node, parts: &[Part<'_>], value: Node) -> Result<(), Lost> {
    let Some((first, rest)) = parts.split_first() else {
        *node = value;
        return Ok(());
    };
    match &mut node.value {
        Value::Table(table) => insert(step(table, first, rest.is_empty())?, rest, value),
        Value::Array(items) => insert(item(items, first)?, rest, value),
        other => Err(Lost {
            at: first.at,
            what: format!("`{}` would be inside {}", first.name, other.kind()),
            instead: "end the key one part earlier".to_owned(),
        }),
    }
}

/// The value under `part`; made if it is the key's last part, where reading the plan will judge it.
fn step<'t>(table: &'t mut Table, part: &Part<'_>, last: bool) -> Result<&'t mut Node, Lost> {
    if table.entry(part.name).is_none() {
        if !last && !SINGLE.contains(&part.name) {
            return Err(nothing_there(table, part));
        }
        let node = Node {
            value: Value::Table(Table::default()),
            at: part.at,
        };
        table.entries.push(Entry {
            key: part.name.to_owned(),
            key_at: part.at,
            node,
        });
    }
    let entry = table
        .entry_mut(part.name)
        .expect("it is there or was just put there");
    Ok(&mut entry.node)
}

fn nothing_there(table: &Table, part: &Part<'_>) -> Lost {
    let known: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
    let instead = match suggest::nearest(part.name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("here the file has {}", suggest::one_of(known)),
    };
    Lost {
        at: part.at,
        what: format!("the scenario has no `{}` here", part.name),
        instead,
    }
}

fn item<'n>(items: &'n mut [Node], part: &Part<'_>) -> Result<&'n mut Node, Lost> {
    let count = items.len();
    let index = part.name.parse::<usize>().ok().filter(|&index| index < count);
    let lost = || Lost {
        at: part.at,
        what: format!("`{}` is no place in a list of {count}", part.name),
        instead: format!("count from 0 to {}", count.saturating_sub(1)),
    };
    index.and_then(|index| items.get_mut(index)).ok_or_else(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Setting::alternatives(text)
            .unwrap()
            .into_iter()
            .map(|setting| setting.value)
            .collect()
    }

    #[test]
    fn several_values_are_several_settings() {
        assert_eq!(values("cells.lte.rate_mbps=6,12"), ["6", "12"]);
        assert_eq!(values("aps.ap1.at_m=[1,2],[3,4]"), ["[1,2]", "[3,4]"]);
        assert_eq!(values("sentence=\"a, b\""), ["\"a, b\""]);
    }

    #[test]
    fn says_what_is_missing() {
        let message = |text: &str| Setting::alternatives(text).unwrap_err().to_string();
        assert_eq!(
            message("rate"),
            "--set rate: there is no value; write KEY=VALUE, for example cells.lte.rate_mbps=6"
        );
        assert!(message("a..b=1").contains("a part of the key is empty"));
        assert!(message("a=1,").contains("a value is empty"));
    }
}
