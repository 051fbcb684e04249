//! Evidence that a link is alive or dead while no MPTCP connection gives any: sockets, counters and
//! resolvers, read twice a second.
//!
//! Nothing is decided here. The engine is told which hosts were heard, which have not replied and which
//! resolve names. It says which to probe.
//!
//! | source | fact |
//! |---|---|
//! | every TCP socket: peer last heard, retransmissions | [`HostEvent::Heard`], [`HostEvent::Unanswered`] |
//! | flows with one network: replies, or none | the same |
//! | packets sent and received by each interface, without our own probes | [`LinkEvent::Traffic`] |
//! | the files that name the resolvers | [`HostEvent::Resolves`] |
//!
//! # Sources
//! - net/ipv4/tcp.c (`tcp_get_info`), Linux 6.18: `tcpi_retransmits` counts timeouts in a row,
//!   `tcpi_last_ack_recv` is the time since the last acknowledgement.
//! - RFC 6298 §5: one timeout may be a lost packet, but two in a row are worth a probe.
//!
//! # Where we differ, and why
//! 1. A peer on one of this host's own networks, in an inner network or behind a tunnel is left out: it shows
//!    nothing about what lies beyond. So are sockets that this host accepted.
//! 2. A join without a reply is reported by its connection, and is no evidence here. Neither are this
//!    daemon's own probes.
//! 3. With fewer than two links there is nothing to compare, and nothing is read.
//! 4. With many sockets the interval grows with the cost of a scan: less than 1/50 of a core.
//!
//! # Checked by
//! `ask::idle::tests`, `daemon::tests::idle`.

use crate::daemon::api::error::StartError;
use crate::daemon::api::setup::Probing;
use crate::daemon::ask::probes::{Probes, Witness};
use crate::daemon::flows::book::Flows;
use crate::daemon::host::Host;
use crate::daemon::links::book::Links;
use crate::daemon::networks;
use crate::daemon::os::clock::thread_cpu;
use crate::diag::{Diag, Ends, States, TcpSocket};
use crate::info::{TcpInfo, TcpState};
use crate::resolvers;
use policy::{FlowEvent, HostEvent, HostId, Input, LinkEvent, LinkId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use units::Instant;

/// Interval between scans.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A scan may use at most 1/`SHARE` of the time until the next one.
const SHARE: u32 = 50;
/// Interval at which the resolver files are read.
const READ_EVERY: Duration = Duration::from_secs(10);
/// A host heard within this time counts as heard now.
const NOW: Duration = Duration::from_secs(1);
/// Most hosts reported as heard per link and scan: those heard last.
const MOST_HEARD: usize = 2;
/// Most hosts reported as unanswered per link and scan.
const MOST_UNANSWERED: usize = 4;
/// Most hosts with a number. Beyond that, the host used longest ago loses its number and gets another next
/// time.
const MOST_HOSTS: usize = 512;

/// Collects evidence about links from sockets, counters and resolvers.
#[derive(Debug)]
pub(crate) struct Idle {
    /// `None`: nothing is read, and no host is probed.
    probing: Option<Probing>,
    /// The address behind which flows find the resolver of their link: no host has it.
    steady: Option<IpAddr>,
    diag: Diag,
    next_look: Instant,
    next_read: Instant,
    hosts: Hosts,
    /// Resolvers that what joined a link has named.
    given: BTreeMap<LinkId, Vec<IpAddr>>,
    /// Resolvers as last reported.
    resolvers: BTreeMap<LinkId, Vec<Resolver>>,
    /// Our own packets, sent and received.
    own: BTreeMap<LinkId, (u64, u64)>,
    told: BTreeMap<LinkId, (u64, u64)>,
}

/// A host that resolves names for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resolver {
    address: IpAddr,
    near: bool,
}

/// Numbers of hosts, and how to reach them.
#[derive(Debug, Default)]
struct Hosts {
    by_address: BTreeMap<IpAddr, (HostId, Instant)>,
    known: BTreeMap<HostId, Witness>,
    next: u32,
}

