//! Capabilities of the terminal behind an output, if there is one.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use trace::wrapped;

/// Whether the terminal shows text only, without colours or cursor movement.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Columns of the terminal; without a terminal, no limit.
pub fn width(output: &(impl IsTerminal + AsFd)) -> usize {
    if !output.is_terminal() {
        return usize::MAX;
    }
    terminal_size::terminal_size_of(output).map_or(80, |(width, _)| usize::from(width.0))
}

/// Columns of the terminal behind standard output; without a terminal, no limit.
pub fn columns() -> usize {
    width(&io::stdout())
}

/// Lines of the terminal.
pub fn height(output: &impl AsFd) -> usize {
    terminal_size::terminal_size_of(output).map_or(24, |(_, height)| usize::from(height.0))
}

/// Text for standard output, wrapped if that is a terminal.
pub fn fitted(text: &str) -> String {
    match columns() {
        usize::MAX => text.to_owned(),
        width => wrapped(text, width),
    }
}
