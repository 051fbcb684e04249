//! Interface names with the wildcards `*` and `?`, which users write for adapters that come and go.

/// A name, or a pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(String);

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it can match more than one name.
    pub(crate) fn is_wild(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        matches(self.0.as_bytes(), name.as_bytes())
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skip| matches(rest, &name[skip..])),
        (Some((b'?', rest)), Some((_, name))) => matches(rest, name),
        (Some((wanted, rest)), Some((letter, name))) => wanted == letter && matches(rest, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let table = [
            ("eth0", "eth0", true),
            ("eth0", "eth01", false),
            ("wl*", "wlan0", true),
            ("wl*", "wl", true),
            ("wl*", "eth0", false),
            ("*", "anything", true),
            ("en?s*", "enxs3", true),
            ("en?s*", "ens3", false),
            ("*0", "wlan0", true),
            ("*0", "wlan01", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_plain_name_is_not_wild() {
        assert!(!Pattern::new("eth0").is_wild());
        assert!(Pattern::new("eth?").is_wild());
    }
}