impl Hosts {
    /// Returns the number of a host, and updates what is known about it.
    fn number(&mut self, now: Instant, at: SocketAddr, resolves: bool) -> HostId {
        let address = at.ip();
        if self.by_address.len() == MOST_HOSTS && !self.by_address.contains_key(&address) {
            self.forget_oldest();
        }
        let next = &mut self.next;
        let (id, used) = self.by_address.entry(address).or_insert_with(|| {
            *next = next.wrapping_add(1);
            (HostId(*next), now)
        });
        *used = now;
        let host = self.known.entry(*id).or_insert(Witness { at, resolves });
        if !resolves {
            host.at = at;
        }
        host.resolves |= resolves;
        *id
    }

    fn forget_oldest(&mut self) {
        let oldest = self.by_address.iter().min_by_key(|(_, (_, used))| *used);
        if let Some((address, (id, _))) = oldest.map(|(address, known)| (*address, *known)) {
            self.by_address.remove(&address);
            self.known.remove(&id);
        }
    }
}

/// What one socket shows about the link that it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its peer was heard this long ago.
    Heard(Duration),
    /// Its peer has not acknowledged retransmissions.
    Unanswered,
}

fn shown(socket: &TcpSocket, info: &TcpInfo) -> Option<Shown> {
    let heard = info.last_ack_recv.min(info.last_data_recv);
    match socket.state {
        TcpState::SynSent => (info.retransmits > 0).then_some(Shown::Unanswered),
        state if !state.connected() => None,
        _ if heard < NOW => Some(Shown::Heard(heard)),
        _ => (info.retransmits > 1 && info.unacked > 0).then_some(Shown::Unanswered),
    }
}

/// What the sockets of one link show.
#[derive(Debug, Default)]
struct Seen {
    heard: Vec<(Duration, SocketAddr)>,
    unanswered: Vec<SocketAddr>,
}

impl Seen {
    fn take(&mut self, shown: Shown, peer: SocketAddr) {
        match shown {
            Shown::Heard(ago) => {
                self.heard.push((ago, peer));
                self.heard.sort_unstable();
                self.heard.dedup_by_key(|(_, peer)| peer.ip());
                self.heard.truncate(MOST_HEARD);
            }
            Shown::Unanswered => {
                let is_known = self.unanswered.iter().any(|other| other.ip() == peer.ip());
                if !is_known && self.unanswered.len() < MOST_UNANSWERED {
                    self.unanswered.push(peer);
                }
            }
        }
    }
}

/// The parts that tell which link and connection a socket belongs to.
pub(crate) struct Owners<'w> {
    pub(crate) links: &'w Links,
    pub(crate) flows: &'w Flows,
    pub(crate) probes: &'w Probes,
}

impl Owners<'_> {
    /// The link that a socket uses, and its peer, if the peer lies beyond the link's own network.
    fn place(&self, socket: &TcpSocket) -> Option<(LinkId, SocketAddr)> {
        let peer = SocketAddr::new(socket.remote.ip().to_canonical(), socket.remote.port());
        let local = socket.local.ip().to_canonical();
        if is_local(peer.ip()) || self.probes.owns(socket.inode) {
            return None;
        }
        let link = self.links.owner(local, socket.ifindex)?;
        let reaches = self.links.get(link)?.way(peer.is_ipv6()).is_some();
        (reaches && !self.links.is_near(peer.ip())).then_some((link, peer))
    }

    /// Whether the socket's connection already reports this to the engine.
    fn is_told_otherwise(&self, socket: &TcpSocket) -> bool {
        let is_join = socket.subflow.is_some_and(|subflow| subflow.flags.joined());
        let ends = Ends {
            local: socket.local,
            remote: socket.remote,
            ifindex: socket.ifindex,
        };
        is_join || self.flows.find(&ends).is_some()
    }
}

/// Whether the address is local. Such a peer shows nothing about any link.
const fn is_local(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || address.is_multicast() || link_local
}

impl Idle {
    /// `steady` is the address behind which flows find the resolver of their link, if there is one.
    pub(crate) fn new(probing: Option<Probing>, steady: Option<IpAddr>) -> Result<Self, StartError> {
        Ok(Self {
            probing,
            steady,
            diag: Diag::open()?,
            next_look: Instant::ZERO,
            next_read: Instant::ZERO,
            hosts: Hosts::default(),
            given: BTreeMap::new(),
            resolvers: BTreeMap::new(),
            own: BTreeMap::new(),
            told: BTreeMap::new(),
        })
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.probing.as_ref().map(|_| self.next_look)
    }

