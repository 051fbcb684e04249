//! Names that users type and all crates agree on.

use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What decides which links carry a run's traffic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PolicyName {
    /// Plain TCP over the link of this name only.
    Tcp(String),
    /// For every whole 10 s the best `tcp:<link>` run. Computed, not run.
    TcpBest,
    /// One access point at a time, break before make; no cellular.
    Handover,
    /// The same choice, with the next access point already associated.
    HandoverWarm,
    /// `handover-warm` for WiFi, with cellular joined throughout.
    HandoverCell,
    /// WiFi where there is any, otherwise cellular; one path at a time.
    WifiFirst,
    /// Every link joined, the stock path manager and scheduler, and nothing else.
    Mptcp,
    /// `mptcp` with loss estimation and ECN marking.
    Ecn,
    /// All of slowhand's measures.
    Slowhand,
    /// All of slowhand's measures but the window.
    SlowhandNoWindow,
}

/// An invalid policy name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParsePolicyError {
    /// None of the names.
    #[error("unknown policy `{0}`; valid: {list}", list = PolicyName::VALID.join(", "))]
    Unknown(String),
    /// `tcp:` without a link.
    #[error("policy `tcp:` names no link; write `tcp:<link>` with a link of the scenario, such as `tcp:lte`")]
    NoLink,
}

impl PolicyName {
    /// Every valid spelling.
    pub const VALID: [&'static str; 10] = [
        "tcp:<link>",
        "tcp-best",
        "handover",
        "handover-warm",
        "handover+cell",
        "wifi-first",
        "mptcp",
        "ecn",
        "slowhand",
        "slowhand-no-window",
    ];

    /// Those without a link in their name.
    pub const FIXED: [Self; 9] = [
        Self::TcpBest,
        Self::Handover,
        Self::HandoverWarm,
        Self::HandoverCell,
        Self::WifiFirst,
        Self::Mptcp,
        Self::Ecn,
        Self::Slowhand,
        Self::SlowhandNoWindow,
    ];

    /// Whether it is computed from other runs instead of being run.
    pub const fn is_computed(&self) -> bool {
        matches!(self, Self::TcpBest)
    }

    /// Whether it is one of ours, not a baseline.
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Slowhand | Self::SlowhandNoWindow)
    }

    /// The link of `tcp:<link>`.
    pub fn only_link(&self) -> Option<&str> {
        match self {
            Self::Tcp(link) => Some(link),
            _ => None,
        }
    }

    /// What it is, in a few words for a reader who has not seen the list.
    pub const fn sentence(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "plain TCP over this link only",
            Self::TcpBest => "computed: in every 10 s, the link with the highest goodput",
            Self::Handover => {
                "one access point at a time, leaving the old one before joining the next; no cellular"
            }
            Self::HandoverWarm => {
                "one access point at a time, joining the next before leaving the old one; no cellular"
            }
            Self::HandoverCell => {
                "one access point at a time, joining the next before leaving the old one, and cellular at the same time"
            }
            Self::WifiFirst => "WiFi where available, otherwise cellular; one link at a time",
            Self::Mptcp => "a subflow on every link, scheduled by the kernel alone",
            Self::Ecn => "a subflow on every link, with ECN marks that slow down poor access points",
            Self::Slowhand => {
                "the best links together; each link is monitored and removed when it fails or is about to"
            }
            Self::SlowhandNoWindow => {
                "slowhand without limits on queues: no window, unsent limit, marks or caps; no link is demoted, no subflow replaced"
            }
        }
    }

    const fn fixed_name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp:",
            Self::TcpBest => "tcp-best",
            Self::Handover => "handover",
            Self::HandoverWarm => "handover-warm",
            Self::HandoverCell => "handover+cell",
            Self::WifiFirst => "wifi-first",
            Self::Mptcp => "mptcp",
            Self::Ecn => "ecn",
            Self::Slowhand => "slowhand",
            Self::SlowhandNoWindow => "slowhand-no-window",
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(link) => f.pad(&format!("tcp:{link}")),
            fixed => f.pad(fixed.fixed_name()),
        }
    }
}

impl FromStr for PolicyName {
    type Err = ParsePolicyError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name.strip_prefix("tcp:") {
            Some("") => Err(ParsePolicyError::NoLink),
            Some(link) => Ok(Self::Tcp(link.to_owned())),
            None => Self::FIXED
                .into_iter()
                .find(|policy| policy.fixed_name() == name)
                .ok_or_else(|| ParsePolicyError::Unknown(name.to_owned())),
        }
    }
}

impl TryFrom<String> for PolicyName {
    type Error = ParsePolicyError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<PolicyName> for String {
    fn from(policy: PolicyName) -> Self {
        policy.to_string()
    }
}

words! {
    /// What a link is for.
    Role is "link role" {
        /// Joined and used.
        Primary = "primary",
        /// Joined as backup; carries data when the primaries are full.
        Secondary = "secondary",
        /// Joined as backup; used only when no primary or secondary delivers.
        Backup = "backup",
        /// No address, no subflow.
        Never = "never",
    }
}

words! {
    /// What the host wants from its links together.
    Mode is "mode" {
        /// One path, the next one warm.
        Handover = "handover",
        /// The path with the least delay, the others backup.
        Interactive = "interactive",
        /// All of them.
        Aggregate = "aggregate",
        /// Every byte on two paths (simulator and relay only: stock kernels cannot).
        Redundant = "redundant",
    }
}

words! {
    /// Where a run took place.
    World is "world" {
        /// Network namespaces, real kernel, modelled links.
        Lab = "lab",
        /// Virtual time.
        Sim = "sim",
        /// A host's own links.
        Linux = "linux",
        /// Virtual time and the lab, one scenario in each.
        Both = "both",
    }
}
