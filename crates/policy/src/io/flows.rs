//! Flows that one network carries from start to end.

use super::ids::{HostId, LinkId, PeerId};
use units::Duration;

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEvent {
    /// Its first packet waits for [`crate::Action::Assign`] or [`crate::Action::Hold`], or has left by the
    /// world's latest choice. If that was another link, the flow moves once, with its next packet.
    Began(Wish),
    /// It is over.
    Ended,
    /// It has replies from this host, at short intervals.
    Answered(HostId),
    /// It sends without a reply, for much longer than usual. The world reports it once for each silence, and
    /// again when the silence has doubled.
    Silent {
        /// The host to which it sends.
        host: HostId,
        /// How long it has sent without a reply.
        silence: Duration,
        /// The longest such silence in the last seconds.
        usual: Duration,
    },
    /// The user wants this flow on this link from now on.
    Wanted(LinkId),
}

/// Which link the application requests for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The link on which new connections start.
    Active,
    /// This link, if it has an address now.
    Network(LinkId),
    /// This link and no other. The flow waits while it has no address.
    Only(LinkId),
    /// A link for one of many peers, which are to be spread evenly over all links.
    Peer(PeerId),
}
