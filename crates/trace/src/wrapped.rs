//! Wraps text to the width of a terminal.

use unicode_width::UnicodeWidthStr;

/// Smallest width used, in columns. Narrower terminals are treated as this wide.
const NARROWEST: usize = 10;

/// Wraps each line to `width` columns at spaces, and breaks words that are too long. Continuation lines are
/// indented by two. Every line ends with a newline.
pub fn wrapped(text: &str, width: usize) -> String {
    let width = width.max(NARROWEST);
    text.lines()
        .flat_map(|line| pieces(line, width))
        .map(|line| line + "\n")
        .collect()
}

fn pieces(line: &str, width: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let indent = line.chars().take_while(|&c| c == ' ').count().min(width / 2);
    let mut done = Vec::new();
    let mut current = " ".repeat(indent);
    let mut used = indent;
    let mut is_empty = true;
    for word in line.split_whitespace() {
        let mut word = word;
        let gap = usize::from(!is_empty);
        if !is_empty && used + gap + word.width() > width {
            done.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
            (used, is_empty) = (indent + 2, true);
        }
        while used + word.width() > width && is_empty {
            let (part, rest) = word.split_at(fitting(word, width - used));
            current.push_str(part);
            done.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
            (used, word) = (indent + 2, rest);
        }
        if !is_empty {
            current.push(' ');
            used += 1;
        }
        used += word.width();
        current.push_str(word);
        is_empty = false;
    }
    if !is_empty {
        done.push(current);
    }
    done
}

/// Length in bytes of the longest beginning that fits into `room` columns: at least one character.
fn fitting(word: &str, room: usize) -> usize {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    let first = word.chars().next().map_or(0, char::len_utf8);
    ends.take_while(|&end| word[..end].width() <= room)
        .last()
        .unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_at_spaces_and_no_line_is_too_long() {
        assert_eq!(wrapped("one two three four", 10), "one two\n  three\n  four\n");
        assert_eq!(wrapped("  data: 13.4 Mb/s", 12), "  data: 13.4\n    Mb/s\n");
        assert_eq!(
            wrapped("a 0123456789abcdef b", 10),
            "a\n  01234567\n  89abcdef\n  b\n"
        );
        assert_eq!(wrapped("fits\n\nas it is", 20), "fits\n\nas it is\n");
        let text = "x".repeat(300) + " é東 " + &"word ".repeat(50) + "  ";
        for width in 1..80 {
            let longest = wrapped(&text, width).lines().map(UnicodeWidthStr::width).max();
            assert!(longest.unwrap() <= width.max(NARROWEST), "{width}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&wrapped(&text, width)), letters(&text), "{width}");
        }
    }
}