    /// The link is usable and leads to another network than before. The engine has forgotten what it was
    /// told.
    pub(crate) fn begin_anew(&mut self, link: LinkId) {
        self.resolvers.remove(&link);
        self.next_read = Instant::ZERO;
        self.next_look = Instant::ZERO;
    }

    /// Counts a reply to one of our probes.
    pub(crate) fn replied(&mut self, link: LinkId) {
        self.own.entry(link).or_default().1 += 1;
    }

    /// Takes the resolvers of a link from what has joined it. None: those of this host's files count.
    pub(crate) fn take_resolvers(&mut self, link: LinkId, resolvers: Vec<IpAddr>) {
        match resolvers.is_empty() {
            true => drop(self.given.remove(&link)),
            false => drop(self.given.insert(link, resolvers)),
        }
    }

    /// The resolvers of a link: those that it was given, or those of this host's files.
    pub(crate) fn resolvers_of(&self, link: LinkId, ifindex: u32) -> Vec<IpAddr> {
        let root = self.probing.as_ref().map(|probing| &probing.root);
        let of_files = || root.map(|root| resolvers::of_link(root, ifindex));
        let given = self.given.get(&link).cloned();
        let mut found = given.or_else(of_files).unwrap_or_default();
        found.retain(|address| Some(*address) != self.steady);
        found
    }

    /// If a scan is due, reads all evidence of whether links are alive.
    pub(crate) fn watch(&mut self, now: Instant, owners: &Owners<'_>, host: &mut Host) {
        let is_due = self.wake_at().is_some_and(|at| at <= now);
        if !is_due {
            return;
        }
        let cpu = thread_cpu();
        if owners.links.iter().filter(|link| link.usable()).count() > 1 {
            self.look(now, owners, host);
        }
        let pause = LOOK_EVERY.max((thread_cpu() - cpu) * SHARE);
        self.next_look = now + pause;
    }

    fn look(&mut self, now: Instant, owners: &Owners<'_>, host: &mut Host) {
        for (link, resolver, near) in self.read_resolvers(now, owners.links) {
            host.outlet.tell(Input::Link(
                link,
                LinkEvent::Host(resolver, HostEvent::Resolves { near }),
            ));
        }
        match self.read_sockets(owners) {
            Ok(seen) => self.tell_seen(now, seen, owners.links, host),
            Err(error) => host.outlet.trouble("listing sockets", &error),
        }
        self.tell_traffic(owners.links, host);
    }

    fn tell_seen(&mut self, now: Instant, seen: BTreeMap<LinkId, Seen>, links: &Links, host: &mut Host) {
        for (link, Seen { heard, unanswered }) in seen {
            let unanswered = unanswered.into_iter().map(|peer| (peer, HostEvent::Unanswered));
            let heard = heard.into_iter().map(|(_, peer)| (peer, HostEvent::Heard));
            // A host that one program heard and another did not, was heard.
            for (peer, event) in unanswered.chain(heard) {
                // A host in an inner network or behind a tunnel shows nothing about the link.
                if !host.routes.goes_out(links, peer.ip()) {
                    continue;
                }
                let id = self.hosts.number(now, peer, false);
                host.outlet.tell(Input::Link(link, LinkEvent::Host(id, event)));
            }
        }
    }

