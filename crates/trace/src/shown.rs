//! Makes text from files, interfaces and peers safe to show on a terminal.
//!
//! Control characters move the cursor, change colours and titles, or start a line that looks like ours.
//! Bidirectional marks reorder the text. All of them are shown as escapes; everything else is unchanged.
//!
//! - [`Shown`]: one value in a sentence, a cell or a label. Line ends are escaped, too.
//! - [`shown_lines`]: whole messages, whose line ends are ours.
//! - [`shown_json`]: a JSON document with the same values, written without such characters.

use std::fmt::{self, Write};

/// A value from outside, safe to show on a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping { out: f, keeps: None }, "{}", self.0)
    }
}

/// A message whose line ends are meant.
pub fn shown_lines(message: impl fmt::Display) -> String {
    let mut out = String::new();
    let mut escaping = Escaping {
        out: &mut out,
        keeps: Some('\n'),
    };
    // Writing to a string cannot fail; a value that fails to display is shown up to there.
    let _ = write!(escaping, "{message}");
    out
}

/// A JSON document: such characters can only be in its strings, where JSON has escapes of its own.
pub fn shown_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        if is_shown(c) || c == '\n' {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// Whether a terminal only displays the character.
pub fn is_shown(c: char) -> bool {
    let is_hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !is_hidden
}

struct Escaping<'o, W> {
    out: &'o mut W,
    keeps: Option<char>,
}

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if is_shown(c) || self.keeps == Some(c) {
                self.out.write_char(c)?;
            } else {
                write!(self.out, "{}", c.escape_default())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let table = [
            ("wlan0", "wlan0"),
            ("Café 東京 ✓", "Café 東京 ✓"),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("a\nholds: b\r\t", "a\\nholds: b\\r\\t"),
            ("\u{9b}2J \u{7f}", "\\u{9b}2J \\u{7f}"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("x\u{2028}y\u{feff}", "x\\u{2028}y\\u{feff}"),
        ];
        for (text, expected) in table {
            assert_eq!(Shown(text).to_string(), expected);
        }
        assert_eq!(shown_lines("a\n\x1b[2Jb\n"), "a\n\\u{1b}[2Jb\n");
    }

    #[test]
    fn a_document_has_the_same_values() {
        let value = serde_json::json!({ "name": "a\u{9b}2J\u{7f}\u{202e}\u{e0001}\n\x1b é" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = shown_json(&text);
        assert!(shown.chars().all(|c| is_shown(c) || c == '\n'), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert_eq!(shown_json("{\n  \"a\": 1\n}"), "{\n  \"a\": 1\n}");
    }
}
