//! The configuration of a relay: `/etc/slowhand/relay.toml`. Everything in it has a default.

use crate::keys::Rights;
use crate::pump::Patience;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Path of the configuration if none is given.
pub const DEFAULT: &str = "/etc/slowhand/relay.toml";
/// Folder of the keys if the configuration names none.
const KEYS: &str = "/var/lib/slowhand-relay/keys";
/// Port if the configuration names none.
const PORT: u16 = 4433;

/// Configuration of a relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// Folder of its keys.
    pub keys: PathBuf,
    /// Most connections at once.
    pub connections: usize,
    /// Most connections of one key at once.
    pub connections_per_key: usize,
    /// Most connections that have not sent their request yet.
    pub requests: usize,
    /// How long a client may take to send its request.
    pub request_timeout: Duration,
    /// How long a server may take to accept.
    pub connect_timeout: Duration,
    /// How long a connection may carry nothing.
    pub patience: Patience,
    /// What it says of single keys.
    pub rights: BTreeMap<String, Rights>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read ({source}); fix its permissions, or name another with --config")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is no TOML, has an unknown key, or a value of the wrong type.
    #[error("{path}: {problem}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: String,
    },
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    listen: Option<Vec<SocketAddr>>,
    keys: Option<PathBuf>,
    connections: Option<usize>,
    connections_per_key: Option<usize>,
    requests: Option<usize>,
    request_timeout_s: Option<u32>,
    connect_timeout_s: Option<u32>,
    stalled_timeout_s: Option<u32>,
    idle_timeout_s: Option<u32>,
    #[serde(default)]
    key: BTreeMap<String, DraftKey>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftKey {
    #[serde(default)]
    allow: Vec<String>,
    connections: Option<usize>,
}

impl Config {
    /// Reads the file. One that does not exist is an error only if the user named it.
    pub fn read(named: Option<&Path>) -> Result<Self, ConfigError> {
        let path = named.unwrap_or(Path::new(DEFAULT));
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => String::new(),
            text => text.map_err(|source| ConfigError::Unreadable {
                path: path.to_owned(),
                source,
            })?,
        };
        Self::parse(&text).map_err(|problem| ConfigError::Wrong {
            path: path.to_owned(),
            problem,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let draft: Draft = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let seconds = |given: Option<u32>, default: Duration| {
            given.map_or(default, |given| Duration::from_secs(given.into()))
        };
        let patience = Patience::default();
        let config = Self {
            listen: draft
                .listen
                .unwrap_or_else(|| vec![SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT)]),
            keys: draft.keys.unwrap_or_else(|| KEYS.into()),
            connections: draft.connections.unwrap_or(10_000),
            connections_per_key: draft.connections_per_key.unwrap_or(2_000),
            requests: draft.requests.unwrap_or(1_024),
            request_timeout: seconds(draft.request_timeout_s, Duration::from_secs(5)),
            connect_timeout: seconds(draft.connect_timeout_s, Duration::from_secs(10)),
            patience: Patience {
                stalled: seconds(draft.stalled_timeout_s, patience.stalled),
                idle: seconds(draft.idle_timeout_s, patience.idle),
            },
            rights: draft
                .key
                .into_iter()
                .map(|(name, key)| rights(&name, key).map(|rights| (name, rights)))
                .collect::<Result<_, _>>()?,
        };
        config.check().map_or(Ok(config), Err)
    }

    /// What makes these values useless, with what to do.
    fn check(&self) -> Option<String> {
        let counts = [self.connections, self.connections_per_key, self.requests];
        let times = [
            self.request_timeout,
            self.connect_timeout,
            self.patience.stalled,
            self.patience.idle,
        ];
        if self.listen.is_empty() {
            return Some("`listen` is empty; name an address like \"[::]:4433\", or remove it".into());
        }
        if counts.contains(&0) {
            return Some("a limit of 0 connections lets nobody in; give at least 1".into());
        }
        times
            .contains(&Duration::ZERO)
            .then(|| "a time-out of 0 s ends every connection; give at least 1".into())
    }
}

fn rights(name: &str, key: DraftKey) -> Result<Rights, String> {
    let read = |text: &String| {
        text.parse()
            .map_err(|error| format!("`allow` of key.{name}: {error}"))
    };
    Ok(Rights {
        allow: key.allow.iter().map(read).collect::<Result<_, _>>()?,
        connections: key.connections,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_gives_a_working_relay() {
        let config = Config::parse("").unwrap();
        assert_eq!(config.listen, ["[::]:4433".parse().unwrap()]);
        assert_eq!(config.request_timeout, Duration::from_secs(5));
        assert!(config.rights.is_empty());
    }

    #[test]
    fn every_key_is_read() {
        let config = Config::parse(
            "listen = [\"192.0.2.1:443\"]\nkeys = \"/k\"\nconnections = 1\nconnections_per_key = 2\n\
             requests = 3\nrequest_timeout_s = 4\nconnect_timeout_s = 5\nstalled_timeout_s = 6\n\
             idle_timeout_s = 7\n[key.car]\nallow = [\"10.0.0.0/8\"]\nconnections = 8\n",
        );
        let s = Duration::from_secs;
        let car = Rights {
            allow: vec!["10.0.0.0/8".parse().unwrap()],
            connections: Some(8),
        };
        let expected = Config {
            listen: vec!["192.0.2.1:443".parse().unwrap()],
            keys: "/k".into(),
            connections: 1,
            connections_per_key: 2,
            requests: 3,
            request_timeout: s(4),
            connect_timeout: s(5),
            patience: Patience {
                stalled: s(6),
                idle: s(7),
            },
            rights: [("car".to_owned(), car)].into(),
        };
        assert_eq!(config, Ok(expected));
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, said) in [
            ("lisen = []", "unknown field `lisen`"),
            ("listen = []", "`listen` is empty"),
            ("listen = [\"relay:443\"]", "line 1"),
            ("connections = 0", "limit of 0"),
            ("idle_timeout_s = 0", "time-out of 0 s"),
            (
                "[key.car]\nallow = [\"10.0.0.0/40\"]",
                "key.car: `10.0.0.0/40` is not a network",
            ),
            ("[key.car]\ndeny = []", "unknown field `deny`"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