    /// Takes in what flows show that are not sockets of TCP: about their links, and about themselves.
    pub(crate) fn hear_flows(
        &mut self,
        now: Instant,
        all: Vec<networks::Seen>,
        links: &Links,
        host: &mut Host,
    ) {
        if self.probing.is_none() {
            return;
        }
        let mut of_links: BTreeMap<LinkId, Seen> = BTreeMap::new();
        for seen in all {
            let peer = seen.remote;
            if is_local(peer.ip()) || links.is_near(peer.ip()) {
                continue;
            }
            let mut of_link = |shown| of_links.entry(seen.link).or_default().take(shown, peer);
            match seen.shown {
                networks::Shown::Heard => of_link(Shown::Heard(Duration::ZERO)),
                networks::Shown::Unanswered => of_link(Shown::Unanswered),
                _ if !host.routes.goes_out(links, peer.ip()) => {}
                networks::Shown::Answered => {
                    let event = FlowEvent::Answered(self.hosts.number(now, peer, false));
                    host.outlet.tell(Input::Flow(seen.flow, event));
                }
                networks::Shown::Silent(silence, usual) => {
                    let event = FlowEvent::Silent {
                        host: self.hosts.number(now, peer, false),
                        silence,
                        usual,
                    };
                    host.outlet.tell(Input::Flow(seen.flow, event));
                }
            }
        }
        self.tell_seen(now, of_links, links, host);
    }

    fn tell_traffic(&mut self, links: &Links, host: &mut Host) {
        let links: Vec<(LinkId, u32)> = links
            .iter()
            .filter(|link| link.usable())
            .filter_map(|link| Some((link.id, link.ifindex?)))
            .collect();
        for (link, ifindex) in links {
            let Some(moved) = host.counters.moved(ifindex) else {
                continue;
            };
            let own = self.own.get(&link).copied().unwrap_or_default();
            let counted = (
                moved.sent.saturating_sub(own.0),
                moved.received.saturating_sub(own.1),
            );
            if self.told.insert(link, counted) != Some(counted) {
                let (sent, received) = counted;
                host.outlet
                    .tell(Input::Link(link, LinkEvent::Traffic { sent, received }));
            }
        }
    }

