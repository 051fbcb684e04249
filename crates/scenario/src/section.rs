//! Reads tables into typed values, and notes a problem for everything that is wrong.
//!
//! A [`Section`] is one table of the file. Each getter notes the key as known; [`Section::finish`] then
//! refuses the keys that nobody asked for. A getter that finds something wrong says so in the [`Log`] and
//! returns `None`, so one pass over a file finds all of its problems. A plan is returned only if the log is
//! empty.

use crate::document::{Entry, Node, Table, Value};
use crate::quantity::Quantity;
use crate::source::{At, Problem, Sources};
use crate::suggest;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use trace::Spot;
use units::Duration;

/// The problems found so far.
#[derive(Debug)]
pub(crate) struct Log<'s> {
    sources: &'s Sources,
    found: RefCell<Vec<(At, Problem)>>,
    keys: RefCell<BTreeSet<&'static str>>,
}

impl<'s> Log<'s> {
    /// Creates a log without problems.
    pub fn new(sources: &'s Sources) -> Self {
        Self {
            sources,
            found: RefCell::default(),
            keys: RefCell::default(),
        }
    }

    /// Notes what is wrong at that place, and what would be right.
    pub fn note(&self, at: At, what: impl Into<String>, instead: impl Into<String>) {
        let problem = self.sources.problem(at, what.into(), instead.into());
        self.note_problem(at, problem);
    }

    /// Notes a problem in another file that the value at that place leads to.
    pub fn note_problem(&self, at: At, problem: Problem) {
        self.found.borrow_mut().push((at, problem));
    }

    /// A place in the texts as users see it.
    pub fn spot(&self, at: At) -> Spot {
        self.sources.spot(at)
    }

    /// Every key that a getter asked for.
    #[cfg(test)]
    pub fn keys(&self) -> BTreeSet<&'static str> {
        self.keys.borrow().clone()
    }

    /// Replaces problems of an incomplete thing that a setting made: the thing did not exist, so most likely
    /// its name is wrong.
    pub fn explain(&self, made: Vec<(At, Problem)>) {
        let mut found = self.found.borrow_mut();
        for (at, problem) in made {
            let before = found.len();
            found.retain(|(place, _)| *place != at);
            if found.len() < before {
                found.push((at, problem));
            }
        }
    }

    /// All problems in the order of the file, each once: two readers may have read one value, and two keys
    /// may lead to one file.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        let mut known = HashSet::new();
        let is_new: Vec<bool> = found.iter().map(|(_, problem)| known.insert(problem)).collect();
        let problems = found.into_iter().map(|(_, problem)| problem).zip(is_new);
        problems
            .filter_map(|(problem, is_new)| is_new.then_some(problem))
            .collect()
    }
}

/// One table of the file.
pub(crate) struct Section<'d> {
    /// Where problems go.
    pub log: &'d Log<'d>,
    /// Where the table begins: its name, or its first brace.
    pub at: At,
    /// What it is, as messages call it: `access point "ap1"`.
    pub what: String,
    /// `None`: the value is no table, which has been noted.
    table: Option<&'d Table>,
    known: RefCell<Vec<&'static str>>,
}

impl<'d> Section<'d> {
    /// The table under a node; anything else is noted, and nothing is missed in it.
    pub fn new(log: &'d Log<'d>, at: At, what: impl Into<String>, node: &'d Node) -> Self {
        let what = what.into();
        let table = match &node.value {
            Value::Table(table) => Some(table),
            other => {
                log.note(
                    node.at,
                    format!("{what} is {}", other.kind()),
                    "make it a table: [name] or { key = value }",
                );
                None
            }
        };
        Self {
            log,
            at,
            what,
            table,
            known: RefCell::default(),
        }
    }

    /// The entry with that key, if the file has it.
    pub fn entry(&self, key: &'static str) -> Option<&'d Entry> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.table?.entry(key)
    }

    /// Whether the file has that key.
    pub fn has(&self, key: &'static str) -> bool {
        self.entry(key).is_some()
    }

    /// The place of the key's value, or of the table if there is none.
    pub fn place_of(&self, key: &'static str) -> At {
        self.entry(key).map_or(self.at, |entry| entry.node.at)
    }

    /// Notes something wrong with the value of a key.
    pub fn note(&self, key: &'static str, what: impl Into<String>, instead: impl Into<String>) {
        self.log.note(self.place_of(key), what, instead);
    }

    /// Notes that a key is missing.
    pub fn missing(&self, key: &str, instead: &str) {
        if self.table.is_none() {
            return;
        }
        self.log.note(
            self.at,
            format!("{} has no `{key}`", self.what),
            format!("add {instead}"),
        );
    }

    /// Notes it if something would begin only after the run's end.
    pub fn before_the_end(&self, key: &'static str, begin: Duration, run: Duration) {
        if begin >= run {
            let what = format!(
                "this would begin after {} s, when the run has ended",
                begin.as_secs_f64()
            );
            self.note(
                key,
                what,
                format!(
                    "begin before {} s, or make `duration_s` longer",
                    run.as_secs_f64()
                ),
            );
        }
    }

