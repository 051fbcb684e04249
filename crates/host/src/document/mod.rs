//! The `--json` documents of `status` and `why`, made from the daemon's report.

mod access_point;
mod marks;
mod networks;
mod wifi;

pub use access_point::{AccessPoint, AccessPoints};
pub use marks::Marks;
pub use networks::{Flow, NETWORKS, Network, Networks, NetworksList};
pub use wifi::Wifi;

use linux::bpf::WindowKind;
use linux::daemon::{
    ConnReport, FallbackBound, FallbackReport, LinkReport, MarkReport, Report, SubflowReport,
};
use policy::{LinkId, LinkKind, Role};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use units::Duration;

/// Name and version of the document of `status --json`.
pub const STATUS: &str = "slowhand.status/1";
/// Name and version of the document of `why --json`.
pub const WHY: &str = "slowhand.why/1";

/// The document of `slowhand status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name and version of this format.
    pub schema: String,
    /// The daemon's process.
    pub pid: u32,
    /// Name of the policy.
    pub policy: String,
    /// Seconds since the daemon started.
    pub uptime_s: f64,
    /// Seconds of CPU time it has used.
    pub cpu_s: f64,
    /// Congestion controller of this host's new connections, from the kernel's setting. Their program or
    /// their route may choose another. What each connection really uses is in `connections` and `fallbacks`.
    pub cc: String,
    /// Way to bound a peer's queue: `egress`, `clamp`, or absent.
    pub window_lever: Option<String>,
    /// Why there is no better way, or none on some links.
    pub window_lever_why: Option<String>,
    /// Whether the unsent bytes of uploads can be limited.
    pub unsent_lever: bool,
    /// Links, as declared and found.
    pub links: Vec<Link>,
    /// Connections that this host opened.
    pub connections: Vec<Connection>,
    /// Connections that fell back to plain TCP; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// Networks of flows that cannot use several links; absent unless `[networks]` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Networks>,
    /// Connections of programs that the agent carries; absent unless `[relay]` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<trace::agent::Agent>,
    /// Access points of the networks in `[wifi]`; absent without that table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<AccessPoints>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its interface, if it exists.
    pub interface: Option<String>,
    /// `wifi`, `cell` or `cable`.
    pub kind: String,
    /// `primary`, `secondary`, `backup` or `never`.
    pub role: String,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// WiFi: what its radio reports; absent if it is not connected or the kernel has no `nl80211`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Our addresses whose routes are in place; none: not usable.
    pub addresses: Vec<IpAddr>,
    /// Next hops, in the order of the addresses; null if peers are on the link itself.
    pub gateways: Vec<Option<IpAddr>>,
    /// Whether new connections to the Internet use this link, in IPv4 or IPv6.
    pub default_route: bool,
    /// Whether new IPv4 connections use it.
    #[serde(default)]
    pub default_v4: bool,
    /// Whether new IPv6 connections use it.
    #[serde(default)]
    pub default_v6: bool,
    /// The state of the link: `use`, `demote`, `dead`, `down`, …
    pub state: String,
    /// Marks on packets received over it; absent if there were never to be any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Marks>,
    /// Marks on packets sent over it; absent if there were never to be any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_marks: Option<Marks>,
    /// Why no received packets are marked although they should be; absent if nothing prevents it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_blocked: Option<String>,
    /// Why no sent packets are marked although they should be; absent if nothing prevents it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_marks_blocked: Option<String>,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Its token, in hexadecimal as `ip mptcp monitor` prints it.
    pub token: String,
    /// The peer.
    pub remote: SocketAddr,
    /// Why slowhand does not manage it, if so.
    pub left_alone: Option<String>,
    /// Payload received in order, bytes.
    pub bytes_received: u64,
    /// Payload acknowledged by the peer, bytes.
    pub bytes_acked: u64,
    /// Payload written by the application and not yet acknowledged, bytes.
    pub backlog_bytes: u64,
    /// Limit on how far ahead the peer may queue, bytes; absent: the kernel decides.
    pub window_bytes: Option<u64>,
    /// Unsent bytes at which a subflow gets no more data (up to 64 KiB beyond); absent: the kernel decides.
    pub unsent_limit_bytes: Option<u64>,
    /// Congestion controllers of its subflows' sockets as the kernel reports them, each once. The peer's,
    /// which sends what is received, cannot be seen from here.
    #[serde(default)]
    pub cc: Vec<String>,
    /// Open subflows.
    pub subflows: Vec<Subflow>,
}