    /// Probes a host over a link. If that is impossible, it is reported as a fact, not as a failure: the link
    /// may just have lost its address.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        link: LinkId,
        (asked, question): (HostId, (u32, bool)),
        (links, probes): (&Links, &mut Probes),
        host: &mut Host,
    ) {
        let known = self.hosts.known.get(&asked).copied();
        let way = known.and_then(|known| links.get(link)?.way(known.at.is_ipv6()));
        // A probe of a host in an inner network or behind a tunnel must not leave by another path.
        let known = known.filter(|known| {
            let address = known.at.ip();
            way.is_some_and(|way| way.reaches_directly(address)) || host.routes.goes_out(links, address)
        });
        let sent = match known.zip(way) {
            Some((known, way)) => probes.ask_host(now, (link, &way), known, question).ok(),
            None => None,
        };
        match sent {
            Some(packets) => self.own.entry(link).or_default().0 += packets,
            None => host
                .outlet
                .tell(Input::Link(link, LinkEvent::ProbeFailed { probe: question.0 })),
        }
    }

    fn read_sockets(
        &mut self,
        owners: &Owners<'_>,
    ) -> Result<BTreeMap<LinkId, Seen>, crate::diag::DiagError> {
        let mut seen: BTreeMap<LinkId, Seen> = BTreeMap::new();
        self.diag.each_tcp(States::BEGUN, |socket| {
            let Some(shown) = socket.info.as_ref().and_then(|info| shown(socket, info)) else {
                return;
            };
            let is_told = shown == Shown::Unanswered && owners.is_told_otherwise(socket);
            if let Some((link, peer)) = owners.place(socket).filter(|_| !is_told) {
                seen.entry(link).or_default().take(shown, peer);
            }
        })?;
        Ok(seen)
    }

    /// Changes in the resolvers of each link.
    fn read_resolvers(&mut self, now: Instant, links: &Links) -> Vec<(LinkId, HostId, bool)> {
        if now < self.next_read {
            return Vec::new();
        }
        self.next_read = now + READ_EVERY;
        let mut new = Vec::new();
        for link in links.iter().filter(|link| link.usable()) {
            let Some(ifindex) = link.ifindex else { continue };
            let found: Vec<Resolver> = self
                .resolvers_of(link.id, ifindex)
                .into_iter()
                .filter_map(|address| {
                    let way = link.way(address.is_ipv6())?;
                    let near = way.gateway == Some(address);
                    // Another host of the link's own network may be off while the link is alive.
                    (near || !way.address.contains(address)).then_some(Resolver { address, near })
                })
                .collect();
            let before = self.resolvers.insert(link.id, found.clone()).unwrap_or_default();
            for resolver in found.into_iter().filter(|resolver| !before.contains(resolver)) {
                let at = SocketAddr::new(resolver.address, 53);
                new.push((link.id, self.hosts.number(now, at, true), resolver.near));
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Root;

    fn socket(state: TcpState) -> TcpSocket {
        TcpSocket {
            state,
            local: ([10, 0, 0, 1], 1).into(),
            remote: ([10, 9, 0, 1], 2).into(),
            ifindex: None,
            cookie: 0,
            receive_queue: units::Bytes::ZERO,
            send_queue: units::Bytes::ZERO,
            uid: 0,
            inode: 0,
            cgroup: None,
            info: None,
            congestion: crate::diag::CongestionName::default(),
            subflow: None,
        }
    }

    #[test]
    fn the_address_behind_which_flows_find_a_resolver_is_not_probed() {
        let root = Root::new("idle-steady");
        root.write(
            "etc/resolv.conf",
            "nameserver 100.64.0.53\nnameserver 192.0.2.53\n",
        );
        let probing = Probing {
            root: root.path().to_owned(),
            check: None,
        };
        let steady = [100, 64, 0, 53].into();
        let idle = Idle::new(Some(probing), Some(steady)).unwrap();
        let of_file = [IpAddr::from([192, 0, 2, 53])];
        assert_eq!(idle.resolvers_of(LinkId(1), 0), of_file);
        let mut idle = idle;
        let of_lease = vec![IpAddr::from([10, 0, 1, 1])];
        idle.take_resolvers(LinkId(1), of_lease.clone());
        assert_eq!(idle.resolvers_of(LinkId(1), 0), of_lease);
        assert_eq!(idle.resolvers_of(LinkId(2), 0), of_file, "those of another link");
        idle.take_resolvers(LinkId(1), Vec::new());
        assert_eq!(idle.resolvers_of(LinkId(1), 0), of_file);
    }

    #[test]
    fn a_socket_shows_when_it_heard_and_what_it_retransmitted() {
        let long = Duration::from_secs(9);
        let info = |retransmits, unacked, ago| TcpInfo {
            retransmits,
            unacked,
            last_ack_recv: ago,
            last_data_recv: long,
            ..TcpInfo::default()
        };
        let of = |state, info: TcpInfo| shown(&socket(state), &info);
        assert_eq!(of(TcpState::SynSent, info(0, 1, long)), None);
        assert_eq!(
            of(TcpState::SynSent, info(1, 1, Duration::ZERO)),
            Some(Shown::Unanswered)
        );
        let soon = Duration::from_millis(300);
        assert_eq!(
            of(TcpState::Established, info(3, 5, soon)),
            Some(Shown::Heard(soon))
        );
        assert_eq!(of(TcpState::CloseWait, info(1, 5, long)), None);
        assert_eq!(
            of(TcpState::Established, info(2, 5, long)),
            Some(Shown::Unanswered)
        );
        assert_eq!(of(TcpState::Established, info(2, 0, long)), None);
        assert_eq!(of(TcpState::Listen, info(2, 5, Duration::ZERO)), None);
    }

    #[test]
    fn hosts_keep_their_numbers_and_the_latest_port() {
        let mut hosts = Hosts::default();
        let at = |last: u8, port| SocketAddr::from(([10, 9, 0, last], port));
        let first = hosts.number(Instant::ZERO, at(1, 80), false);
        assert_eq!(hosts.number(Instant::from_secs(1), at(1, 443), false), first);
        assert_eq!(hosts.known[&first].at.port(), 443);
        hosts.number(Instant::from_secs(1), at(1, 53), true);
        assert_eq!(
            hosts.known[&first],
            Witness {
                at: at(1, 443),
                resolves: true
            }
        );
        for number in 0..MOST_HOSTS {
            let address = IpAddr::from([10, 8, (number >> 8) as u8, number as u8]);
            hosts.number(Instant::from_secs(2), (address, 1).into(), false);
        }
        assert_eq!(
            (hosts.known.len(), hosts.by_address.len()),
            (MOST_HOSTS, MOST_HOSTS)
        );
        assert!(!hosts.known.contains_key(&first), "used longest ago");
    }
}
