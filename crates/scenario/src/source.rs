//! Texts that a plan is read from, and problems that point into them.

use std::fmt;
use trace::{Lines, Spot};

/// A stretch of one of the texts that a plan is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    /// Which text, in [`Sources`].
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// The texts, each with the name that users know: the scenario file, then what `--set` adds.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    texts: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    lines: Lines,
}

impl Sources {
    /// Adds a text; the number names it in [`At`].
    pub fn add(&mut self, name: &str, text: &str) -> usize {
        self.texts.push(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            lines: Lines::of(text),
        });
        self.texts.len() - 1
    }

    /// The place as users see it.
    pub fn spot(&self, at: At) -> Spot {
        let Source { name, text, lines } = &self.texts[at.source];
        Spot::on(lines, name, text, at.start..at.end)
    }

    /// A problem at that place.
    pub fn problem(&self, at: At, what: String, instead: String) -> Problem {
        Problem {
            spot: self.spot(at),
            what,
            instead,
        }
    }
}

/// One thing that is wrong with a scenario: where, what, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Where.
    pub spot: Spot,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub instead: String,
}

impl Problem {
    /// A problem with `text[span]`, whatever the span: one that leaves the text points at its end.
    pub(crate) fn new(
        file: &str,
        text: &str,
        span: std::ops::Range<usize>,
        what: String,
        instead: String,
    ) -> Self {
        Self {
            spot: Spot::new(file, text, span),
            what,
            instead,
        }
    }

    /// A problem with a line of a file whose content is not shown: a scenario may name any file, and its user
    /// may be root.
    pub(crate) fn at_line(file: &str, line: usize, what: String, instead: String) -> Self {
        Self {
            spot: Spot::at_line(file, line),
            what,
            instead,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spot.report(&self.what, Some(&self.instead)))
    }
}

/// Everything that is wrong with a scenario, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

/// More than this many problems are counted, not printed.
const PRINTED: usize = 10;

impl Problems {
    /// Makes an error of these problems, of which there is at least one.
    pub(crate) fn of(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty(), "an error has at least one problem");
        Self(problems)
    }

    /// Makes an error of a single problem.
    pub(crate) fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    /// The problems, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// The first problem.
    pub fn first(&self) -> &Problem {
        &self.0[0]
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(PRINTED).enumerate() {
            let separator = if index == 0 { "" } else { "\n\n" };
            write!(f, "{separator}{problem}")?;
        }
        match self.0.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\n\n… and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}
