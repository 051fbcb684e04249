//! The daemon's whole state at one moment: for `status`, `why` and tests.

use crate::bpf::{MarkCounters, WindowKind};
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::networks::NetworksReport;
use policy::{ConnId, ConnSample, Explanation, LinkId, LinkSpec, RoleExplanation, SubflowId, SubflowSample};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use units::{Bitrate, Bytes, Dbm, Duration, Instant, MacAddr, Ratio};

/// The state of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Time of the report.
    pub at: Instant,
    /// Start of the daemon.
    pub since: Instant,
    /// Links, as declared.
    pub links: Vec<LinkReport>,
    /// Connections that this host opened.
    pub conns: Vec<ConnReport>,
    /// Connections that fell back to plain TCP.
    pub fallbacks: Vec<FallbackReport>,
    /// Networks of flows that cannot use several links. `None` if they follow the user's routes.
    pub networks: Option<NetworksReport>,
    /// The levers that limit a peer's queue and our own.
    pub levers: LeverReport,
    /// The default congestion controller of new connections, which a program or a route may override. Empty
    /// if the kernel does not tell.
    pub cc: String,
    /// What the engine uses each link for, and why.
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
    /// Its interface, if there is one.
    pub interface: Option<String>,
    /// That interface's index.
    pub ifindex: Option<u32>,
    /// WiFi: what its radio reports. `None`: it is not connected, or the kernel has no `nl80211`.
    pub wifi: Option<WifiReport>,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Our addresses on it whose routes are in place. If there is none, the link is not usable.
    pub addresses: Vec<IpAddr>,
    /// Next hops, in the order of the addresses. `None` if peers are on the link itself.
    pub gateways: Vec<Option<IpAddr>>,
    /// Whether new connections to the Internet begin here, in IPv4 or IPv6, by the kernel's tables with the
    /// user's routes and ours.
    pub default_route: bool,
    /// Whether new connections over IPv4 begin here.
    pub default_v4: bool,
    /// Whether new connections over IPv6 begin here.
    pub default_v6: bool,
    /// Marks on packets received over it. `None` if none was ever requested.
    pub marks: Option<MarkReport>,
    /// Marks on packets sent over it.
    pub sent_marks: Option<MarkReport>,
    /// Why no received packet is marked, whatever is requested.
    pub marks_blocked: Option<String>,
    /// Why no sent packet is marked, whatever is requested.
    pub sent_marks_blocked: Option<String>,
    /// The last reason given for its marks, in either direction.
    pub marks_why: Option<String>,
}

/// What a radio reports of a WiFi link. Counters begin with the association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WifiReport {
    /// The access point.
    pub bssid: MacAddr,
    /// Name of its network.
    pub ssid: String,
    /// Centre frequency of its channel, in MHz.
    pub mhz: u32,
    /// Mean signal of its beacons, or that of its last frame.
    pub signal: Option<Dbm>,
    /// Rate of the last frame sent to it.
    pub tx_rate: Option<Bitrate>,
    /// Packets sent to it.
    pub tx_packets: u32,
    /// Transmissions that had to be repeated.
    pub tx_retries: u32,
    /// Packets that were given up.
    pub tx_failed: u32,
    /// Where beacons and frames come from.
    pub source: WifiSource,
    /// Why no monitor interface hears its frames, although one was wanted.
    pub no_monitor: Option<String>,
}

/// Where the engine's facts about a WiFi link come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WifiSource {
    /// A monitor interface hears its frames.
    Monitor,
    /// The driver's counters of the association: losses and airtime are unknown.
    #[default]
    Statistics,
}

/// Marks on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkReport {
    /// The rate in force.
    pub rate: Ratio,
    /// Packets seen and marked since the first mark.
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
    /// Counters of the latest sample.
    pub sample: ConnSample,
    /// How far ahead the peer may send, if limited.
    pub window: Option<Bytes>,
    /// The reason for that window, as a sentence.
    pub window_why: Option<String>,
    /// The limit on unsent bytes per subflow, if there is one.
    pub unsent: Option<Bytes>,
    /// The reason for that limit, as a sentence.
    pub unsent_why: Option<String>,
    /// The roles of its slow links: backup, on trial in use, or lately proven useful, and why.
    pub roles: Vec<RoleExplanation>,
    /// The congestion controllers that its sockets on this host really use, each once. Empty if the kernel
    /// does not tell.
    pub controllers: Vec<String>,
    /// Living subflows.
    pub subflows: Vec<SubflowReport>,
}

/// A connection that fell back to plain TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackReport {
    /// Its token, if the kernel has given it one.
    pub conn: Option<ConnId>,
    /// Its link.
    pub link: LinkId,
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// The cause, as far as this end can know.
    pub cause: FallbackCause,
    /// The limit on what the peer may have in flight, if one is configured.
    pub bound: Option<FallbackBound>,
    /// The congestion controller that it really uses, if the kernel tells.
    pub controller: Option<String>,
}

/// Why a connection fell back to plain TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackCause {
    /// The kernel asked for MPTCP, and the reply had no MPTCP option.
    NotAgreed,
    /// The kernel has stopped asking for MPTCP.
    NotAsked,
    /// Both ends had agreed, and later segments came without MPTCP options.
    Later,
}

impl FallbackCause {
    /// The cause, as a sentence for users.
    pub const fn why(self) -> &'static str {
        match self {
            Self::NotAgreed => "the server or a middlebox does not support MPTCP",
            Self::NotAsked => {
                "the kernel did not ask for MPTCP, since requests for it were lost before (net.mptcp.blackhole_timeout)"
            }
            Self::Later => "a middlebox removed or changed MPTCP's options after the handshake",
        }
    }
}

/// The limit on a connection that fell back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackBound {
    /// The most that the peer may have in flight.
    pub asked: Bytes,
    /// Whether the limit is in force, or why not.
    pub done: Result<(), String>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubflowReport {
    /// Its number.
    pub id: SubflowId,
    /// Its link.
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
    /// Counters of the latest sample.
    pub sample: SubflowSample,
    /// The congestion controller that it really uses, if the kernel tells.
    pub controller: Option<String>,
}

/// The levers in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeverReport {
    /// How windows are limited, or why they cannot be.
    pub window: Result<WindowKind, String>,
    /// Why the better way to limit windows failed, if it did.
    pub window_refused: Option<String>,
    /// Why windows are not limited on packets sent over these interfaces, by interface index.
    pub unattached: BTreeMap<u32, String>,
    /// Why windows cannot be limited by a clamp instead, if a connection used one of these interfaces and the
    /// clamp failed.
    pub no_other_way: Option<String>,
    /// The largest receive buffer of a new connection, if windows cannot be limited, or not on all
    /// interfaces.
    pub new_connections: Option<Bytes>,
    /// Whether unsent bytes can be limited, or why not.
    pub unsent: Result<(), String>,
    /// CPU time of the programs in the kernel so far, including those that mark, while it is counted (see
    /// [`CountRunTime`](crate::bpf::CountRunTime)).
    pub run_time: Duration,
}
