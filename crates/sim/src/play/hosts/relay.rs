//! A relay between the links and the server, with an agent on the client.
//!
//! All links end at the relay's host, and one wire leads on to the server. An MPTCP connection of the client
//! ends at the relay, which opens one of its own to the server. It reads what it can pass on, so a slow end
//! slows the other one.
//!
//! Some traffic passes through the relay's host: datagrams, other walkers, and plain TCP that is bound to a
//! link. MPTCP does so, too, once the agent knows that the server speaks it.
//!
//! # Sources
//! - RFC 8803 §4 (the request precedes the data, the reply follows the server's SYN-ACK), and
//!   `slowhand-relay`.
//!
//! # Where we differ, and why
//! 1. Application and agent are one, without a TCP connection between them.
//! 2. No TCP Fast Open: each request waits for the handshake with the relay.
//! 3. The relay copies nothing into a pipe: bytes wait in the socket from which they come.
//! 4. The relay's host replies to probes, also to those of connections that pass through it.
//!
//! # Checked by
//! `tests/relay.rs`.

use super::stage;
use super::world::World;
use crate::hosts::{App, Convert, Host};
use crate::mptcp::{Config, Path};
use crate::play::error::CastError;
use crate::tcp::packet::{Ecn, Kind, Packet};
use links::{Direction, Input, LinkId, Network, Output};
use policy::Family;
use scenario::{Plan, models};
use std::collections::BTreeMap;
use units::{Bytes, Instant};

/// The only link of the relay's network.
const WIRE: LinkId = LinkId(0);
/// Most unsent bytes in a socket of the relay.
const UNSENT: u64 = 128 * 1024;

/// What is behind the links: the relay's other side, the wire, and the server.
#[derive(Debug)]
pub(super) struct Behind {
    wire: Network,
    /// The relay, as a client of the server.
    onward: Host,
    server: Host,
    /// Packets on the wire, by token.
    passing: Vec<Passing>,
    free: Vec<u32>,
    /// Connections that end at the relay.
    carried: BTreeMap<u32, Carried>,
    /// Whether the agent knows that the server speaks MPTCP.
    is_known: bool,
}

/// A packet on the wire.
#[derive(Debug, Clone, Copy)]
struct Passing {
    packet: Packet,
    /// The client's link that it came from or goes to. [`WIRE`] for the relay's own.
    link: LinkId,
}

/// A connection of the relay.
#[derive(Debug, Clone, Copy)]
struct Carried {
    onward: Config,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its request has not arrived.
    Accepted,
    /// The server has not accepted.
    Connecting,
    /// Bytes cross.
    Open,
}

/// A packet that leaves the wire.
pub(super) enum Out {
    /// A datagram for the server.
    Datagram(Packet),
    /// Something for a host behind this link of the client or another walker.
    Link(LinkId, Packet),
    /// A segment for the server or the relay, of this connection.
    Segment(u32),
    /// A datagram of this flow is lost.
    Lost(u32),
}

impl Behind {
    /// What a plan has behind its links. `None` without a relay.
    pub(super) fn of(plan: &Plan, seed: u64, unused: Config) -> Result<Option<Self>, CastError> {
        let Some(cable) = models::relay_wire(plan) else {
            return Ok(None);
        };
        if plan.uses_v6() {
            return Err(CastError::RelayOverV6);
        }
        let cables = vec![links::LinkConfig::Cable(cable)];
        Ok(Some(Self {
            wire: Network::new(seed, cables)?,
            onward: Host::new(unused),
            server: Host::new(unused),
            passing: Vec::new(),
            free: Vec::new(),
            carried: BTreeMap::new(),
            is_known: false,
        }))
    }

