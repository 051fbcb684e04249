//! Licence expressions: `MIT OR (Apache-2.0 AND BSD-3-Clause)`.
//!
//! # Sources
//! - SPDX specification 2.3, annex D: the grammar and the precedence (`WITH`, then `AND`, then `OR`).
//!
//! # Where we differ, and why
//! 1. `/` counts as `OR`: old packages write it, and crates.io documents that meaning.
//! 2. A `WITH` exception belongs to the name: an allow list names `Apache-2.0 WITH LLVM-exception` as a
//!    whole.

/// Whether accepting only the `allowed` licences permits the use of something under `expression`.
pub fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader {
        words: &words,
        allowed,
    };
    reader.any() && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Reader<'_> {
    fn next_is(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }

    fn any(&mut self) -> bool {
        let mut holds = self.all();
        while self.next_is("OR") {
            holds |= self.all();
        }
        holds
    }

    fn all(&mut self) -> bool {
        let mut holds = self.one();
        while self.next_is("AND") {
            holds &= self.one();
        }
        holds
    }

    fn one(&mut self) -> bool {
        if self.next_is("(") {
            let holds = self.any();
            return self.next_is(")") && holds;
        }
        let Some((name, rest)) = self.words.split_first() else {
            return false;
        };
        self.words = rest;
        let name = match self.words {
            ["WITH", exception, rest @ ..] => {
                self.words = rest;
                format!("{name} WITH {exception}")
            }
            _ => (*name).to_owned(),
        };
        self.allowed.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn follows_the_grammar() {
        let allowed = [
            "MIT",
            "Apache-2.0",
            "BSD-3-Clause",
            "Apache-2.0 WITH LLVM-exception",
        ]
        .map(str::to_owned);
        let cases = [
            ("MIT", true),
            ("GPL-2.0-only", false),
            ("MIT OR GPL-2.0-only", true),
            ("MIT AND GPL-2.0-only", false),
            ("MIT/Apache-2.0", true),
            ("GPL-2.0-only OR MIT AND BSD-3-Clause", true),
            ("(GPL-2.0-only OR MIT) AND ISC", false),
            ("(MIT OR Apache-2.0) AND BSD-3-Clause", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("MIT MIT", false),
            ("(MIT", false),
            ("", false),
        ];
        for (expression, expected) in cases {
            assert_eq!(satisfied(expression, &allowed), expected, "{expression}");
        }
    }
}
