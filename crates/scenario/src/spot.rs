//! Where a scenario says what it says, for those who find later that they cannot play it.

use std::collections::BTreeMap;
use std::fmt;
use trace::{Shown, is_shown};

/// A place in one of the texts that a plan is read from, with the line to show if it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The file as it was named to us; `--set` for a setting from the command line.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    excerpt: Option<Box<Excerpt>>,
}

/// The part of the line that is shown, and what of it is underlined.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: String,
    indent: usize,
    width: usize,
}

/// A line longer than this is shown in part.
const SHOWN: usize = 120;

impl Spot {
    /// Where `text[span]` is, whatever the span: one that leaves the text is at its end.
    pub(crate) fn new(file: &str, text: &str, span: std::ops::Range<usize>) -> Self {
        let start = boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |length| start + length);
        let end = boundary(text, span.end).clamp(start, line_end);
        let before = text[line_start..start].chars().count();
        Self {
            file: file.to_owned(),
            line: text[..line_start].matches('\n').count() + 1,
            column: before + 1,
            excerpt: Some(Box::new(Excerpt::new(
                &text[line_start..line_end],
                before,
                text[start..end].chars().count(),
            ))),
        }
    }

    /// The beginning of a line of a file of which nothing is shown.
    pub(crate) fn at_line(file: &str, line: usize) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column: 1,
            excerpt: None,
        }
    }

    /// Writes what is to be said of it, behind its name and before its line.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, message: &dyn fmt::Display) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            excerpt,
        } = self;
        write!(f, "{}:{line}:{column}: {message}", Shown(file))?;
        let Some(excerpt) = excerpt else {
            return Ok(());
        };
        let number = line.to_string();
        writeln!(f, "\n{number} | {}", excerpt.text.trim_end())?;
        let margin = number.len();
        write!(
            f,
            "{:margin$} | {:indent$}{}",
            "",
            "",
            "^".repeat(excerpt.width),
            indent = excerpt.indent
        )
    }
}

impl Excerpt {
    fn new(line: &str, before: usize, width: usize) -> Self {
        let skipped = before.saturating_sub(SHOWN / 2);
        // One for one, so that what is underlined stays where it is.
        let printable = |c: char| if is_shown(c) { c } else { ' ' };
        Self {
            text: line.chars().skip(skipped).take(SHOWN).map(printable).collect(),
            indent: before - skipped,
            width: width.clamp(1, SHOWN - (before - skipped)),
        }
    }
}

/// The nearest place at or before `index` where a character begins.
fn boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len()))
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0)
}

/// One of a plan's things that a world may have no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing<'n> {
    /// The link of that name.
    Link(&'n str),
    /// The flow of that name.
    Flow(&'n str),
    /// The walker of that name.
    Walker(&'n str),
    /// The first fault.
    Faults,
    /// How finely the air is modelled.
    Medium,
}

/// Where a plan's things stand. What was added to the plan after it was read stands nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spots {
    file: String,
    links: BTreeMap<String, Spot>,
    flows: BTreeMap<String, Spot>,
    walkers: BTreeMap<String, Spot>,
    faults: Option<Spot>,
    medium: Option<Spot>,
}

impl Spots {
    /// Of a file of that name, in which nothing stands yet.
    pub(crate) fn of(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            ..Self::default()
        }
    }

    /// Takes in where a thing stands.
    pub(crate) fn add(&mut self, thing: Thing<'_>, spot: Spot) {
        match thing {
            Thing::Link(name) => drop(self.links.insert(name.to_owned(), spot)),
            Thing::Flow(name) => drop(self.flows.insert(name.to_owned(), spot)),
            Thing::Walker(name) => drop(self.walkers.insert(name.to_owned(), spot)),
            Thing::Faults => self.faults = Some(spot),
            Thing::Medium => self.medium = Some(spot),
        }
    }

    /// Where a thing stands.
    pub fn spot(&self, thing: Thing<'_>) -> Option<&Spot> {
        match thing {
            Thing::Link(name) => self.links.get(name),
            // Of a flow with a `count`, NAME-1, NAME-2 …
            Thing::Flow(name) => self.flows.get(name).or_else(|| {
                let (name, _) = name.rsplit_once('-')?;
                self.flows.get(name)
            }),
            Thing::Walker(name) => self.walkers.get(name),
            Thing::Faults => self.faults.as_ref(),
            Thing::Medium => self.medium.as_ref(),
        }
    }

    /// A message about a thing, or about the whole: with file, line and column, and the line; with the file alone where that is all that is known.
    pub fn say(&self, thing: Option<Thing<'_>>, message: &dyn fmt::Display) -> String {
        match thing.and_then(|thing| self.spot(thing)) {
            Some(spot) => Said { spot, message }.to_string(),
            None if self.file.is_empty() => message.to_string(),
            None => format!("{}: {message}", Shown(&self.file)),
        }
    }
}

struct Said<'s> {
    spot: &'s Spot,
    message: &'s dyn fmt::Display,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spot.write(f, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_is_one_of_several_stands_where_all_of_them_do() {
        let text = "[flows.up]\ncount = 2\n[flows.up-hill]\n";
        let mut spots = Spots::of("x.toml");
        spots.add(Thing::Flow("up"), Spot::new("x.toml", text, 7..9));
        spots.add(Thing::Flow("up-hill"), Spot::new("x.toml", text, 28..35));
        let line = |name| spots.spot(Thing::Flow(name)).map(|spot| spot.line);
        assert_eq!(
            [line("up"), line("up-2"), line("up-hill"), line("down")],
            [Some(1), Some(1), Some(3), None]
        );
    }

    #[test]
    fn what_stands_nowhere_is_said_of_the_file() {
        let spots = Spots::of("x.toml");
        assert_eq!(spots.say(Some(Thing::Faults), &"no"), "x.toml: no");
        assert_eq!(spots.say(None, &"no"), "x.toml: no");
        assert_eq!(Spots::default().say(None, &"no"), "no");
    }
}