    /// When something happens next.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let wire = self.wire.wake_at().map(|(at, _)| at);
        let timers = [wire, self.onward.next_timer(), self.server.next_timer()];
        timers.into_iter().flatten().min()
    }

    pub(super) fn has_packets(&self) -> bool {
        self.onward.has_packets() || self.server.has_packets()
    }

    fn put(&mut self, now: Instant, direction: Direction, passing: Passing) {
        let packet = passing.packet;
        let token = self.free.pop().unwrap_or_else(|| {
            self.passing.push(passing);
            self.passing.len() as u32 - 1
        });
        self.passing[token as usize] = passing;
        let entry = links::Packet {
            link: WIRE,
            direction,
            bytes: packet.length(),
            ect: packet.ecn != Ecn::NotEct,
            token: token.into(),
            flow: packet.conn,
        };
        self.wire.handle(now, Input::Packet(entry));
    }

    /// The next packet that leaves the wire, or is lost there.
    fn poll(&mut self) -> Option<Out> {
        loop {
            let (now, output) = self.wire.poll_due()?;
            let (entry, ce, is_lost) = match output {
                Output::Delivered { packet, ce } => (packet, ce, false),
                Output::Dropped { packet, .. } => (packet, false, true),
                _ => continue,
            };
            let Passing { mut packet, link } = self.passing[entry.token as usize];
            self.free.push(entry.token as u32);
            let is_datagram = packet.kind == Kind::Datagram;
            match (is_lost, entry.direction) {
                (true, _) if is_datagram => return Some(Out::Lost(packet.conn)),
                (true, _) => continue,
                _ if ce && packet.ecn == Ecn::Ect => packet.ecn = Ecn::Ce,
                _ => {}
            }
            match entry.direction {
                Direction::Up if is_datagram => return Some(Out::Datagram(packet)),
                Direction::Up => self.server.on_segment(now, link, packet),
                Direction::Down if is_datagram || !self.carried.contains_key(&packet.conn) => {
                    return Some(Out::Link(link, packet));
                }
                Direction::Down => self.onward.on_segment(now, WIRE, packet),
            }
            return Some(Out::Segment(packet.conn));
        }
    }

    /// Puts all that its hosts send on the wire.
    fn dispatch(&mut self, now: Instant) {
        while let Some((_, packet)) = self.onward.poll_transmit() {
            self.put(now, Direction::Up, Passing { packet, link: WIRE });
        }
        while let Some((link, packet)) = self.server.poll_transmit() {
            self.put(now, Direction::Down, Passing { packet, link });
        }
        // Nobody acts on what their connections report.
        for host in [&mut self.onward, &mut self.server] {
            while host.poll_event().is_some() {}
        }
    }

    /// Moves a connection of the relay on. `near`: the relay, as a server of the client.
    fn carry(&mut self, now: Instant, conn: u32, near: &mut Host) {
        let Some(carried) = self.carried.get_mut(&conn) else {
            return;
        };
        match carried.state {
            State::Accepted => {
                near.act(now, conn, |connection, _| prepare(connection));
                let asked = near.connection(conn).map_or(0, |connection| connection.unread());
                if asked < Convert::REQUEST {
                    return;
                }
                near.act(now, conn, |connection, _| connection.consume(Convert::REQUEST));
                carried.state = State::Connecting;
                self.onward.configure(carried.onward);
                let path = Path::over(WIRE, Family::V4);
                self.onward.open(now, conn, path, App::Carried);
                self.onward.act(now, conn, |connection, _| prepare(connection));
            }
            State::Connecting => {
                let Some(onward) = self.onward.connection(conn).filter(|onward| onward.is_open()) else {
                    return self.end(now, conn, near);
                };
                self.is_known |= onward.is_mptcp();
                near.act(now, conn, |connection, _| connection.write(Convert::REPLY));
                carried.state = State::Open;
                pass(now, conn, near, &mut self.onward);
            }
            State::Open => {
                pass(now, conn, near, &mut self.onward);
                pass(now, conn, &mut self.onward, near);
                self.end(now, conn, near);
            }
        }
    }

    /// Passes a reset on.
    fn end(&mut self, now: Instant, conn: u32, near: &mut Host) {
        let was_reset = |host: &Host| {
            let connection = host.connection(conn);
            connection.is_some_and(|connection| connection.is_closed() && !connection.is_at_end())
        };
        let is_open = |host: &Host| {
            host.connection(conn)
                .is_some_and(|connection| !connection.is_closed())
        };
        if was_reset(near) && is_open(&self.onward) {
            self.onward
                .act(now, conn, |connection, out| connection.abort(now, out));
        }
        if was_reset(&self.onward) && is_open(near) {
            near.act(now, conn, |connection, out| connection.abort(now, out));
        }
    }
}

/// Sets what the relay sets on its sockets.
fn prepare(connection: &mut crate::mptcp::Connection) {
    connection.hold_back();
    connection.cap_unsent(Some(Bytes::new(UNSENT)));
}

/// Passes bytes on, and the end behind them.
fn pass(now: Instant, conn: u32, from: &mut Host, to: &mut Host) {
    let Some(source) = from.connection(conn) else {
        return;
    };
    let (unread, ends) = (source.unread(), source.is_at_end());
    let write = |bytes: u64| {
        move |connection: &mut crate::mptcp::Connection, _: &mut crate::mptcp::Outbox| {
            let room = UNSENT.saturating_sub(connection.unsent());
            connection.write(bytes.min(room))
        }
    };
    let moved = match unread {
        0 => 0,
        _ => to.act(now, conn, write(unread)).unwrap_or(0),
    };
    if moved > 0 {
        from.act(now, conn, |connection, _| connection.consume(moved));
    }
    if ends && moved == unread {
        to.act(now, conn, |connection, _| connection.finish_once());
    }
}