    /// Refuses every key that no getter asked for; the message suggests a known one or lists them.
    pub fn finish(&self) {
        let known = self.known.borrow();
        self.log.keys.borrow_mut().extend(known.iter());
        let entries = self.table.into_iter().flat_map(|table| &table.entries);
        for entry in entries.filter(|entry| !known.contains(&entry.key.as_str())) {
            let instead = match suggest::nearest(&entry.key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            self.log.note(
                entry.key_at,
                format!("unknown key `{}` in {}", entry.key, self.what),
                instead,
            );
        }
    }

    fn wrong(&self, entry: &Entry, expected: &str) {
        let found = match &entry.node.value {
            Value::Text(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
            Value::Integer(Some(number)) => number.to_string(),
            Value::Integer(None) => "too large a number".to_owned(),
            Value::Float(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            other => other.kind().to_owned(),
        };
        self.log.note(
            entry.node.at,
            format!("`{}` is {found}", entry.key),
            format!("give {expected}"),
        );
    }

    /// Reads a text.
    pub fn text(&self, key: &'static str) -> Option<&'d str> {
        let entry = self.entry(key)?;
        match &entry.node.value {
            Value::Text(text) => Some(text),
            _ => {
                self.wrong(entry, "text in double quotes");
                None
            }
        }
    }

    /// Reads `true` or `false`.
    pub fn flag(&self, key: &'static str) -> Option<bool> {
        let entry = self.entry(key)?;
        match entry.node.value {
            Value::Flag(flag) => Some(flag),
            _ => {
                self.wrong(entry, "true or false");
                None
            }
        }
    }

    /// Reads a whole number within bounds.
    pub fn count(&self, key: &'static str, bounds: std::ops::RangeInclusive<i64>) -> Option<i64> {
        self.within(self.entry(key)?, &bounds)
    }

    fn within(&self, entry: &Entry, bounds: &std::ops::RangeInclusive<i64>) -> Option<i64> {
        match entry.node.value {
            Value::Integer(Some(number)) if bounds.contains(&number) => Some(number),
            _ => {
                self.wrong(
                    entry,
                    &format!("a whole number from {} to {}", bounds.start(), bounds.end()),
                );
                None
            }
        }
    }

    /// Reads a table of whole numbers within bounds by name: `{ NAME = 3 }`. A wrong number is `None`.
    pub fn counts(
        &self,
        key: &'static str,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Vec<(&'d str, At, Option<i64>)> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        let Value::Table(table) = &entry.node.value else {
            self.wrong(entry, &format!("numbers with names: {key} = {{ NAME = 3 }}"));
            return Vec::new();
        };
        let number = |entry: &'d Entry| {
            let number = self.within(entry, &bounds);
            (entry.key.as_str(), entry.key_at, number)
        };
        table.entries.iter().map(number).collect()
    }

    /// A number with a unit, in the quantity's own fine unit.
    pub fn amount(&self, key: &'static str, quantity: &Quantity) -> Option<i64> {
        let entry = self.entry(key)?;
        let amount = quantity.of(&entry.node.value);
        if amount.is_none() {
            self.wrong(entry, &quantity.expected());
        }
        amount
    }

    /// One number, or two in a list: a value or the two ends of a span.
    pub fn span(&self, key: &'static str, quantity: &Quantity) -> Option<(i64, i64)> {
        let entry = self.entry(key)?;
        let span = match &entry.node.value {
            Value::Array(items) => pair(items, quantity).filter(|(from, to)| from <= to),
            single => quantity.of(single).map(|amount| (amount, amount)),
        };
        if span.is_none() {
            self.wrong(entry, &format!("{}, or [from, to]", quantity.expected()));
        }
        span
    }

    /// Two numbers in a list.
    pub fn pair(&self, key: &'static str, quantity: &Quantity) -> Option<(i64, i64)> {
        let entry = self.entry(key)?;
        let pair = match &entry.node.value {
            Value::Array(items) => pair(items, quantity),
            _ => None,
        };
        if pair.is_none() {
            self.wrong(entry, &format!("[x, y], each {}", quantity.expected()));
        }
        pair
    }

    /// Reads a value that is one of a few words.
    pub fn choice<T: Copy>(&self, key: &'static str, options: &[(&str, T)]) -> Option<T> {
        let entry = self.entry(key)?;
        let text = self.text(key)?;
        let found = options
            .iter()
            .find(|(word, _)| *word == text)
            .map(|&(_, value)| value);
        if found.is_none() {
            self.wrong(entry, &suggest::one_of(options.iter().map(|(word, _)| *word)));
        }
        found
    }

    /// A table under this one.
    pub fn child(&self, key: &'static str, what: impl Into<String>) -> Option<Self> {
        let entry = self.entry(key)?;
        Some(Section::new(self.log, entry.key_at, what, &entry.node))
    }

    /// The tables under a key by name: `[aps.NAME]`; `kind` is what messages call one of them.
    pub fn named(&self, key: &'static str, kind: &str) -> Vec<(&'d str, Self)> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        let Value::Table(table) = &entry.node.value else {
            self.wrong(entry, &format!("tables with names: [{key}.NAME]"));
            return Vec::new();
        };
        let section = |entry: &'d Entry| {
            let what = format!("{kind} \"{}\"", entry.key);
            (
                entry.key.as_str(),
                Section::new(self.log, entry.key_at, what, &entry.node),
            )
        };
        table.entries.iter().map(section).collect()
    }

    /// The values of a list.
    pub fn list(&self, key: &'static str) -> Vec<&'d Node> {
        let Some(entry) = self.entry(key) else {
            return Vec::new();
        };
        match &entry.node.value {
            Value::Array(items) => items.iter().collect(),
            _ => {
                self.wrong(entry, "a list: [a, b]");
                Vec::new()
            }
        }
    }

    /// The tables of a list: `[[walls]]`; `kind` is what messages call one of them.
    pub fn tables(&self, key: &'static str, kind: &str) -> Vec<Self> {
        let section = |node: &'d Node| Section::new(self.log, node.at, kind, node);
        self.list(key).into_iter().map(section).collect()
    }
}

fn pair(items: &[Node], quantity: &Quantity) -> Option<(i64, i64)> {
    match items {
        [first, second] => Some((quantity.of(&first.value)?, quantity.of(&second.value)?)),
        _ => None,
    }
}
