//! Whether to use colours.

use std::io::IsTerminal;

use dash::terminal::Paint;

/// Colours for a terminal whose user has not asked to do without (<https://no-color.org>).
pub fn on(output: &impl IsTerminal) -> Paint {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if output.is_terminal() && !refused {
        Paint::Colour
    } else {
        Paint::Plain
    }
}
