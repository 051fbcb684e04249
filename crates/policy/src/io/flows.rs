//! Flows that one network carries from start to end.

use super::ids::{LinkId, PeerId};

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEvent {
    /// Its first packet is held until [`crate::Action::Assign`] or [`crate::Action::Hold`] arrives.
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
