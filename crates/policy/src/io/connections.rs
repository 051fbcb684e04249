//! Connection events and counters.

use super::ids::{LinkId, RemoteId};
use super::links::Family;
use units::Bytes;

/// What can happen to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnEvent {
    /// It was established.
    Opened,
    /// It was closed.
    Closed,
    /// Its current counters.
    Sample(ConnSample),
    /// The peer accepts joins at this address, and this host's socket can have subflows to it. A repeat
    /// replaces the family. A connection of which the world reports no address is joined at its first one.
    Remote(RemoteId, Family),
    /// The peer no longer accepts joins at this address.
    RemoteGone(RemoteId),
    /// A requested subflow over this link could not be established, or the peer refused it. It is the last
    /// one that was requested over this link: a world drops an earlier one.
    JoinFailed {
        /// The link.
        link: LinkId,
        /// The reason.
        reason: JoinFailure,
    },
}

/// Why a join failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JoinFailure {
    /// The peer accepts no more subflows (it closed an established one within two round trips).
    Refused,
    /// No reply.
    Timeout,
    /// This host's kernel refused.
    Local,
    /// The user's routes lead to the peer over a network of its own, such as a tunnel or an inner network.
    /// They do not lead over this link.
    Elsewhere,
    /// The link has no address of the peer's family.
    NoAddress,
    /// The connection or the link was changing at that moment. Nobody refused the join.
    Untimely,
}

/// Counters of a connection, as `mptcp_info` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnSample {
    /// Payload bytes received in order at the data level.
    pub bytes_received: Bytes,
    /// Payload bytes sent that the peer acknowledged at the data level.
    pub bytes_acked: Bytes,
    /// Payload bytes that the application has written and the peer has not acknowledged.
    pub backlog: Bytes,
    /// Out-of-order bytes: payload received and not yet readable.
    pub held: Bytes,
}
