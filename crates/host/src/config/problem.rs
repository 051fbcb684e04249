//! An error in a configuration file: where, what, and what would be valid.

use std::fmt;
use std::ops::Range;
use std::path::Path;

/// One error in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    file: String,
    line: usize,
    column: usize,
    what: String,
    excerpt: String,
}

impl Problem {
    /// An error at `text[span]`. `what` says what it is and what would be valid.
    pub fn new(file: &Path, text: &str, span: Range<usize>, what: impl Into<String>) -> Self {
        let start = floor_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |length| start + length);
        Self {
            file: file.display().to_string(),
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            what: what.into(),
            excerpt: text[line_start..line_end].trim_end().to_owned(),
        }
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            what,
            excerpt,
        } = self;
        writeln!(f, "{file}:{line}:{column}: {what}")?;
        let number = line.to_string();
        let margin = number.len();
        writeln!(f, "{number} | {excerpt}")?;
        write!(f, "{:margin$} | {:indent$}^", "", "", indent = column - 1)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_the_place() {
        let text = "a = 1\nblé = \"x\"\n";
        let problem = Problem::new(Path::new("s.toml"), text, 13..16, "`x` is wrong; write 1");
        assert_eq!(
            problem.to_string(),
            "s.toml:2:7: `x` is wrong; write 1\n2 | blé = \"x\"\n  |       ^"
        );
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        let problem = Problem::new(Path::new("s.toml"), "a = 1", 99..100, "missing");
        assert!(
            problem.to_string().starts_with("s.toml:1:6: missing"),
            "{problem}"
        );
    }
}
