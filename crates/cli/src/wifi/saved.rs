//! A network that another program has saved, and why it cannot be taken over.

use linux::wifi::{Login, LoginError, Secret, SecretError};
use std::fmt;
use thiserror::Error;

/// Longest name of a network, in bytes.
const LONGEST_SSID: usize = 32;

/// A network that another program has saved.
#[derive(Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its name.
    pub ssid: String,
    /// Whether its access points leave its name out of their beacons.
    pub hidden: bool,
    /// Whether the user pays by the byte.
    pub metered: bool,
    /// How it is protected.
    pub protection: Protection,
}

/// How a network is protected.
#[derive(Clone, PartialEq, Eq)]
pub enum Protection {
    /// Not at all.
    Open,
    /// Without a key, but encrypted: Enhanced Open.
    Owe,
    /// With a key.
    Key {
        /// The passphrase, or 64 hexadecimal digits.
        secret: String,
        /// WPA3 only.
        wpa3: bool,
    },
    /// With a login (802.1X): the lines of its file.
    Login(String),
}

impl fmt::Debug for Protection {
    /// Shows no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Protection {
    /// In a few words.
    pub const fn words(&self) -> &'static str {
        match self {
            Self::Open => "without encryption",
            Self::Owe => "Enhanced Open, without a key",
            Self::Key { wpa3: false, .. } => "WPA2 or WPA3",
            Self::Key { wpa3: true, .. } => "WPA3",
            Self::Login(_) => "login (802.1X)",
        }
    }
}

/// Why a saved network is not taken over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SavedError {
    /// A line has no meaning.
    #[error("line {0} is neither `[group]` nor `key=value`; correct or delete the file")]
    Form(usize),
    /// A value cannot be read.
    #[error("`{0}` has no valid value; correct it, or save the network again")]
    Value(&'static str),
    /// The network has no name.
    #[error("it has no `{0}`; save the network again")]
    NoName(&'static str),
    /// The name cannot be written into the configuration.
    #[error("its name is no UTF-8 text of 1 to 32 bytes, which slowhand needs")]
    Name,
    /// The network is one that this host offers.
    #[error("its mode is \"{0}\": this host does not join it")]
    Mode(String),
    /// The user joins it by hand.
    #[error(
        "it is not joined automatically there, and slowhand joins every network that it knows; add it by hand if you want that"
    )]
    ByHand,
    /// It has no encryption, and the user has not asked for such networks.
    #[error(
        "it has no encryption, and anybody can offer a network of its name; add it with --open if you trust that"
    )]
    Open,
    /// It has no key, and the user has not asked for such networks.
    #[error(
        "it encrypts without a key (Enhanced Open), and anybody can offer a network of its name; add it with --open if you trust that"
    )]
    Owe,
    /// WEP, WPA1 or another kind of protection.
    #[error("its protection `{0}` is not supported; use WPA2 or WPA3")]
    Protection(String),
    /// The secret is elsewhere.
    #[error("`{0}` is not in the file, but in a key ring; save it for all users, or add the network by hand")]
    Elsewhere(&'static str),
    /// The secret has another form.
    #[error("{0}")]
    Secret(#[from] SecretError),
    /// The login lacks something.
    #[error("{0}")]
    Login(#[from] LoginError),
}

impl Saved {
    /// Checks what the configuration would refuse.
    pub fn checked(self) -> Result<Self, SavedError> {
        if !(1..=LONGEST_SSID).contains(&self.ssid.len()) {
            return Err(SavedError::Name);
        }
        match &self.protection {
            Protection::Open | Protection::Owe => {}
            Protection::Key { secret, .. } => drop(secret.parse::<Secret>()?),
            Protection::Login(lines) => drop(lines.parse::<Login>()?),
        }
        Ok(self)
    }
}