/// A connection that fell back to plain TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// Its token; absent if the kernel has given it none.
    pub token: Option<String>,
    /// The link it uses.
    pub link: String,
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// Limit on the bytes the peer may have in flight; absent: the kernel decides.
    pub window_bytes: Option<u64>,
    /// Why it fell back, and what is done about its queue: a sentence.
    pub why: String,
    /// Congestion controller that it really uses; absent if the kernel does not report it.
    #[serde(default)]
    pub cc: Option<String>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subflow {
    /// The link it uses.
    pub link: String,
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// The address identifier of this host's end.
    pub id: u8,
    /// `joining`, `active` or `backup`.
    pub state: String,
    /// Payload received, bytes.
    pub bytes_received: u64,
    /// Payload acknowledged, bytes.
    pub bytes_acked: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Smoothed round-trip time, in ms; absent if none was measured.
    pub srtt_ms: Option<f64>,
    /// Least round-trip time, in ms; absent if none was measured.
    pub min_rtt_ms: Option<f64>,
    /// Congestion controller that it really uses; absent if the kernel does not report it, or no longer can.
    #[serde(default)]
    pub cc: Option<String>,
}

/// The document of `slowhand why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Why {
    /// Name and version of this format.
    pub schema: String,
    /// At least one sentence for every link.
    pub links: Vec<LinkWhy>,
    /// Connections whose window is limited.
    pub windows: Vec<ConnectionWhy>,
    /// Connections whose unsent bytes on each path are limited.
    #[serde(default)]
    pub unsent: Vec<ConnectionWhy>,
    /// Slow links of a connection: demoted, on trial, or recently found useful.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleWhy>,
    /// Connections that fell back to plain TCP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// Connections that slowhand does not manage.
    pub left_alone: Vec<ConnectionWhy>,
    /// Ways in force instead of better ones, and why.
    pub levers: Vec<String>,
    /// Why connections of programs take their way; absent unless `[relay]` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<trace::agent::Agent>,
    /// Access points of the networks in `[wifi]`; absent without that table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<AccessPoints>,
    /// Flows that cannot use several links; empty without `[networks]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
}

/// Why a link is in its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkWhy {
    /// Name of the link.
    pub link: String,
    /// A stable identifier.
    pub state: String,
    /// A sentence.
    pub why: String,
    /// The last decision about marking its packets; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<String>,
}

/// Why a connection's window or unsent bytes are limited, or why it is not managed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionWhy {
    /// The connection's token.
    pub token: String,
    /// The peer.
    pub remote: SocketAddr,
    /// A sentence.
    pub why: String,
}

/// Why a slow link is a backup of a connection, is on trial, or was recently found useful. Other connections
/// may treat the link otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleWhy {
    /// The connection's token.
    pub token: String,
    /// Its peer.
    pub remote: SocketAddr,
    /// Name of the link.
    pub link: String,
    /// `demote` or `use`.
    pub state: String,
    /// A sentence.
    pub why: String,
}

impl Status {
    /// Makes the document from the daemon's report.
    pub fn new(report: &Report, pid: u32, policy: String) -> Self {
        let (window_lever, window_lever_why) = window_lever(report);
        Self {
            schema: STATUS.to_owned(),
            pid,
            policy,
            cc: report.cc.clone(),
            uptime_s: (report.at - report.since).as_secs_f64(),
            cpu_s: report.cpu.as_secs_f64(),
            window_lever,
            window_lever_why,
            unsent_lever: report.levers.unsent.is_ok(),
            links: report.links.iter().map(|link| Link::new(report, link)).collect(),
            connections: report
                .conns
                .iter()
                .map(|conn| Connection::new(report, conn))
                .collect(),
            fallbacks: fallbacks(report),
            networks: Networks::of(report),
            agent: None,
            wifi: None,
        }
    }
}

fn window_lever(report: &Report) -> (Option<String>, Option<String>) {
    match &report.levers.window {
        Ok(WindowKind::Egress) => (Some("egress".to_owned()), not_everywhere(report)),
        Ok(WindowKind::Clamp) => (Some("clamp".to_owned()), report.levers.window_refused.clone()),
        Err(why) => (None, Some(why.clone())),
    }
}

/// Why windows are limited on some interfaces only, if clamps are not possible either.
fn not_everywhere(report: &Report) -> Option<String> {
    let no_clamp = report.levers.no_other_way.as_ref()?;
    let mut whys = Vec::from_iter(report.levers.unattached.values().cloned());
    whys.push(no_clamp.clone());
    Some(format!("not on every link, and no clamp: {}", whys.join("; ")))
}

