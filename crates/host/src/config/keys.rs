//! The keys of a configuration file: the type of each, what would be right where a value is not, and how values are read.
//!
//! A value is read in two steps, so that a wrong type is told in the words of its key: any TOML value first, with its place, and what the key
//! takes from that.

use super::ConfigError;
use super::problem::Problem;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// A value as it stands in a file, of whatever type.
pub type Raw = Option<Spanned<toml::Value>>;

/// A key, its type in TOML, and what would be right.
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

/// Which strategy decides.
pub const POLICY: Key = Key::text("policy", "a name in quotes, such as \"slowhand\"");
/// What the host wants from its links together.
pub const MODE: Key = Key::text("mode", "\"aggregate\" or \"handover\"");
/// How many subflows peers let us add.
pub const PEER_SUBFLOWS: Key = Key::number(
    "peer_subflows",
    "a whole number from 1 to 8; a stock Linux server takes 2",
);
/// What new connections are sent with.
pub const CC: Key = Key::text(
    "cc",
    "the name of a congestion controller: lia, olia, balia, cla, or one of net.ipv4.tcp_available_congestion_control",
);
/// The key that servers share.
pub const REPORT_KEY_FILE: Key = Key::text(
    "report_key_file",
    "a path in quotes, such as \"/etc/slowhand/report.key\"",
);
/// The port on which they listen.
pub const REPORT_PORT: Key = Key::number("report_port", "a whole number from 1 to 65535, such as 7391");
/// What servers may have in flight over plain TCP.
pub const FALLBACK_WINDOW: Key = Key::number(
    "fallback_window_bytes",
    "a whole number from 16384 to 1073741824, such as 262144; take this line out to leave connections over plain TCP alone",
);
/// Whether links are asked while idle, and checked.
pub const PROBE: Key = Key {
    name: "probe",
    toml_type: "boolean",
    right: "true or false, without quotes",
};
/// What is asked for to find captive portals.
pub const PORTAL_URL: Key = Key::text(
    "portal_url",
    "a URL in quotes, such as \"http://check.example/online\"",
);
/// How the reply begins.
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
/// What a link is made of.
pub const KIND: Key = Key::text("kind", "\"wifi\", \"cell\" or \"cable\"");
/// What a link is for.
pub const ROLE: Key = Key::text("role", "\"primary\", \"secondary\", \"backup\" or \"never\"");
/// Whether a link is paid by the byte.
pub const METERED: Key = Key {
    name: "metered",
    toml_type: "boolean",
    right: "true or false, without quotes",
};
/// A link's next hop.
pub const GATEWAY: Key = Key::text("gateway", "an IP address in quotes, such as \"192.168.1.1\"");
/// A WiFi link's channel.
pub const CHANNEL: Key = Key::number("channel", "the number of a WiFi channel, such as 6");
/// One file that is being read.
pub struct Source<'t> {
    /// Its name.
    pub path: &'t Path,
    /// What it says.
    pub text: &'t str,
}

impl Source<'_> {
    /// Something is wrong with a value; `what` says what it is and what would be right.
    pub fn wrong<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> ConfigError {
        ConfigError::Wrong(Problem::new(self.path, self.text, at.span(), what))
    }

    /// The file's tables.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ConfigError::Wrong(Problem::new(self.path, self.text, span, error.message()))
        })
    }

    /// A value of the key's type, if there is one.
    pub fn take<T: DeserializeOwned>(&self, key: &Key, raw: Raw) -> Result<Option<Spanned<T>>, ConfigError> {
        let Some(raw) = raw else { return Ok(None) };
        let is_text = raw.get_ref().type_str() == "string";
        if raw.get_ref().type_str() != key.toml_type {
            return Err(self.not_right(key, &raw));
        }
        match raw.get_ref().clone().try_into() {
            Ok(value) => Ok(Some(Spanned::new(raw.span(), value))),
            // Names say which there are.
            Err(error) if is_text => Err(self.wrong(&raw, error.message())),
            Err(_) => Err(self.not_right(key, &raw)),
        }
    }

    /// It is not one of the values that the key takes.
    pub fn not_right<T>(&self, key: &Key, at: &Spanned<T>) -> ConfigError {
        self.wrong(at, format!("{} must be {}", key.name, key.right))
    }

    /// The same of a key that a link cannot do without.
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
