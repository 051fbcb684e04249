//! Why a link is suspect, dead, or alive again.

use crate::io::LinkId;
use units::Duration;

/// Why a link is suspect, dead, or alive again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Its subflows are silent.
    Silent {
        /// For how long.
        silence: Duration,
    },
    /// No host beyond it has replied, while no connection uses it.
    HostsSilent {
        /// For how long.
        silence: Duration,
        /// Hosts that are probed.
        hosts: usize,
    },
    /// Its subflows are silent, and probes to their peer had no reply.
    Unanswered {
        /// How long nothing was received.
        silence: Duration,
        /// Probes without a reply.
        probes: u32,
        /// Time since the first of them.
        waited: Duration,
    },
    /// Hosts did not reply over it, and replied over another link.
    ReachedElsewhere {
        /// Hosts that did not reply.
        hosts: usize,
        /// Probes to each.
        probes: u32,
        /// Time since the first of them.
        waited: Duration,
        /// The other link.
        over: LinkId,
        /// Hosts that replied over it.
        reached: usize,
    },
    /// Hosts that had replied over it before did not reply, while another link works.
    StoppedReplying {
        /// Hosts that did not reply.
        hosts: usize,
        /// Probes to each.
        probes: u32,
        /// Time since the first of them.
        waited: Duration,
        /// The link that works.
        works: LinkId,
    },
    /// Something arrived over a dead link.
    RepliesAgain,
    /// No host is known whose reply would show that a dead link is back.
    NoHostToProbe,
}

impl Evidence {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Silent { .. } => "silent",
            Self::HostsSilent { .. } => "hosts-silent",
            Self::Unanswered { .. } => "unanswered",
            Self::ReachedElsewhere { .. } => "reached-elsewhere",
            Self::StoppedReplying { .. } => "stopped-replying",
            Self::RepliesAgain => "replies-again",
            Self::NoHostToProbe => "no-host-to-probe",
        }
    }
}
