//! Everything the daemon knows, at one moment: for `status`, `why` and tests.

use crate::bpf::{MarkCounters, WindowKind};
use crate::daemon::api::left_alone::LeftAlone;
use policy::{ConnId, ConnSample, Explanation, LinkId, LinkSpec, RoleExplanation, SubflowId, SubflowSample};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use units::{Bytes, Duration, Instant, Ratio};

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
    /// Connections that fell back to plain TCP.
    pub fallbacks: Vec<FallbackReport>,
    /// What bounds a peer's queue, and what bounds our own.
    pub levers: LeverReport,
    /// What new connections of this host are sent with, unless their program or their route says otherwise; empty if the kernel does not say.
    pub cc: String,
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
    /// That interface's index.
    pub ifindex: Option<u32>,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Our addresses on it whose routes are in place; none: not usable.
    pub addresses: Vec<IpAddr>,
    /// Next hops, in the order of the addresses; `None` where peers are on the link itself.
    pub gateways: Vec<Option<IpAddr>>,
    /// Whether new connections to the Internet begin here, in IPv4 or IPv6: so say the kernel's tables, with the user's routes and ours.
    pub default_route: bool,
    /// The same in IPv4.
    pub default_v4: bool,
    /// The same in IPv6.
    pub default_v6: bool,
    /// What was marked of what arrived by it; `None` if nothing ever was.
    pub marks: Option<MarkReport>,
    /// The same of what was sent over it.
    pub sent_marks: Option<MarkReport>,
    /// Why nothing of what arrives by it is marked, whatever is asked for.
    pub marks_blocked: Option<String>,
    /// The same of what is sent over it.
    pub sent_marks_blocked: Option<String>,
    /// What was said last about its marks, in either direction.
    pub marks_why: Option<String>,
}

/// Marks on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkReport {
    /// The rate in force.
    pub rate: Ratio,
    /// What was seen and done since the first mark.
    pub counters: MarkCounters,
}

impl From<(Ratio, MarkCounters)> for MarkReport {
    fn from((rate, counters): (Ratio, MarkCounters)) -> Self {
        Self { rate, counters }
    }
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
    /// Why it is what it is, in a sentence.
    pub window_why: Option<String>,
    /// How much may wait unsent on a subflow, if bounded.
    pub unsent: Option<Bytes>,
    /// Why that is bounded, in a sentence.
    pub unsent_why: Option<String>,
    /// Its slow links: which is a backup, is tried in use or has lately proven worth it, and why.
    pub roles: Vec<RoleExplanation>,
    /// The congestion controllers that its sockets of this host are really sent with, each once; none if the kernel did not say.
    pub controllers: Vec<String>,
    /// Living subflows.
    pub subflows: Vec<SubflowReport>,
}

/// A connection that fell back to plain TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackReport {
    /// Its token, if the kernel has given it one.
    pub conn: Option<ConnId>,
    /// Over which link.
    pub link: LinkId,
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// Why, as far as this end can know.
    pub cause: FallbackCause,
    /// How much the peer may have in flight, where the configuration says so.
    pub bound: Option<FallbackBound>,
    /// The congestion controller that it is really sent with, if the kernel said so.
    pub controller: Option<String>,
}

/// Why a connection fell back to plain TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackCause {
    /// The kernel asked for MPTCP, and the answer had none.
    NotAgreed,
    /// The kernel had given up asking.
    NotAsked,
    /// Both ends had agreed, and later segments came without the options.
    Later,
}

impl FallbackCause {
    /// Why, for people.
    pub const fn why(self) -> &'static str {
        match self {
            Self::NotAgreed => "the server or something on the way does not speak MPTCP",
            Self::NotAsked => {
                "the kernel did not ask for MPTCP, since requests for it were lost before (net.mptcp.blackhole_timeout)"
            }
            Self::Later => "something on the way removed or changed MPTCP's options after the handshake",
        }
    }
}

/// The bound on a connection that fell back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackBound {
    /// How much the peer is to have in flight at most.
    pub asked: Bytes,
    /// Whether that is so, or why not.
    pub done: Result<(), String>,
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
    /// The congestion controller that it is really sent with, if the kernel said so.
    pub controller: Option<String>,
}

/// The levers in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeverReport {
    /// How windows are bounded, or why they cannot be.
    pub window: Result<WindowKind, String>,
    /// Why the better way to bound windows could not be had, if it could not.
    pub window_refused: Option<String>,
    /// Why windows are not bounded on what leaves by these interfaces, by their index.
    pub unattached: BTreeMap<u32, String>,
    /// Why windows cannot be bounded by a clamp instead, if a connection went over one of these interfaces and the clamp could not be had.
    pub no_other_way: Option<String>,
    /// The most that the receive buffer of a new connection may grow to, where windows cannot be bounded, or not on all interfaces.
    pub new_connections: Option<Bytes>,
    /// Whether unsent bytes can be bounded, or why not.
    pub unsent: Result<(), String>,
    /// What the programs took in the kernel so far, those that mark included, while somebody counts (see [`CountRunTime`](crate::bpf::CountRunTime)).
    pub run_time: Duration,
}
