//! The name under which a controller is registered in the kernel.

use super::{Coupled, NameError};
use std::fmt;
use std::str::FromStr;

/// A name of 1 to 15 letters, digits, `_` or `-`. The kernel's limit is 15. Other characters would not work
/// in a sysctl or a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerName(String);

const LONGEST: usize = 15;

impl ControllerName {
    /// The default name of `coupled`, such as `slow_lia`.
    pub fn of(coupled: Coupled) -> Self {
        Self(format!("slow_{}", coupled.id()))
    }

    /// A name for a single run, such as `slow_lia_7f`, because names are visible in the whole host. `suffix`
    /// may have four characters with every controller: the kernel's limit for a name is 15.
    pub fn with_suffix(coupled: Coupled, suffix: &str) -> Result<Self, NameError> {
        format!("slow_{}_{suffix}", coupled.id()).parse()
    }

    /// The name as text.
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
    fn every_default_name_is_valid_for_the_kernel() {
        for coupled in Coupled::ALL {
            let name = ControllerName::of(coupled);
            assert_eq!(name.as_str().parse(), Ok(name.clone()));
            assert!(ControllerName::with_suffix(coupled, "7fff").is_ok());
            assert_eq!(Coupled::from_id(coupled.id()), Some(coupled));
        }
    }

    #[test]
    fn invalid_names_are_refused_with_the_rule() {
        for name in ["", "sixteen_letters_", "a b", "../lia", "lia\0", "größe"] {
            let refused = name.parse::<ControllerName>();
            assert_eq!(refused, Err(NameError(name.to_owned())));
            assert!(refused.unwrap_err().to_string().contains("1 to 15"));
        }
    }
}
