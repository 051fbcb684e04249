//! Colours on a terminal.

/// Whether to use terminal colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paint {
    /// Text only, for files and pipes.
    #[default]
    Plain,
    /// ANSI colours, for a terminal.
    Colour,
}

/// Role of a text. It decides the text's colour and weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Look {
    /// As the terminal shows any text.
    #[default]
    Plain,
    /// The most important line.
    Strong,
    /// Less important than the rest.
    Soft,
    /// Something is wrong.
    Alarm,
    /// Something is well.
    Good,
}

impl Paint {
    /// Adds the escapes for `look`. They have no width on the screen.
    pub fn apply(self, look: Look, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
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
