//! Terminal output: a table of the result, and progress lines while runs are in progress.
//!
//! The functions are pure and return text. The caller decides about colour and width.

mod fit;
mod live;
mod table;

pub use fit::wrapped;
pub use live::{Live, progress};
pub use table::{fitted, table};

/// Whether to use terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text only, for files and pipes.
    Plain,
    /// ANSI colours, for a terminal.
    Colour,
}

/// Role of a text. It decides the text's colour and weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Strong,
    Soft,
    Alarm,
    Good,
}

impl Paint {
    /// Adds the escapes for `look`. Pad `text` first: escapes count as characters but have no width on the
    /// screen.
    fn apply(self, look: Look, text: &str) -> String {
        if self == Self::Plain {
            return text.to_owned();
        }
        let code = match look {
            Look::Plain => return text.to_owned(),
            Look::Strong => "1",
            Look::Soft => "2",
            Look::Alarm => "1;31",
            Look::Good => "32",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Bar of `cells` character cells, with a resolution of an eighth of a cell.
fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64).round() as usize;
    let drawn = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{drawn:<cells$}")
}

#[cfg(test)]
mod tests;
