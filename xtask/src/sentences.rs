//! Finds sentences of comments and documents that are too long to be understood at first reading.
//!
//! A full stop, a question mark, a colon and a semicolon end a sentence. Sources are quoted as they are.
//! Tables and code have no sentences.

use crate::Findings;
use crate::files::{ends_in, texts};

const PROSE: &[&str] = &[".rs", ".c", ".h", ".md"];
/// Longest sentence, in words.
const MOST_WORDS: usize = 25;

/// Checks the comments of all code, and all documents.
pub fn check() -> anyhow::Result<Findings> {
    let files = texts(|path| ends_in(path, PROSE))?;
    Ok(Findings {
        looked_at: format!("sentences: {} files", files.len()),
        wrong: files.iter().flat_map(|(path, text)| long(path, text)).collect(),
    })
}

/// Reads prose line by line, and finds the sentences of each paragraph.
#[derive(Default)]
struct Reader {
    paragraph: String,
    /// Number of the line where the paragraph begins.
    begins: usize,
    is_code: bool,
    is_source: bool,
    /// Line and text of each long sentence.
    found: Vec<(usize, String)>,
}

impl Reader {
    fn line(&mut self, number: usize, text: &str) {
        let text = text.trim();
        let is_fence = text.starts_with("```");
        self.is_code ^= is_fence;
        let is_heading = text.starts_with('#') && text.trim_start_matches('#').starts_with(' ');
        if is_heading {
            self.is_source = text.contains("Sources");
        }
        let starts = text.starts_with("- ") || text.split_once(". ").is_some_and(|(at, _)| is_number(at));
        let has_none = text.is_empty() || text.starts_with('|') || is_fence || is_heading || self.is_code;
        if has_none || starts {
            self.end();
        }
        if has_none || self.is_source {
            return;
        }
        if self.paragraph.is_empty() {
            self.begins = number;
        }
        self.paragraph.push_str(text);
        self.paragraph.push(' ');
    }

    fn end(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let mut words = Vec::new();
        for word in paragraph.split_whitespace() {
            words.push(word);
            let bare = word.trim_end_matches(['*', '"', ')']);
            if bare.ends_with(['.', '!', '?', ':', ';']) {
                self.sentence(&words);
                words.clear();
            }
        }
        self.sentence(&words);
    }

    fn sentence(&mut self, words: &[&str]) {
        let count = words
            .iter()
            .filter(|word| word.contains(char::is_alphabetic))
            .count();
        if count > MOST_WORDS {
            self.found.push((self.begins, words.join(" ")));
        }
    }

    /// Ends a block of comments, or the file.
    fn leave(&mut self) {
        self.end();
        (self.is_code, self.is_source) = (false, false);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn long(path: &str, text: &str) -> Vec<String> {
    let marks: &[&str] = match path.rsplit('.').next() {
        Some("md") => &[""],
        Some("rs") => &["///", "//!", "//"],
        _ => &["//", "/*", "*"],
    };
    let mut reader = Reader::default();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_start();
        match marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            Some(comment) => reader.line(number, comment.trim_end_matches("*/")),
            None => reader.leave(),
        }
    }
    reader.leave();
    let found = reader.found.into_iter();
    found
        .map(|(number, sentence)| {
            format!("{path}:{number}: more than {MOST_WORDS} words without an end; split it: {sentence}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_found_across_lines_and_sources_are_exempt() {
        let half = "word ".repeat(13);
        let text = format!("//! {half}\n//! {half}.\n//!\n//! # Sources\n//! {half} {half}\nfn f() {{}}\n");
        let found = long("a.rs", &text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: more than 25 words"), "{found:?}");
    }

    #[test]
    fn documents_have_paragraphs_code_and_bold_sentences() {
        let half = "word ".repeat(13);
        let text =
            format!("# {half} {half}\n\n**{half}.** {half}\n\n```sh\n{half} {half}\n```\n{half}\n{half}\n");
        let found = long("a.md", &text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.md:8: "), "{found:?}");
    }

    #[test]
    fn a_colon_a_list_and_a_table_end_a_sentence() {
        let half = "word ".repeat(13);
        for text in [
            format!("// {half}: {half}"),
            format!("// - {half}\n// - {half}"),
            format!("// 1. {half}\n// 2. {half}"),
            format!("// | {half} | {half} |"),
            format!("/* {half}. */ \nint x;\n/* {half} */"),
        ] {
            assert_eq!(long("a.c", &text), Vec::<String>::new(), "{text}");
        }
    }
}
