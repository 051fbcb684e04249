//! `--set KEY=V,V…`: values from the command line that replace those of the file.
//!
//! A key is a dotted path as in TOML: `cells.lte.rate_mbps`, `faults.0.at_s` (lists are counted from 0). A
//! value is TOML, or a bare word that stands for text. Several values, separated by commas, are several runs.

use crate::document::{self, Entry, Node, Table, Value};
use crate::source::{At, Problem, Sources};
use crate::suggest;
use std::fmt;
use trace::Shown;

/// A value by its type, for tables.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedValue {
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// True or false.
    Flag(bool),
    /// Text, or what has no type of its own, as it was written.
    Text(String),
}

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
    #[error("--set {}: there is no value; write KEY=VALUE, for example cells.lte.rate_mbps=6", Shown(.0))]
    NoValue(String),
    /// A part of the key is empty.
    #[error(
        "--set {}: a part of the key is empty; write it as table.name.key, for example aps.ap1.channel=11",
        Shown(.0)
    )]
    EmptyKey(String),
    /// One of the values is empty.
    #[error("--set {}: a value is empty; give one after each = and comma", Shown(.0))]
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

    /// The value by its type.
    pub fn given(&self) -> TypedValue {
        match document::parse_value(0, 0, &self.value).map(|node| node.value) {
            Some(Value::Integer(Some(whole))) => TypedValue::Integer(whole),
            Some(Value::Float(number)) => TypedValue::Real(number),
            Some(Value::Flag(flag)) => TypedValue::Flag(flag),
            Some(Value::Text(text)) => TypedValue::Text(text),
            _ => TypedValue::Text(self.value.clone()),
        }
    }

    /// Puts the value into the document, and makes tables where the key needs them. If it made a named thing
    /// or a list item, it returns the problem to report in case that is incomplete.
    pub(crate) fn apply(
        &self,
        sources: &mut Sources,
        root: &mut Node,
    ) -> Result<Option<(At, Problem)>, Problem> {
        let source = sources.add("--set", &self.to_string());
        let value = self.parse_value(sources, source)?;
        let parts: Vec<Part<'_>> = parts(&self.key, source);
        let mut made = None;
        insert(root, &parts, value, 0, &mut made).map_err(|lost| lost.problem(sources))?;
        Ok(made.map(|lost| (lost.at, lost.problem(sources))))
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
                format!("`{}` is neither a TOML value nor a single word", self.value),
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
    /// The part before it; nothing before the first.
    above: &'k str,
    at: At,
}

fn parts(key: &str, source: usize) -> Vec<Part<'_>> {
    let (mut start, mut above) = (0, "");
    let place = |part: &'_ str, start: usize| At {
        source,
        start,
        end: start + part.len(),
    };
    key.split('.')
        .map(|part| {
            let at = place(part, start);
            start = at.end + 1;
            let name = part.trim();
            Part {
                name,
                above: std::mem::replace(&mut above, name),
                at,
            }
        })
        .collect()
}

/// A part of a key that leads nowhere.
struct BadKey {
    at: At,
    what: String,
    instead: String,
}

impl BadKey {
    fn problem(self, sources: &Sources) -> Problem {
        sources.problem(self.at, self.what, self.instead)
    }
}

/// Tables of a scenario of which there is one each.
const SINGLE: [&str; 5] = ["place", "air", "tcp", "relay", "report"];
/// Tables of things with names.
const NAMED: [&str; 7] = [
    "aps",
    "cells",
    "cables",
    "bottlenecks",
    "walkers",
    "flows",
    "noises",
];
/// Lists of tables at the top of a scenario.
const TOP_LISTS: [&str; 3] = ["faults", "losses", "expect"];
/// Lists of tables within others.
const INNER_LISTS: [&str; 4] = ["walls", "labels", "holes", "way"];

