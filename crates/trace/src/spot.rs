//! A place in a text that somebody wrote, and a message about it: `file:line:column: what is wrong`, the line
//! with the place underlined, and the remedy.
//!
//! ```text
//! walk.toml:6:11: channel 36 is not in the band of 802.11g
//!   |
//! 6 | channel = 36
//!   |           ^^
//!   |
//!   = help: use 1 to 13
//! ```
//!
//! The message has no colours: it goes to logs and documents as well as to a terminal. Control characters are
//! escaped.
//!
//! # Checked by
//! `tests`; `crates/scenario/tests/told.rs`.

use crate::shown::{Shown, is_shown};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// A place in a text, with the line to show if it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spot {
    /// The file as it was named to us; `--set` for a setting from the command line.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    excerpt: Option<Box<Excerpt>>,
}

/// The part of the line around the place, escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Excerpt {
    text: String,
    /// The bytes of it to underline.
    place: Range<usize>,
}

/// Longest excerpt that is kept, in characters: more than is shown, and little where a file is one long line.
const KEPT: usize = 400;

/// Widest line that is shown, in columns. A longer one is cut around the place.
const WIDTH: usize = 100;

impl Spot {
    /// The place of `text[span]`; a span outside the text is placed at its end.
    pub fn new(file: &str, text: &str, span: Range<usize>) -> Self {
        Self::on(&Lines::of(text), file, text, span)
    }

    /// As [`Spot::new`], with the lines of the text: for a text with many places.
    pub fn on(lines: &Lines, file: &str, text: &str, span: Range<usize>) -> Self {
        let start = boundary(text, span.start);
        let (line, line_start) = lines.line_of(start);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |length| start + length);
        let end = boundary(text, span.end).clamp(start, line_end);
        let (before, place, after) = (&text[line_start..start], &text[start..end], &text[end..line_end]);
        Self {
            file: file.to_owned(),
            line,
            column: before.chars().count() + 1,
            excerpt: Some(Box::new(Excerpt::new(before, place, after))),
        }
    }

    /// The beginning of a line of a file of which nothing is shown.
    pub fn at_line(file: &str, line: usize) -> Self {
        Self {
            file: file.to_owned(),
            line,
            column: 1,
            excerpt: None,
        }
    }

    /// The message that `what` is wrong here, with the remedy below the line.
    pub fn report(&self, what: impl fmt::Display, remedy: Option<&dyn fmt::Display>) -> String {
        let Self {
            file, line, column, ..
        } = self;
        let title = format!("{}:{line}:{column}: {}", Shown(file), Shown(what));
        let remedy = remedy.map(|remedy| Shown(remedy).to_string());
        let mut report = Group::with_title(Level::ERROR.no_name().primary_title(title));
        if let Some(excerpt) = &self.excerpt {
            let place = AnnotationKind::Primary.span(excerpt.place.clone());
            let source = Snippet::source(excerpt.text.as_str()).line_start(*line);
            report = report.element(source.annotation(place));
        }
        if let Some(remedy) = remedy {
            report = report.element(Level::HELP.message(remedy));
        }
        Renderer::plain().term_width(WIDTH).render(&[report])
    }
}

/// Where the lines of a text begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// Reads a text once.
    pub fn of(text: &str) -> Self {
        let later = text.match_indices('\n').map(|(newline, _)| newline + 1);
        Self(std::iter::once(0).chain(later).collect())
    }

    /// Number, from 1, and first byte of the line that contains a byte.
    fn line_of(&self, byte: usize) -> (usize, usize) {
        let line = self.0.partition_point(|&start| start <= byte);
        (line, self.0[line - 1])
    }
}

impl Excerpt {
    fn new(before: &str, place: &str, after: &str) -> Self {
        let skipped = before.chars().count().saturating_sub(KEPT / 2);
        let before: String = escaped(before.chars().skip(skipped));
        let place = escaped(place.chars().take(KEPT));
        let after = escaped(after.trim_end().chars().take(KEPT));
        Self {
            place: before.len()..before.len() + place.len(),
            text: before + &place + &after,
        }
    }
}

/// Tabs stay: they are shown as spaces.
fn escaped(text: impl Iterator<Item = char>) -> String {
    text.fold(String::new(), |mut out, c| {
        if is_shown(c) || c == '\t' {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
        out
    })
}

/// The nearest place at or before `index` where a character begins.
fn boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len()))
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str, span: Range<usize>) -> String {
        Spot::new("walk.toml", text, span).report("`x` is wrong", Some(&"give 1"))
    }

    #[test]
    fn shows_the_line_the_place_and_the_remedy() {
        assert_eq!(
            report("a = 1\nblé = 22 \nc = 3\n", 13..15),
            "walk.toml:2:7: `x` is wrong\n  \
               |\n\
             2 | blé = 22\n  \
               |       ^^\n  \
               |\n  \
               = help: give 1"
        );
    }

    #[test]
    fn every_byte_is_in_the_line_that_counting_gives() {
        let text = "a\n\nbc\r\n\n  d";
        let lines = Lines::of(text);
        for byte in 0..=text.len() {
            let before = &text[..byte];
            let start = before.rfind('\n').map_or(0, |newline| newline + 1);
            assert_eq!(lines.line_of(byte), (before.matches('\n').count() + 1, start));
        }
    }

    #[test]
    fn the_marker_is_under_its_place_behind_wide_characters_and_tabs() {
        assert_eq!(
            report("\t\"東京\" = 22 # x\r\n", 12..14),
            "walk.toml:1:9: `x` is wrong\n  \
               |\n\
             1 |     \"東京\" = 22 # x\n  \
               |              ^^\n  \
               |\n  \
               = help: give 1"
        );
    }

    #[test]
    fn control_characters_in_a_spot_are_escaped() {
        let spot = Spot::new("a\x1b[1m\n.toml", "k = \"\x1b[2J\" # \u{202e}", 4..10);
        assert_eq!(
            spot.report("no \x07", Some(&"\u{9b}1m")),
            "a\\u{1b}[1m\\n.toml:1:5: no \\u{7}\n  \
               |\n\
             1 | k = \"\\u{1b}[2J\" # \\u{202e}\n  \
               |     ^^^^^^^^^^^\n  \
               |\n  \
               = help: \\u{9b}1m"
        );
    }

    #[test]
    fn a_spot_without_line_or_remedy_shows_the_rest() {
        let spot = Spot::at_line("walk.down", 7);
        assert_eq!(spot.report("no time", None), "walk.down:7:1: no time");
        assert_eq!(
            spot.report("no time", Some(&"write one")),
            "walk.down:7:1: no time\n |\n = help: write one"
        );
        assert_eq!(
            Spot::new("walk.toml", "", 0..0).report("no link", None),
            "walk.toml:1:1: no link\n  |\n1 |\n  | ^"
        );
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        let spot = Spot::new("walk.toml", "a = 1", 99..120);
        assert_eq!((spot.line, spot.column), (1, 6));
        assert!(spot.report("missing", None).ends_with("\n1 | a = 1\n  |      ^"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}é{}", "x".repeat(1_000_000), "y".repeat(1_000_000));
        let spot = Spot::new("walk.toml", &text, 1_000_000..1_900_000);
        assert!(format!("{spot:?}").len() < 2_000, "little of it is kept");
        let report = spot.report("too long", Some(&"cut it"));
        assert!(
            report.lines().all(|line| line.chars().count() < WIDTH + 20),
            "{report}"
        );
        assert!(report.contains('é') && report.contains("..."), "{report}");
    }
}