impl Link {
    fn new(report: &Report, link: &LinkReport) -> Self {
        let explained = report.why.iter().find(|why| why.link == link.id);
        Self {
            name: link.spec.name.clone(),
            interface: link.interface.clone(),
            kind: kind(link.spec.kind).to_owned(),
            role: role(link.spec.role).to_owned(),
            carrier: link.carrier,
            wifi: link.wifi.as_ref().map(Wifi::from),
            addresses: link.addresses.clone(),
            gateways: link.gateways.clone(),
            default_route: link.default_route,
            default_v4: link.default_v4,
            default_v6: link.default_v6,
            state: explained.map_or("absent", |why| why.state).to_owned(),
            marks: link.marks.map(Marks::from),
            sent_marks: link.sent_marks.map(Marks::from),
            marks_blocked: blocked(link.marks, link.marks_blocked.as_ref()),
            sent_marks_blocked: blocked(link.sent_marks, link.sent_marks_blocked.as_ref()),
        }
    }
}

/// Why marking is blocked; `None` if there were never to be any marks.
fn blocked(marks: Option<MarkReport>, why: Option<&String>) -> Option<String> {
    marks.and_then(|_| why.cloned())
}

impl Connection {
    fn new(report: &Report, conn: &ConnReport) -> Self {
        Self {
            token: token(conn),
            remote: conn.remote,
            left_alone: conn.left_alone.map(|why| why.why().to_owned()),
            bytes_received: conn.sample.bytes_received.get(),
            bytes_acked: conn.sample.bytes_acked.get(),
            backlog_bytes: conn.sample.backlog.get(),
            window_bytes: conn.window.map(units::Bytes::get),
            unsent_limit_bytes: conn.unsent.map(units::Bytes::get),
            cc: conn.controllers.clone(),
            subflows: conn
                .subflows
                .iter()
                .map(|subflow| Subflow::new(report, subflow))
                .collect(),
        }
    }
}

impl Fallback {
    fn new(report: &Report, fallback: &FallbackReport) -> Self {
        let bounded = fallback.bound.as_ref().filter(|bound| bound.done.is_ok());
        Self {
            token: fallback.conn.map(|conn| format!("{:08x}", conn.0)),
            link: link_name(report, fallback.link),
            local: fallback.local,
            remote: fallback.remote,
            window_bytes: bounded.map(|bound| bound.asked.get()),
            why: fallback_sentence(fallback),
            cc: fallback.controller.clone(),
        }
    }
}

fn fallbacks(report: &Report) -> Vec<Fallback> {
    let fallbacks = report.fallbacks.iter();
    fallbacks
        .map(|fallback| Fallback::new(report, fallback))
        .collect()
}

fn fallback_sentence(fallback: &FallbackReport) -> String {
    let what = format!("it fell back to plain TCP: {}", fallback.cause.why());
    let Some(FallbackBound { asked, done }) = &fallback.bound else {
        return format!("{what}; it is left alone");
    };
    match done {
        Ok(()) => {
            format!("{what}; its server may have {asked} in flight, as configured (fallback_window_bytes)")
        }
        Err(why) => format!(
            "{what}; its server is not limited to the configured {asked} in flight (fallback_window_bytes): {why}"
        ),
    }
}

/// Whether a connection is listed among those that fell back.
fn is_told_as_fallback(report: &Report, conn: &ConnReport) -> bool {
    report
        .fallbacks
        .iter()
        .any(|fallback| fallback.conn == Some(conn.id))
}

impl Subflow {
    fn new(report: &Report, subflow: &SubflowReport) -> Self {
        let state = match subflow {
            SubflowReport { proven: false, .. } => "joining",
            subflow if subflow.sample.backup => "backup",
            _ => "active",
        };
        Self {
            link: link_name(report, subflow.link),
            local: subflow.local,
            remote: subflow.remote,
            id: subflow.address_id,
            state: state.to_owned(),
            bytes_received: subflow.sample.bytes_received.get(),
            bytes_acked: subflow.sample.bytes_acked.get(),
            retransmits: subflow.sample.retransmits,
            srtt_ms: millis(subflow.sample.srtt),
            min_rtt_ms: millis(subflow.sample.min_rtt),
            cc: subflow.controller.clone(),
        }
    }
}

impl Why {
    /// Makes the document from the daemon's report.
    pub fn new(report: &Report) -> Self {
        Self {
            schema: WHY.to_owned(),
            links: report
                .links
                .iter()
                .map(|link| LinkWhy::new(report, link))
                .collect(),
            windows: report.conns.iter().filter_map(ConnectionWhy::window).collect(),
            unsent: report.conns.iter().filter_map(ConnectionWhy::unsent).collect(),
            roles: report
                .conns
                .iter()
                .flat_map(|conn| RoleWhy::of(report, conn))
                .collect(),
            fallbacks: fallbacks(report),
            left_alone: report
                .conns
                .iter()
                .filter(|conn| !is_told_as_fallback(report, conn))
                .filter_map(ConnectionWhy::left_alone)
                .collect(),
            levers: lever_sentences(report),
            agent: None,
            wifi: None,
            flows: Networks::of(report)
                .map(|networks| networks.flows)
                .unwrap_or_default(),
        }
    }
}

