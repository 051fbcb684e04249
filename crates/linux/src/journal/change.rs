//! One change as a line of text: a keyword and tab-separated fields. Tabs, line ends and backslashes in
//! fields are escaped.

use crate::mptcp_pm::AddressId;
use crate::rtnl::IfName;
use crate::sysctl::Key;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;
use units::Bytes;

/// A change to the host, with the data needed to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A kernel parameter.
    Sysctl {
        /// The parameter.
        key: Key,
        /// Its value before the change.
        old: String,
        /// Its value after the change.
        new: String,
    },
    /// Routes and rules with slowhand's protocol number, created or about to be created.
    Routing,
    /// An endpoint of the in-kernel path manager.
    Endpoint {
        /// Its id.
        id: AddressId,
        /// Its address.
        address: IpAddr,
    },
    /// The in-kernel path manager's limits.
    Limits {
        /// `subflows` and `add_addr_accepted` before the change.
        old: (u32, u32),
        /// `subflows` and `add_addr_accepted` after the change.
        new: (u32, u32),
    },
    /// Clamps of this size on sockets of connections that fell back to plain TCP, set or about to be set.
    FallbackWindow(Bytes),
    /// A monitor interface of this name, created or about to be created.
    Monitor(IfName),
    /// A station interface of this name, created or about to be created.
    Station(IfName),
    /// An interface that NetworkManager manages, and that it leaves alone while slowhand has its place. The
    /// interface is set down.
    TakenOver(TakenOver),
    /// Clamps, unsent limits or pacing caps of any size on subflows of MPTCP connections, set or about to be
    /// set.
    SocketLimits,
}

/// An interface of the user whose place is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenOver {
    /// Its name, which may change while it is down.
    pub name: IfName,
    /// Its index, by which it is found.
    pub ifindex: u32,
}

/// Why a line is not a valid change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseChangeError {
    /// The first line is not that of a journal.
    #[error("`{0}` is not the first line of a slowhand journal")]
    NotAJournal(String),
    /// The keyword is unknown.
    #[error("`{0}` is not a change that this version knows; undo it with the version that wrote it")]
    Word(String),
    /// Fields are missing or invalid.
    #[error("`{0}` has a missing or invalid field")]
    Fields(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl { key, old, new } => {
                write!(
                    f,
                    "sysctl\t{}\t{}\t{}",
                    escape(key.name()),
                    escape(old),
                    escape(new)
                )
            }
            Self::Routing => f.write_str("routing"),
            Self::Endpoint { id, address } => write!(f, "endpoint\t{}\t{address}", id.0),
            Self::Limits { old, new } => write!(f, "limits\t{}\t{}\t{}\t{}", old.0, old.1, new.0, new.1),
            Self::FallbackWindow(window) => write!(f, "fallback-window\t{}", window.get()),
            Self::Monitor(name) => write!(f, "monitor\t{name}"),
            Self::Station(name) => write!(f, "station\t{name}"),
            Self::TakenOver(TakenOver { name, ifindex }) => write!(f, "taken-over\t{name}\t{ifindex}"),
            Self::SocketLimits => f.write_str("socket-limits"),
        }
    }
}

impl FromStr for Change {
    type Err = ParseChangeError;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let bad = || ParseChangeError::Fields(line.to_owned());
        match fields[..] {
            ["sysctl", key, old, new] => Ok(Self::Sysctl {
                key: Key::new(key),
                old: old.into(),
                new: new.into(),
            }),
            ["routing"] => Ok(Self::Routing),
            ["monitor", name] => name.parse().map(Self::Monitor).map_err(|_| bad()),
            ["station", name] => name.parse().map(Self::Station).map_err(|_| bad()),
            ["taken-over", name, ifindex] => parse_taken_over(name, ifindex).ok_or_else(bad),
            ["socket-limits"] => Ok(Self::SocketLimits),
            ["endpoint", id, address] => parse_endpoint(id, address).ok_or_else(bad),
            ["limits", a, b, c, d] => parse_limits([a, b, c, d]).ok_or_else(bad),
            ["fallback-window", bytes] => bytes
                .parse()
                .map(|bytes| Self::FallbackWindow(Bytes::new(bytes)))
                .map_err(|_| bad()),
            [
                "sysctl" | "endpoint" | "limits" | "routing" | "fallback-window" | "socket-limits"
                | "monitor" | "station" | "taken-over",
                ..,
            ] => Err(bad()),
            _ => Err(ParseChangeError::Word(line.to_owned())),
        }
    }
}

fn parse_endpoint(id: &str, address: &str) -> Option<Change> {
    Some(Change::Endpoint {
        id: AddressId(id.parse().ok()?),
        address: address.parse().ok()?,
    })
}

fn parse_taken_over(name: &str, ifindex: &str) -> Option<Change> {
    Some(Change::TakenOver(TakenOver {
        name: name.parse().ok()?,
        ifindex: ifindex.parse().ok()?,
    }))
}

fn parse_limits(fields: [&str; 4]) -> Option<Change> {
    let [a, b, c, d] = fields.map(|field| field.parse().ok());
    Some(Change::Limits {
        old: (a?, b?),
        new: (c?, d?),
    })
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
}

fn unescape(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            (c, false) => text.push(c),
        }
    }
    text
}
