//! The keys of a configuration file: the type of each, its valid values, and how values are read.
//!
//! A value is read in two steps: first any TOML value with its place, then what the key takes from it. So the
//! message about a wrong type is in terms of the key.

use super::ConfigError;
use super::problem::Problem;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// A value in a file, of any type.
pub type Raw = Option<Spanned<toml::Value>>;

/// A key, its type in TOML, and its valid values.
pub struct Key {
    name: &'static str,
    toml_type: &'static str,
    right: &'static str,
}

impl Key {
    const fn text(name: &'static str, right: &'static str) -> Self {
        let toml_type = "string";
        Self {
            name,
            toml_type,
            right,
        }
    }

    const fn number(name: &'static str, right: &'static str) -> Self {
        let toml_type = "integer";
        Self {
            name,
            toml_type,
            right,
        }
    }
}

/// The policy that decides.
pub const POLICY: Key = Key::text("policy", "a name in quotes, such as \"slowhand\"");
/// Goal for the links together.
pub const MODE: Key = Key::text("mode", "\"aggregate\" or \"handover\"");
/// Number of subflows that peers let us add.
pub const PEER_SUBFLOWS: Key = Key::number(
    "peer_subflows",
    "a whole number from 1 to 8; a stock Linux server takes 2",
);
/// Congestion controller of new connections.
pub const CC: Key = Key::text(
    "cc",
    "the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control",
);
/// File with the key that servers share.
pub const REPORT_KEY_FILE: Key = Key::text(
    "report_key_file",
    "a path in quotes, such as \"/etc/slowhand/report.key\"",
);
/// Port on which those servers listen.
pub const REPORT_PORT: Key = Key::number("report_port", "a whole number from 1 to 65535, such as 7391");
/// Limit on the bytes that servers may have in flight over plain TCP.
pub const FALLBACK_WINDOW: Key = Key::number(
    "fallback_window_bytes",
    "a whole number from 16384 to 1073741824, such as 262144; take this line out to leave connections over plain TCP alone",
);
/// Whether to probe idle links, and check for captive portals.
pub const PROBE: Key = Key {
    name: "probe",
    toml_type: "boolean",
    right: "true or false, without quotes",
};
/// URL of the check for captive portals.
pub const PORTAL_URL: Key = Key::text(
    "portal_url",
    "a URL in quotes, such as \"http://check.example/online\"",
);
/// How the reply to that check begins.
pub const PORTAL_RESPONSE: Key = Key::text(
    "portal_response",
    "the beginning of the reply to portal_url in quotes, such as \"online\"",
);
/// A link's interface.
pub const INTERFACE: Key = Key::text(
    "interface",
    "a name in quotes as in `ip link`, or a pattern such as \"wl*\"",
);
/// A link's name.
pub const NAME: Key = Key::text("name", "a name for people in quotes, such as \"phone\"");
/// A link's kind.
pub const KIND: Key = Key::text("kind", "\"wifi\", \"cell\" or \"cable\"");
/// A link's role.
pub const ROLE: Key = Key::text("role", "\"primary\", \"secondary\", \"backup\" or \"never\"");
/// Whether the user pays for a link by the byte.
pub const METERED: Key = Key {
    name: "metered",
    toml_type: "boolean",
    right: "true or false, without quotes",
};
/// A link's next hop.
pub const GATEWAY: Key = Key::text("gateway", "an IP address in quotes, such as \"192.168.1.1\"");
/// A WiFi link's channel.
pub const CHANNEL: Key = Key::number("channel", "the number of a WiFi channel, such as 6");
/// A file being read.
pub struct Source<'t> {
    /// Its name.
    pub path: &'t Path,
    /// Its content.
    pub text: &'t str,
}

impl Source<'_> {
    /// An error about a value. `what` says what it is and what would be valid.
    pub fn wrong<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> ConfigError {
        ConfigError::Wrong(Problem::new(self.path, self.text, at.span(), what))
    }

    /// Parses the file's tables.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ConfigError::Wrong(Problem::new(self.path, self.text, span, error.message()))
        })
    }

    /// Takes a value of the key's type, if there is one.
    pub fn take<T: DeserializeOwned>(&self, key: &Key, raw: Raw) -> Result<Option<Spanned<T>>, ConfigError> {
        let Some(raw) = raw else { return Ok(None) };
        let is_text = raw.get_ref().type_str() == "string";
        if raw.get_ref().type_str() != key.toml_type {
            return Err(self.not_right(key, &raw));
        }
        match raw.get_ref().clone().try_into() {
            Ok(value) => Ok(Some(Spanned::new(raw.span(), value))),
            // The error message about a name lists the valid names.
            Err(error) if is_text => Err(self.wrong(&raw, error.message())),
            Err(_) => Err(self.not_right(key, &raw)),
        }
    }

    /// The error that a value is not one of the key's valid values.
    pub fn not_right<T>(&self, key: &Key, at: &Spanned<T>) -> ConfigError {
        self.wrong(at, format!("{} must be {}", key.name, key.right))
    }

    /// Takes a value as [`Self::take`] does, but a link must have one.
    pub fn need<T: DeserializeOwned>(
        &self,
        key: &Key,
        raw: Raw,
        link: &Range<usize>,
    ) -> Result<Spanned<T>, ConfigError> {
        self.take(key, raw)?.ok_or_else(|| {
            let Key { name, right, .. } = key;
            let what = format!("this link has no {name}; add {name}, which is {right}");
            ConfigError::Wrong(Problem::new(self.path, self.text, link.clone(), what))
        })
    }
}