impl LinkWhy {
    fn new(report: &Report, link: &LinkReport) -> Self {
        let explained = report.why.iter().find(|why| why.link == link.id);
        let (state, why) = match (explained, &link.interface) {
            (Some(explained), _) => (explained.state, explained.why.clone()),
            (None, Some(interface)) => (
                "absent",
                format!("{interface} exists, but has no address or next hop yet"),
            ),
            (None, None) => ("absent", "there is no such interface".to_owned()),
        };
        Self {
            link: link.spec.name.clone(),
            state: state.to_owned(),
            why,
            marks: marks_sentence(link),
        }
    }
}

/// The last decision about marks, or what blocks them.
fn marks_sentence(link: &LinkReport) -> Option<String> {
    let directions = [
        (link.marks, &link.marks_blocked),
        (link.sent_marks, &link.sent_marks_blocked),
    ];
    let blocked = directions.map(|(marks, why)| blocked(marks, why.as_ref()));
    let whys = Vec::from_iter(
        blocked
            .into_iter()
            .flatten()
            .map(|why| format!("nothing is marked: {why}")),
    );
    if whys.is_empty() {
        return link.marks_why.clone();
    }
    Some(whys.join("; "))
}

impl ConnectionWhy {
    fn left_alone(conn: &ConnReport) -> Option<Self> {
        let why = conn.left_alone?.why().to_owned();
        Some(Self::new(conn, why))
    }

    fn window(conn: &ConnReport) -> Option<Self> {
        Some(Self::new(conn, conn.window_why.clone()?))
    }

    fn unsent(conn: &ConnReport) -> Option<Self> {
        Some(Self::new(conn, conn.unsent_why.clone()?))
    }

    fn new(conn: &ConnReport, why: String) -> Self {
        Self {
            token: token(conn),
            remote: conn.remote,
            why,
        }
    }
}

impl RoleWhy {
    fn of<'a>(report: &'a Report, conn: &'a ConnReport) -> impl Iterator<Item = Self> + use<'a> {
        conn.roles.iter().map(|role| Self {
            token: token(conn),
            remote: conn.remote,
            link: link_name(report, role.link),
            state: role.verb.id().to_owned(),
            why: role.why.clone(),
        })
    }
}

fn lever_sentences(report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    match (&report.levers.window, &report.levers.window_refused) {
        (Ok(_), Some(why)) => sentences.push(format!(
            "windows are limited by a clamp on the sockets, which is coarser than on outgoing segments: {why}"
        )),
        (Err(why), _) => sentences.push(format!("windows of running connections are not limited: {why}")),
        (Ok(_), None) => {}
    }
    for (ifindex, why) in &report.levers.unattached {
        let name = interface_name(report, *ifindex);
        sentences.push(format!("outgoing segments on {name} do not limit windows: {why}"));
    }
    if let Some(why) = &report.levers.no_other_way {
        sentences.push(format!(
            "nor does a clamp on the sockets limit windows there: {why}"
        ));
    }
    if let Some(buffer) = report.levers.new_connections {
        sentences.push(format!(
            "instead, new connections get a receive buffer of at most {buffer}"
        ));
    }
    if let Err(why) = &report.levers.unsent {
        sentences.push(format!("unsent bytes are not limited: {why}"));
    }
    sentences.extend(wifi::unheard(report));
    sentences
}

fn token(conn: &ConnReport) -> String {
    format!("{:08x}", conn.id.0)
}

fn interface_name(report: &Report, ifindex: u32) -> String {
    let link = report.links.iter().find(|link| link.ifindex == Some(ifindex));
    link.map_or_else(|| format!("interface {ifindex}"), |link| link.spec.name.clone())
}

fn link_name(report: &Report, id: LinkId) -> String {
    let link = report.links.iter().find(|link| link.id == id);
    link.map_or_else(|| format!("link {}", id.0), |link| link.spec.name.clone())
}

fn millis(time: Duration) -> Option<f64> {
    (!time.is_zero()).then_some(time.as_secs_f64() * 1e3)
}

/// The word for a kind of link.
pub const fn kind(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Wifi => "wifi",
        LinkKind::Cellular => "cell",
        LinkKind::Cable => "cable",
    }
}

/// The word for a role.
pub const fn role(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Secondary => "secondary",
        Role::Backup => "backup",
        Role::Never => "never",
    }
}

#[cfg(test)]
mod tests;
