//! An error in a configuration file: where, what, and what would be valid. It looks like one in a scenario.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use trace::Spot;

/// One error in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    spot: Spot,
    what: String,
    instead: String,
}

impl Problem {
    /// An error at `text[span]`: `what` is wrong, and `instead` would be valid.
    pub fn new(
        file: &Path,
        text: &str,
        span: Range<usize>,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            spot: Spot::new(&file.display().to_string(), text, span),
            what: what.into(),
            instead: instead.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spot.report(&self.what, Some(&self.instead)))
    }
}

impl std::error::Error for Problem {}
