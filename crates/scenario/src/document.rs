//! A TOML document as a tree in which every node knows its place in the text.
//!
//! Entries keep the order of the file, because the order of the links names them: `LinkId` in `links` is the
//! index of a link in the plan.

use crate::source::{At, Problem, Sources};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub at: At,
}

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    /// `None`: no `i64` holds it.
    Integer(Option<i64>),
    Float(f64),
    Flag(bool),
    Date,
    Array(Vec<Node>),
    Table(Table),
}

impl Value {
    /// What it is, in words.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::Date => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys and values in the order of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

impl Table {
    /// The entry with that key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entry with that key, to be changed.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

/// Parses the text of source number `source`. If it is not TOML, only the first error is reported: later ones
/// are often caused by it.
pub(crate) fn parse(sources: &Sources, source: usize, text: &str) -> Result<Node, Problem> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let place = |error: &&toml::de::Error| error.span().map_or(text.len(), |span| span.start);
    if let Some(first) = errors.iter().min_by_key(place) {
        return Err(syntax(sources, source, text, first));
    }
    let value = Value::Table(table(document.get_ref(), source, 0));
    Ok(Node {
        value,
        at: At {
            source,
            start: 0,
            end: 0,
        },
    })
}

/// Reads a single value that begins `offset` bytes into source number `source`; `None` if it is not one.
pub(crate) fn parse_value(source: usize, offset: usize, text: &str) -> Option<Node> {
    DeValue::parse(text)
        .ok()
        .map(|value| node(&value, source, offset))
}

fn syntax(sources: &Sources, source: usize, text: &str, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(text.len()..text.len());
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let instead = if message.contains("duplicate key") {
        "each name and key may occur once; rename or remove this one"
    } else {
        "this is not TOML: fix it here (https://toml.io shows the syntax)"
    };
    let at = At {
        source,
        start: span.start,
        end: span.end,
    };
    sources.problem(at, message, instead.to_owned())
}

fn table(from: &DeTable<'_>, source: usize, offset: usize) -> Table {
    let mut entries: Vec<Entry> = from
        .iter()
        .map(|(key, value)| entry(key, value, source, offset))
        .collect();
    entries.sort_by_key(|entry| entry.key_at);
    Table { entries }
}

fn entry(key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>, source: usize, offset: usize) -> Entry {
    Entry {
        key: key.get_ref().to_string(),
        key_at: place(key.span(), source, offset),
        node: node(value, source, offset),
    }
}

fn place(span: std::ops::Range<usize>, source: usize, offset: usize) -> At {
    At {
        source,
        start: span.start + offset,
        end: span.end + offset,
    }
}

fn node(from: &Spanned<DeValue<'_>>, source: usize, offset: usize) -> Node {
    let value = match from.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(digits) => Value::Integer(i64::from_str_radix(digits.as_str(), digits.radix()).ok()),
        DeValue::Float(digits) => Value::Float(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(item, source, offset)).collect()),
        DeValue::Table(items) => Value::Table(table(items, source, offset)),
    };
    Node {
        value,
        at: place(from.span(), source, offset),
    }
}
