//! A table of a configuration file, and its values as the types that their keys have.

use super::ConfigError;
use super::keys::{Key, OF_FILE};
use super::problem::Problem;
use linux::daemon::Target;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use trace::suggest;

/// A file being read.
#[derive(Clone, Copy)]
pub struct Source<'t> {
    /// Path of the file, for messages.
    pub path: &'t Path,
    /// Content of the file.
    pub text: &'t str,
}

impl<'t> Source<'t> {
    /// Parses the file. If it is not TOML, the message says where.
    pub fn parse(&self) -> Result<Spanned<DeTable<'t>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let what = Vec::from_iter(error.message().lines()).join("; ");
            let instead = if what.contains("duplicate key") {
                "remove one of the two, or write [[link]] with two brackets for one more link"
            } else {
                "correct it to valid TOML (https://toml.io shows the forms)"
            };
            self.problem(span, what, instead)
        })
    }

    fn problem(
        &self,
        span: Range<usize>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> ConfigError {
        ConfigError::Wrong(Box::new(Problem::new(self.path, self.text, span, what, instead)))
    }
}

/// One table of the file. Its keys are known.
pub struct Section<'t> {
    source: Source<'t>,
    table: &'t DeTable<'t>,
    /// What it describes, for messages.
    what: &'static str,
    /// Where it begins.
    span: Range<usize>,
}

impl<'t> Section<'t> {
    /// The whole file.
    pub fn file(source: Source<'t>, file: &'t Spanned<DeTable<'t>>) -> Result<Self, ConfigError> {
        Self::new(source, file.get_ref(), (0..0, "file"), &OF_FILE)
    }

    fn new(
        source: Source<'t>,
        table: &'t DeTable<'t>,
        (span, what): (Range<usize>, &'static str),
        known: &[Key],
    ) -> Result<Self, ConfigError> {
        let names = || known.iter().map(|key| key.name);
        let mut found = Vec::from_iter(table.keys());
        found.sort_by_key(|key| key.span().start);
        let unknown = found
            .iter()
            .find(|key| names().all(|name| name != &**key.get_ref()));
        if let Some(key) = unknown {
            let what = format!("unknown key `{}`", key.get_ref());
            let instead = match suggest::nearest(key.get_ref(), names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", Vec::from_iter(names()).join(", ")),
            };
            return Err(source.problem(key.span(), what, instead));
        }
        Ok(Self {
            source,
            table,
            what,
            span,
        })
    }

    /// An error about a value: what is wrong, and what would be valid.
    pub fn wrong<T>(
        &self,
        at: &Spanned<T>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> ConfigError {
        self.source.problem(at.span(), what, instead)
    }

    /// An error about the table as a whole.
    pub fn wrong_itself(&self, what: impl Into<String>, instead: impl Into<String>) -> ConfigError {
        self.source.problem(self.span.clone(), what, instead)
    }

    /// The error that a value is not one of the key's valid values.
    fn not_right(&self, key: &Key, value: &Spanned<DeValue<'t>>) -> ConfigError {
        self.wrong(value, is(key, value), format!("give {}", key.right))
    }

    /// Passes on a value that this table must have.
    pub fn need<T>(&self, key: &Key, value: Option<T>) -> Result<T, ConfigError> {
        value.ok_or_else(|| {
            let what = format!("this {} has no `{}`", self.what, key.name);
            let instead = format!("add `{}`: {}", key.name, key.right);
            self.source.problem(self.span.clone(), what, instead)
        })
    }

    fn value(&self, key: &Key) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key.name)
    }

