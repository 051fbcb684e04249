//! Why a flow has its network, waits, or ends.

use units::Duration;

/// Why a flow has its network, waits, or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned {
    /// It starts where new connections start.
    Active,
    /// Its program or a rule asks for this network.
    Requested,
    /// The network for which its program or a rule asks cannot carry it: it has no address, or is dead or
    /// held out.
    RequestedHasNoAddress,
    /// Peers are spread evenly.
    Spread,
    /// It waits, since its network cannot carry it, or none can.
    Waits,
    /// It ends, since its network is gone, or cannot carry it while too many others wait.
    NetworkGone,
    /// It is not watched, since too many flows are open.
    TooMany,
    /// It moves: its server replied to a probe over this link, and not over the former one.
    RepliesHere {
        /// How long it had no reply.
        silence: Duration,
    },
    /// It moves: it had no reply for far longer than usual, and its server never replied to probes.
    Unanswered {
        /// How long it had no reply.
        silence: Duration,
    },
    /// It moves, as the user asked.
    Moved,
}

impl Assigned {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Active => "flow-active",
            Self::Requested => "flow-requested",
            Self::RequestedHasNoAddress => "flow-no-address",
            Self::Spread => "flow-spread",
            Self::Waits => "flow-waits",
            Self::NetworkGone => "flow-network-gone",
            Self::TooMany => "flow-too-many",
            Self::RepliesHere { .. } => "flow-replies-here",
            Self::Unanswered { .. } => "flow-unanswered",
            Self::Moved => "flow-moved",
        }
    }
}
