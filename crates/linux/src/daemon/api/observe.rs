//! What a running daemon lets the outside see as it happens.

use crate::daemon::api::left_alone::LeftAlone;
use policy::{Action, ConnId, Input, LinkId, SubflowId};
use std::net::SocketAddr;
use units::Duration;

/// Something worth recording. Borrowed: an observer keeps what it wants.
#[derive(Debug)]
pub enum Observation<'a> {
    /// The engine is told this, in this order: link and subflow events, counters, answers of probes.
    Told(&'a Input),
    /// The engine asked for this and it was carried out, or was handed to the kernel. Decisions ([`Action::Note`]) too.
    Done(&'a Action),
    /// The engine asked for this and it could not be carried out.
    Failed {
        /// What.
        action: &'a Action,
        /// Why, and what to do about it.
        why: &'a str,
    },
    /// A subflow's ends: comes before the engine is told of it.
    Subflow {
        /// Which.
        subflow: SubflowId,
        /// Whose.
        conn: ConnId,
        /// Over which link.
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
        /// Which.
        conn: ConnId,
        /// Why.
        why: LeftAlone,
    },
    /// Something that no action asked for did not work; the daemon goes on without.
    Trouble {
        /// With what.
        what: &'a str,
        /// Why, and what to do about it.
        why: &'a str,
    },
    /// The host was suspended for so long and is awake again.
    Resumed(Duration),
}
