//! What the terminal behind an output can show, if there is one.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use trace::wrapped;

/// Whether the terminal shows text only: it has no colours, and its cursor does not move.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Columns of the terminal; no limit where there is none.
pub fn width(output: &(impl IsTerminal + AsFd)) -> usize {
    if !output.is_terminal() {
        return usize::MAX;
    }
    terminal_size::terminal_size_of(output).map_or(80, |(width, _)| usize::from(width.0))
}

/// Columns of the terminal behind standard output; no limit where there is none.
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
