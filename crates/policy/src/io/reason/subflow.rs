//! Why a subflow is drained or replaced.

use units::{Dbm, Duration};

/// Why a subflow is drained or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// Its signal is too weak for frames.
    TooWeak {
        /// The signal.
        signal: Dbm,
    },
    /// The peer would retransmit data that has arrived.
    Reinjection {
        /// How long that would take.
        lasts: Duration,
    },
    /// Lost data would wait for the peer's backlog.
    Backlog {
        /// For how long.
        lasts: Duration,
    },
}

impl Replaced {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::TooWeak { .. } => "too-weak",
            Self::Reinjection { .. } => "reinjection",
            Self::Backlog { .. } => "backlog",
        }
    }
}
