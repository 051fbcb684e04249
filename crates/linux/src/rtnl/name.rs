//! Link names.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

const IFNAMSIZ: usize = 16;

/// The name of a link: 1 to 15 bytes, without `/` and white space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IfName {
    bytes: [u8; IFNAMSIZ],
}

/// Why a string is not a valid link name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is not a valid link name: 1 to 15 bytes, no `/`, no white space, not `.` or `..`")]
pub struct IfNameError {
    name: String,
}

impl IfName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        let end = self.bytes.iter().position(|&b| b == 0).unwrap_or(IFNAMSIZ);
        std::str::from_utf8(&self.bytes[..end]).expect("created from a str")
    }
}

impl FromStr for IfName {
    type Err = IfNameError;

    fn from_str(name: &str) -> Result<Self, IfNameError> {
        let length_fits = (1..IFNAMSIZ).contains(&name.len());
        let bad_char = |c: char| c == '/' || c == '\0' || c.is_whitespace();
        if !length_fits || name.contains(bad_char) || name == "." || name == ".." {
            return Err(IfNameError {
                name: name.to_owned(),
            });
        }
        let mut bytes = [0; IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { bytes })
    }
}

impl fmt::Display for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for IfName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
