//! Connections: what can happen to them, and their counters.

use super::ids::LinkId;
use units::Bytes;

/// What can happen to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnEvent {
    /// It was established.
    Opened,
    /// It is no more.
    Closed,
    /// Its counters now.
    Sample(ConnSample),
    /// A subflow that was asked for over this link could not be made, or was refused by the peer.
    JoinFailed {
        /// Over which link.
        link: LinkId,
        /// Why.
        reason: JoinFailure,
    },
}

/// Why a subflow did not come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JoinFailure {
    /// The peer takes no more subflows (established, then closed by it within two round trips).
    Refused,
    /// No answer.
    Timeout,
    /// This host's kernel said no.
    Local,
    /// The user's routes lead to the peer by a network of its own, such as a tunnel or an inner network, and
    /// not over this link.
    Elsewhere,
    /// The link has no address of the peer's family.
    NoAddress,
    /// It was asked for at the wrong moment: the connection or the link was changing just then. Nobody has
    /// refused it.
    Untimely,
}

/// Counters of a connection, as `mptcp_info` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnSample {
    /// Payload bytes received in order at the data level.
    pub bytes_received: Bytes,
    /// Payload bytes of ours that the peer acknowledged at the data level.
    pub bytes_acked: Bytes,
    /// Payload bytes of ours that the application has written and the peer has not acknowledged.
    pub backlog: Bytes,
    /// Payload bytes that came and wait for earlier ones.
    pub held: Bytes,
}