    /// Takes from a value what the key allows; `read` gives `None` for anything else.
    fn take<T>(
        &self,
        key: &Key,
        read: impl FnOnce(&'t DeValue<'t>) -> Option<T>,
    ) -> Result<Option<Spanned<T>>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match read(value.get_ref()) {
            Some(taken) => Ok(Some(Spanned::new(value.span(), taken))),
            None => Err(self.not_right(key, value)),
        }
    }

    /// Reads a text that is a valid `T`.
    pub fn text<T: FromStr>(&self, key: &Key) -> Result<Option<Spanned<T>>, ConfigError> {
        self.take(key, |value| value.as_str()?.parse().ok())
    }

    /// Reads a value that is one of these words.
    pub fn word<T: FromStr>(
        &self,
        key: &Key,
        words: impl IntoIterator<Item = &'static str> + Clone,
    ) -> Result<Option<Spanned<T>>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let Some(word) = value.get_ref().as_str() else {
            return Err(self.not_right(key, value));
        };
        match word.parse() {
            Ok(taken) => Ok(Some(Spanned::new(value.span(), taken))),
            Err(_) => {
                let instead = match suggest::nearest(word, words.clone()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("give {}", suggest::one_of(words)),
                };
                Err(self.wrong(value, is(key, value), instead))
            }
        }
    }

    /// Reads a whole number within bounds.
    pub fn number<N: TryFrom<i64>>(
        &self,
        key: &Key,
        bounds: RangeInclusive<i64>,
    ) -> Result<Option<Spanned<N>>, ConfigError> {
        self.take(key, |value| {
            let digits = value.as_integer()?;
            let number = i64::from_str_radix(digits.as_str(), digits.radix()).ok()?;
            bounds.contains(&number).then(|| number.try_into().ok())?
        })
    }

    /// Reads what carries the flows of a rule: a text, or a table with the shares of links.
    pub fn network(&self, key: &Key) -> Result<Option<Spanned<Target>>, ConfigError> {
        let share = |value: &DeValue<'_>| {
            let digits = value.as_integer()?;
            u16::from_str_radix(digits.as_str(), digits.radix()).ok()
        };
        let is_text = |target: &Target| !matches!(target, Target::Shares(_));
        self.take(key, |value| match value.as_table() {
            Some(table) => Target::shares(
                table
                    .iter()
                    .map(|(name, value)| Some((name.get_ref().to_string(), share(value.get_ref())?))),
            )
            .ok(),
            None => value.as_str()?.parse().ok().filter(is_text),
        })
    }

    /// Reads `true` or `false`.
    pub fn flag(&self, key: &Key) -> Result<Option<bool>, ConfigError> {
        let flag = self.take(key, DeValue::as_bool)?;
        Ok(flag.map(Spanned::into_inner))
    }

    /// Reads the tables of a list, each with its place. Each describes a `what`, and has the keys `known`.
    pub fn tables(&self, key: &Key, what: &'static str, known: &[Key]) -> Result<Vec<Self>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let items = value.get_ref().as_array();
        let items = items.ok_or_else(|| self.not_right(key, value))?;
        let section = |item: &'t Spanned<DeValue<'t>>| {
            let table = item.get_ref().as_table();
            let table = table.ok_or_else(|| self.not_right(key, item))?;
            Self::new(self.source, table, (item.span(), what), known)
        };
        items.iter().map(section).collect()
    }

    /// Reads a table. It describes a `what`, and has the keys `known`.
    pub fn table(&self, key: &Key, what: &'static str, known: &[Key]) -> Result<Option<Self>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.not_right(key, value))?;
        Self::new(self.source, table, (value.span(), what), known).map(Some)
    }

    /// Reads a list of texts, each a valid `T`. An absent list is empty.
    pub fn texts<T: FromStr>(&self, key: &Key) -> Result<Vec<T>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let items = value.get_ref().as_array();
        let items = items.ok_or_else(|| self.not_right(key, value))?;
        let read = |item: &'t Spanned<DeValue<'t>>| {
            let text = item.get_ref().as_str().and_then(|text| text.parse().ok());
            text.ok_or_else(|| self.not_right(key, item))
        };
        items.iter().map(read).collect()
    }
}

/// Describes a value, for a message about its key.
fn is(key: &Key, value: &Spanned<DeValue<'_>>) -> String {
    let found = match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", text.chars().take(40).collect::<String>()),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    format!("`{}` is {found}", key.name)
}
