//! The terminal's face: a table of what came of it, and lines that live while it goes on.
//!
//! Pure functions to text; whoever prints decides whether the terminal shows colour, and how wide it is.

mod live;
mod table;

pub use live::{Live, progress};
pub use table::{fitted, table};

/// Whether to use the terminal's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text only, for files and pipes.
    Plain,
    /// ANSI colours, for a terminal that was asked for them.
    Colour,
}

/// What a text wants to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Strong,
    Soft,
    Alarm,
    Good,
}

impl Paint {
    /// Padding must be done before: escapes have no width on the screen but count as characters.
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

/// A bar of `cells` character cells, to an eighth of a cell.
fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64).round() as usize;
    let drawn = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{drawn:<cells$}")
}

#[cfg(test)]
mod tests;
