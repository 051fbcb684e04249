//! Whether the terminal behind an output has colours.

use std::io::IsTerminal;

use dash::terminal::Paint;
use show::terminal::is_dumb;

/// Colours, if the terminal has them and its user has not disabled them (<https://no-color.org>).
pub fn paint(output: &impl IsTerminal) -> Paint {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if output.is_terminal() && !refused && !is_dumb() {
        Paint::Colour
    } else {
        Paint::Plain
    }
}
