//! Flows that one network carries from start to end.

use super::ids::{LinkId, PeerId};

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEvent {
    /// Its first packet waits for [`crate::Action::Assign`] or [`crate::Action::Hold`], or has left by the
    /// world's latest choice. If that was another link, the flow moves once, with its next packet.
    Began(Wish),
    /// It is over.
    Ended,
}

/// Which link the application requests for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The link on which new connections start.
    Active,
    /// This link, if it has an address now.
    Network(LinkId),
    /// A link for one of many peers, which are to be spread evenly over all links.
    Peer(PeerId),
}