/// The host with the server's applications.
pub(super) fn serving<'h>(behind: &'h Option<Behind>, server: &'h Host) -> &'h Host {
    behind.as_ref().map_or(server, |behind| &behind.server)
}

/// The host at which a connection over the links ends.
pub(super) fn far_end<'h>(behind: &'h Option<Behind>, server: &'h Host, conn: u32) -> &'h Host {
    match behind {
        Some(behind) if !behind.carried.contains_key(&conn) => &behind.server,
        _ => server,
    }
}

impl World<'_> {
    /// Lets the server expect a connection, over the relay if the agent chooses it. Returns the application
    /// of the client.
    pub(super) fn expect(&mut self, conn: u32, flow: usize, server: Config, [asks, serves]: [App; 2]) -> App {
        let Some(behind) = &mut self.behind else {
            self.server.configure(server);
            self.server.expect(conn, serves);
            return asks;
        };
        behind.server.configure(server);
        behind.server.expect(conn, serves);
        let flow = &mut self.flows.all[flow];
        if flow.host > 0 || !flow.is_mptcp {
            return asks;
        }
        flow.way = Some(match behind.is_known {
            true => "direct: the relay saw that the server speaks MPTCP",
            false if self.what.plan.server == scenario::Server::Legacy => {
                "relay: the server speaks plain TCP"
            }
            false => "relay: first connection to this server; the next goes directly",
        });
        if behind.is_known {
            return asks;
        }
        let [near, onward] = stage::relay(server);
        let state = State::Accepted;
        behind.carried.insert(conn, Carried { onward, state });
        self.server.configure(near);
        self.server.expect(conn, App::Carried);
        App::Convert(Box::new(Convert::new(asks)))
    }

    /// Changes the server's application of a connection.
    pub(super) fn serves(&mut self, conn: u32, change: impl FnOnce(&mut App)) {
        let server = match &mut self.behind {
            Some(behind) => &mut behind.server,
            None => &mut self.server,
        };
        server.tell(self.now, conn, change);
    }

    /// Takes a segment that has come over a link to the host at its end.
    pub(super) fn at_the_end(&mut self, link: LinkId, token: u32) {
        let (now, packet) = (self.now, self.carrier.segment(token));
        let Some(behind) = &mut self.behind else {
            return self.server.take(now, link, packet);
        };
        let is_own = behind.carried.contains_key(&packet.conn) && packet.kind != Kind::Datagram;
        let is_for_host = matches!(packet.kind, Kind::Probe | Kind::Reply);
        if !is_own && !is_for_host {
            let packet = *packet;
            return behind.put(now, Direction::Up, Passing { packet, link });
        }
        self.server.take(now, link, packet);
        if is_own {
            behind.carry(now, packet.conn, &mut self.server);
        }
    }

    /// Sends a datagram of the server.
    pub(super) fn send_from_server(&mut self, link: LinkId, packet: Packet) {
        match &mut self.behind {
            Some(behind) => behind.put(self.now, Direction::Down, Passing { packet, link }),
            None => self.carrier.send(self.now, link, Direction::Down, &packet),
        }
    }

    /// Puts on the wire what is to be sent there, and takes what leaves it.
    pub(super) fn exchange_behind(&mut self) {
        let now = self.now;
        let Some(behind) = &mut self.behind else {
            return;
        };
        behind.dispatch(now);
        while let Some(out) = self.behind.as_mut().and_then(Behind::poll) {
            match out {
                Out::Datagram(packet) => self.datagram_arrived(packet),
                Out::Link(link, packet) => self.carrier.send(now, link, Direction::Down, &packet),
                Out::Lost(flow) => self.datagram_lost(flow),
                Out::Segment(conn) => {
                    self.touch(conn);
                    if let Some(behind) = &mut self.behind {
                        behind.carry(now, conn, &mut self.server);
                    }
                }
            }
        }
    }

    /// Lets time pass behind the links.
    pub(super) fn tick_behind(&mut self) {
        let now = self.now;
        let Some(behind) = &mut self.behind else {
            return;
        };
        behind.wire.tick(now);
        for host in [&mut behind.onward, &mut behind.server] {
            if host.next_timer().is_some_and(|at| at <= now) {
                host.tick(now);
            }
        }
    }
}
