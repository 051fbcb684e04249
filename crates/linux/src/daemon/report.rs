//! Everything the daemon knows, at one moment: for `status`, `why` and tests.

use super::LeftAlone;
use crate::bpf::WindowKind;
use policy::{ConnId, ConnSample, Explanation, LinkId, LinkSpec, SubflowId, SubflowSample};
use std::net::{IpAddr, SocketAddr};
use units::{Bytes, Duration, Instant};

/// The state of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When this was written.
    pub at: Instant,
    /// Since when the daemon runs.
    pub since: Instant,
    /// Links, as declared.
    pub links: Vec<LinkReport>,
    /// Connections that this host began.
    pub conns: Vec<ConnReport>,
    /// What bounds a peer's queue, and what bounds our own.
    pub levers: LeverReport,
    /// What each link that the engine knows of is used for, and why.
    pub why: Vec<Explanation>,
    /// CPU time that the loop has used.
    pub cpu: Duration,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReport {
    /// Its number.
    pub id: LinkId,
    /// As declared.
    pub spec: LinkSpec,
    /// The interface that it is now, if there is one.
    pub interface: Option<String>,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Our addresses on it whose routes are in place; none: not usable.
    pub addresses: Vec<IpAddr>,
    /// Next hops, in the order of the addresses; `None` where peers are on the link itself.
    pub gateways: Vec<Option<IpAddr>>,
    /// Whether new connections begin here.
    pub default_route: bool,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnReport {
    /// Its token.
    pub id: ConnId,
    /// The peer.
    pub remote: SocketAddr,
    /// Why it is left alone, if it is.
    pub left_alone: Option<LeftAlone>,
    /// Its counters at the latest look.
    pub sample: ConnSample,
    /// How far ahead the peer may queue, if bounded.
    pub window: Option<Bytes>,
    /// How much may wait unsent on a subflow, if bounded.
    pub unsent: Option<Bytes>,
    /// Living subflows.
    pub subflows: Vec<SubflowReport>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubflowReport {
    /// Its number.
    pub id: SubflowId,
    /// Over which link.
    pub link: LinkId,
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// The address identifier of this host's end.
    pub address_id: u8,
    /// Whether it is the connection's first.
    pub initial: bool,
    /// Whether the peer is known to have accepted it.
    pub proven: bool,
    /// Its counters at the latest look.
    pub sample: SubflowSample,
}

/// The levers in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeverReport {
    /// How windows are bounded, or why they cannot be.
    pub window: Result<WindowKind, String>,
    /// Why the better way to bound windows could not be had, if it could not.
    pub window_refused: Option<String>,
    /// Whether unsent bytes can be bounded, or why not.
    pub unsent: Result<(), String>,
}
