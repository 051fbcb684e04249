//! The name under which the kernel knows a controller.

use super::{Coupled, NameError};
use std::fmt;
use std::str::FromStr;

/// 1 to 15 letters, digits, `_` or `-` (the kernel's limit is 15; more signs than these would not survive a sysctl or a path).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerName(String);

const LONGEST: usize = 15;

impl ControllerName {
    /// The name of `coupled` unless asked otherwise: `slow_lia`.
    pub fn of(coupled: Coupled) -> Self {
        Self(format!("slow_{}", coupled.id()))
    }

    /// One of its own for a run, since names are the whole host's: `slow_lia_7f`. At most four more signs fit.
    pub fn with_suffix(coupled: Coupled, suffix: &str) -> Result<Self, NameError> {
        format!("slow_{}_{suffix}", coupled.id()).parse()
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ControllerName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if (1..=LONGEST).contains(&name.len()) && name.bytes().all(plain) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError(name.to_owned()))
        }
    }
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_name_is_one_that_the_kernel_takes() {
        for coupled in Coupled::ALL {
            let name = ControllerName::of(coupled);
            assert_eq!(name.as_str().parse(), Ok(name.clone()));
            assert!(ControllerName::with_suffix(coupled, "7fff").is_ok());
            assert_eq!(Coupled::from_id(coupled.id()), Some(coupled));
        }
    }

    #[test]
    fn other_names_are_refused_with_the_rule() {
        for name in ["", "sixteen_letters_", "a b", "../lia", "lia\0", "größe"] {
            let refused = name.parse::<ControllerName>();
            assert_eq!(refused, Err(NameError(name.to_owned())));
            assert!(refused.unwrap_err().to_string().contains("1 to 15"));
        }
    }
}
