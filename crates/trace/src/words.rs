//! Enums whose variants are words that users read and type.

/// The error for an unknown word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{found}`; valid: {valid}")]
pub struct UnknownWord {
    /// What was expected, such as "link role".
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// Every valid word, separated by commas.
    pub valid: String,
}

/// Defines an enum with one word per variant, used by `Display`, `FromStr` and serde. The error for an
/// unknown word lists the valid ones.
macro_rules! words {
    (
        $(#[$meta:meta])* $name:ident is $what:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "std::borrow::Cow<'_, str>", into = "&'static str")]
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// Every one of them, in the order in which they are explained.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word that users read and type.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl From<$name> for &'static str {
            fn from(value: $name) -> Self {
                value.as_str()
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or_else(|| $crate::UnknownWord {
                    what: $what,
                    found: word.to_owned(),
                    valid: [$($word,)+].join(", "),
                })
            }
        }

        impl TryFrom<std::borrow::Cow<'_, str>> for $name {
            type Error = $crate::UnknownWord;

            fn try_from(word: std::borrow::Cow<'_, str>) -> Result<Self, Self::Error> {
                word.parse()
            }
        }
    };
}

pub(crate) use words;