/// `depth` is how many parts of the key led here. A thing that was not there goes to `made`.
fn insert(
    node: &mut Node,
    parts: &[Part<'_>],
    value: Node,
    depth: usize,
    made: &mut Option<BadKey>,
) -> Result<(), BadKey> {
    let Some((first, rest)) = parts.split_first() else {
        *node = value;
        return Ok(());
    };
    let next = match &mut node.value {
        Value::Table(table) if depth == 0 => step(table, first, rest, &TOP_LISTS, nowhere)?,
        Value::Table(table) => step(table, first, rest, inner_lists(depth, first), |table, part| {
            // A table made for `place.fading.…` has no name that could be wrong: reading the plan judges its
            // key.
            if depth == 1 && NAMED.contains(&part.above) {
                *made = Some(nothing_there(table, part));
            }
            Ok(())
        })?,
        Value::Array(items) => item(items, first, rest, made)?,
        other => {
            return Err(BadKey {
                at: first.at,
                what: format!("`{}` would be inside {}", first.name, other.kind()),
                instead: "end the key one part earlier".to_owned(),
            });
        }
    };
    insert(next, rest, value, depth + 1, made)
}

/// Names of lists in the table of a key's part, which is not the first. What has a name of its own is no
/// list.
fn inner_lists(depth: usize, part: &Part<'_>) -> &'static [&'static str] {
    match depth == 1 && NAMED.contains(&part.above) {
        true => &[],
        false => &INNER_LISTS,
    }
}

/// The value under `part`. If it is missing, it is made, and reading the plan will judge it. `lists` are the
/// names of lists here. `missing` may object if the key has more parts.
fn step<'t>(
    table: &'t mut Table,
    part: &Part<'_>,
    rest: &[Part<'_>],
    lists: &[&str],
    missing: impl FnOnce(&Table, &Part<'_>) -> Result<(), BadKey>,
) -> Result<&'t mut Node, BadKey> {
    if table.entry(part.name).is_none() {
        if !rest.is_empty() {
            missing(table, part)?;
        }
        let value = if lists.contains(&part.name) {
            Value::Array(Vec::new())
        } else {
            Value::Table(Table::default())
        };
        table.entries.push(Entry {
            key: part.name.to_owned(),
            key_at: part.at,
            node: Node { value, at: part.at },
        });
    }
    let entry = table
        .entry_mut(part.name)
        .expect("it is there or was just put there");
    Ok(&mut entry.node)
}

/// At the top of a scenario there are only so many tables.
fn nowhere(table: &Table, part: &Part<'_>) -> Result<(), BadKey> {
    let known = || SINGLE.into_iter().chain(NAMED).chain(TOP_LISTS);
    if known().any(|name| name == part.name) {
        return Ok(());
    }
    let there = table.entries.iter().map(|entry| entry.key.as_str());
    let instead = match suggest::nearest(part.name, known().chain(there)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the first part of a key must be {}", suggest::one_of(known())),
    };
    Err(BadKey {
        at: part.at,
        what: format!("scenarios have no table `{}`", part.name),
        instead,
    })
}

fn nothing_there(table: &Table, part: &Part<'_>) -> BadKey {
    let known: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
    let instead = match suggest::nearest(part.name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "set all its required keys, or add it to the file".to_owned(),
        None => format!(
            "the file has {} here; for a new one, set all its required keys",
            suggest::one_of(known)
        ),
    };
    BadKey {
        at: part.at,
        what: format!("the scenario has no `{}` here", part.name),
        instead,
    }
}

/// An item of a list, counted from 0; the one behind the last is a new one.
fn item<'n>(
    items: &'n mut Vec<Node>,
    part: &Part<'_>,
    rest: &[Part<'_>],
    made: &mut Option<BadKey>,
) -> Result<&'n mut Node, BadKey> {
    let count = items.len();
    let lost = || BadKey {
        at: part.at,
        what: format!("`{}` is not an index of this list of {count}", part.name),
        instead: match count {
            0 => "use 0 for a new item, and set all its required keys".to_owned(),
            _ => format!(
                "use 0 to {}, or {count} for a new item with all its required keys",
                count - 1
            ),
        },
    };
    let index = part.name.parse::<usize>().ok().filter(|&index| index <= count);
    let index = index.ok_or_else(lost)?;
    if index == count {
        if !rest.is_empty() {
            *made = Some(lost());
        }
        items.push(Node {
            value: Value::Table(Table::default()),
            at: part.at,
        });
    }
    Ok(&mut items[index])
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
    fn a_value_has_its_type() {
        let given = |value: &str| Setting::alternatives(&format!("k={value}")).unwrap()[0].given();
        let text = |text: &str| TypedValue::Text(text.to_owned());
        let table = [
            ("54", TypedValue::Integer(54)),
            ("0x10", TypedValue::Integer(16)),
            ("5.5", TypedValue::Real(5.5)),
            ("true", TypedValue::Flag(true)),
            ("auto", text("auto")),
            ("\"a b\"", text("a b")),
            ("[1, 2]", text("[1, 2]")),
            ("99999999999999999999", text("99999999999999999999")),
        ];
        for (value, expected) in table {
            assert_eq!(given(value), expected, "{value}");
        }
    }

    #[test]
    fn errors_name_the_missing_part() {
        let message = |text: &str| Setting::alternatives(text).unwrap_err().to_string();
        assert_eq!(
            message("rate"),
            "--set rate: there is no value; write KEY=VALUE, for example cells.lte.rate_mbps=6"
        );
        assert!(message("a..b=1").contains("a part of the key is empty"));
        assert!(message("a=1,").contains("a value is empty"));
    }
}
