//! Flows that one network carries from beginning to end.

use super::ids::{LinkId, PeerId};

/// What can happen to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEvent {
    /// Its first packet waits for an answer: [`crate::Action::Assign`] or [`crate::Action::Hold`].
    Began(Wish),
    /// It is over.
    Ended,
}

/// Where the application wants a flow to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Wherever new connections go.
    Active,
    /// Over this link, if it has an address now.
    Network(LinkId),
    /// To one of many peers, which are to be spread evenly over all links.
    Peer(PeerId),
}
