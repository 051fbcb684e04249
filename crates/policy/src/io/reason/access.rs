//! Why a link must not be used, or may be used again.

use crate::io::{LinkId, Trust};
use units::Bytes;

/// Why a link must not be used, or may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The user's rules forbid it.
    Refused(Refused),
    /// The user's rules allow it again.
    Allowed,
    /// The check for the Internet does not pass.
    Held(Held),
    /// The check for the Internet passes again.
    Passes,
    /// The check for the Internet does not pass, and no other link is usable.
    NoAlternative,
    /// Nothing says any longer that it does not lead to the Internet.
    NotKnown,
}

/// Why the user's rules forbid a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Its kind of network is not allowed.
    Trust(Trust),
    /// It has used up its cap.
    Cap {
        /// Bytes used in this metering period.
        used: Bytes,
        /// The cap.
        cap: Bytes,
    },
}

/// Why a link is held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A captive portal replies to the check, or the network says that it has a closed one.
    Portal,
    /// Nothing replies, while the check passes over this link.
    NoReply(LinkId),
    /// It has never passed, and the check had passed over this link before it came.
    Unchecked(LinkId),
}

impl Access {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Refused(Refused::Trust(_)) => "not-allowed",
            Self::Refused(Refused::Cap { .. }) => "cap-reached",
            Self::Allowed => "allowed-again",
            Self::Held(Held::Portal) => "captive-portal",
            Self::Held(Held::NoReply(_)) => "no-internet",
            Self::Held(Held::Unchecked(_)) => "unchecked",
            Self::Passes => "check-passes",
            Self::NoAlternative => "no-alternative",
            Self::NotKnown => "not-known",
        }
    }
}
