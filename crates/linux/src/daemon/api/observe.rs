//! Events that a running daemon shows to the outside as they happen.

use crate::daemon::api::left_alone::LeftAlone;
use policy::{Action, ConnId, Input, LinkId, SubflowId};
use std::net::SocketAddr;
use units::Duration;

/// An event worth recording. Borrowed: an observer copies what it keeps.
#[derive(Debug)]
pub enum Observation<'a> {
    /// The engine is about to process this input: link and subflow events, counters, replies to probes. In
    /// order.
    Told(&'a Input),
    /// The engine's action was executed or handed to the kernel. Includes decisions ([`Action::Note`]).
    Done(&'a Action),
    /// The engine's action failed.
    Failed {
        /// The action.
        action: &'a Action,
        /// The reason, and what to do about it.
        why: &'a str,
    },
    /// A subflow's ends. Comes before the engine is told about the subflow.
    Subflow {
        /// The subflow.
        subflow: SubflowId,
        /// Its connection.
        conn: ConnId,
        /// Its link.
        link: LinkId,
        /// This host's end.
        local: SocketAddr,
        /// The peer's end.
        remote: SocketAddr,
        /// The address identifier of this host's end.
        address_id: u8,
    },
    /// A connection is left alone from now on.
    LeftAlone {
        /// The connection.
        conn: ConnId,
        /// The reason.
        why: LeftAlone,
    },
    /// A failure that belongs to no action. The daemon continues without it.
    Trouble {
        /// What failed.
        what: &'a str,
        /// The reason, and what to do about it.
        why: &'a str,
    },
    /// The host was suspended for this long, and is awake again.
    Resumed(Duration),
}
