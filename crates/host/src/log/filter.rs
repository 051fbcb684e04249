//! A filter of the log, in the syntax of `tracing_subscriber::EnvFilter`.
//!
//! # Where we differ, and why
//! `EnvFilter` takes an unknown word for the name of a part and then logs next to nothing. So a word that is
//! neither a level nor one of our parts is refused.

use super::{ACTION, DECISION, INPUT};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// What can be filtered by itself: the parts of the daemon's log, and the crates that log.
const PARTS: [&str; 7] = [DECISION, ACTION, INPUT, "slowhandd", "slowhand", "host", "linux"];

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// A valid filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(Cow<'static, str>);

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A word is neither a level nor a part.
    #[error("`{word}` is no level; {remedy}")]
    Level {
        /// The word.
        word: String,
        /// What to write.
        remedy: String,
    },
    /// No part has this name.
    #[error("no part of the log is called `{part}`; {remedy}")]
    Part {
        /// The name.
        part: String,
        /// What to write.
        remedy: String,
    },
    /// The text is no filter for another reason.
    #[error("`{text}` is no filter; write a level, or PART=LEVEL, separated by commas: info,linux=debug")]
    Syntax {
        /// The text.
        text: String,
    },
}

impl Filter {
    /// Normal operation.
    pub const INFO: Self = Self(Cow::Borrowed("info"));
    /// Normal operation, and what explains it.
    pub const DEBUG: Self = Self(Cow::Borrowed("debug"));
    /// Everything.
    pub const TRACE: Self = Self(Cow::Borrowed("trace"));

    /// The filter at work.
    pub(super) fn layer(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').try_for_each(check)?;
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(Cow::Owned(text.to_owned()))),
            Err(_) => Err(FilterError::Syntax {
                text: text.to_owned(),
            }),
        }
    }
}

fn check(directive: &str) -> Result<(), FilterError> {
    let (part, level) = match directive.rsplit_once('=') {
        // An equals sign in braces belongs to a field.
        Some((part, level)) if !level.contains('}') => (part, Some(level)),
        _ => (directive, None),
    };
    let name = part.split(['[', ':']).next().unwrap_or_default();
    match level {
        None if !part.contains(['[', ':']) && !PARTS.contains(&name) => is_level(name),
        None => is_part(name),
        Some(level) => is_part(name).and_then(|()| is_level(level)),
    }
}

fn is_level(word: &str) -> Result<(), FilterError> {
    if word.is_empty() || word.parse::<LevelFilter>().is_ok() {
        return Ok(());
    }
    Err(FilterError::Level {
        word: word.to_owned(),
        remedy: remedy(word, &LEVELS),
    })
}

fn is_part(name: &str) -> Result<(), FilterError> {
    if name.is_empty() || PARTS.contains(&name) {
        return Ok(());
    }
    Err(FilterError::Part {
        part: name.to_owned(),
        remedy: remedy(name, &PARTS),
    })
}

fn remedy(word: &str, known: &[&'static str]) -> String {
    match trace::suggest::nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syntax_of_env_filter_is_understood() {
        for text in [
            "info",
            "DEBUG",
            "off",
            "warn,linux=debug",
            "info,decision=off",
            "linux::journal=trace",
            "linux",
            "[{conn}]=debug",
            "decision[{link}]=trace,error",
        ] {
            assert_eq!(
                text.parse().map(|filter: Filter| filter.to_string()).as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn a_wrong_filter_is_refused_with_a_remedy() {
        for (text, error) in [
            ("inof", "`inof` is no level; did you mean `info`?"),
            (
                "verbose",
                "`verbose` is no level; write one of error, warn, info, debug, trace, off",
            ),
            (
                "linux=loud",
                "`loud` is no level; write one of error, warn, info, debug, trace, off",
            ),
            (
                "info,linus=debug",
                "no part of the log is called `linus`; did you mean `linux`?",
            ),
            (
                "info, linux=debug",
                "no part of the log is called ` linux`; did you mean `linux`?",
            ),
            (
                "[{conn=debug",
                "`[{conn=debug` is no filter; write a level, or PART=LEVEL, separated by commas: info,linux=debug",
            ),
        ] {
            let refused = text.parse::<Filter>().unwrap_err();
            assert_eq!(refused.to_string(), error, "{text}");
        }
    }
}
