//! Two hosts and the links between them: the smallest world.

use super::app::App;
use super::host::Host;
use crate::mptcp::{Config, Path};
use crate::tcp::packet::{Ecn, Packet};
use links::{ConfigError, Direction, Fault, Input, LinkId, Network, NetworkConfig, Output};
use units::{Duration, Instant};

/// A client and a server over links of [`links`]. Links of WiFi work, too, but the client does not move.
#[derive(Debug)]
pub struct Pair {
    /// The client.
    pub client: Host,
    /// The server.
    pub server: Host,
    network: Network,
    now: Instant,
    flight: Flight,
}

impl Pair {
    /// Builds both hosts and the links. Nothing is sent yet.
    pub fn new(
        seed: u64,
        network: impl Into<NetworkConfig>,
        client: Config,
        server: Config,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            client: Host::new(client),
            server: Host::new(server),
            network: Network::new(seed, network)?,
            now: Instant::ZERO,
            flight: Flight::default(),
        })
    }

    /// Present time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The links.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Opens connection number `conn` over this path, with the client's and the server's application.
    pub fn start(&mut self, conn: u32, path: Path, [client, server]: [App; 2]) {
        self.server.expect(conn, server);
        self.client.open(self.now, conn, path, client);
        self.dispatch();
    }

    /// Associates the client with a link's access point.
    pub fn associate(&mut self, link: LinkId) {
        self.network.handle(self.now, Input::Associate(link));
        self.dispatch();
    }

    /// Applies a fault to a link.
    pub fn fault(&mut self, link: LinkId, fault: Fault) {
        self.network.handle(self.now, Input::Fault(link, fault));
        self.dispatch();
    }

    /// Carries out actions on a connection of the client.
    pub fn act(
        &mut self,
        conn: u32,
        action: impl FnOnce(&mut crate::mptcp::Connection, &mut crate::mptcp::Outbox),
    ) {
        self.client.act(self.now, conn, action);
        self.dispatch();
    }

    /// Bytes that the client has read from this connection.
    pub fn read(&self, conn: u32) -> u64 {
        self.client
            .connection(conn)
            .map_or(0, |connection| connection.read())
    }

    /// Runs up to `until`. Packets that actions on a host have left behind leave first.
    pub fn run_until(&mut self, until: Instant) {
        self.dispatch();
        loop {
            let timers = [self.client.next_timer(), self.server.next_timer()];
            let timer = timers.into_iter().flatten().min();
            let next = timer.map_or(until, |at| at.min(until)).max(self.now);
            if self.network.tick_to_output(next).is_some() {
                self.deliver();
            } else {
                self.now = next;
                if timer.is_none_or(|at| at > until) {
                    return;
                }
                self.tick_hosts(next);
            }
            self.dispatch();
        }
    }

    /// Runs for this time.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Instant> {
        let links = self.network.wake_at().map(|(at, _)| at);
        let timers = [links, self.client.next_timer(), self.server.next_timer()];
        timers.into_iter().flatten().min().map(|at| at.max(self.now))
    }

    /// Runs what is due at `next`.
    pub fn step(&mut self, next: Instant) {
        self.now = next;
        if self.network.wake_at().is_some_and(|(at, _)| at <= next) {
            self.network.tick(next);
            self.deliver();
        }
        self.tick_hosts(next);
        self.dispatch();
    }

    fn tick_hosts(&mut self, now: Instant) {
        for host in [&mut self.client, &mut self.server] {
            if host.next_timer().is_some_and(|at| at <= now) {
                host.tick(now);
            }
        }
    }

    fn deliver(&mut self) {
        while let Some((at, output)) = self.network.poll_due() {
            self.now = self.now.max(at);
            match output {
                Output::Delivered { packet, ce } => self.arrive(at, packet, ce),
                Output::Dropped { packet, .. } => self.flight.free(packet.token),
                Output::Beacon { .. }
                | Output::Heard { .. }
                | Output::Background { .. }
                | Output::Radio(_)
                | Output::State { .. } => {}
            }
        }
    }

    fn arrive(&mut self, at: Instant, entry: links::Packet, ce: bool) {
        let packet = self.flight.packet(entry.token);
        if ce && packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
        }
        let host = match entry.direction {
            Direction::Down => &mut self.client,
            Direction::Up => &mut self.server,
        };
        host.take(at, entry.link, packet);
        self.flight.free(entry.token);
    }

    /// Puts everything on the links that the hosts send.
    fn dispatch(&mut self) {
        while self.client.has_packets() || self.server.has_packets() {
            self.transmit();
            self.deliver();
        }
    }

    fn transmit(&mut self) {
        let Self {
            client,
            server,
            network,
            now,
            flight,
        } = self;
        for (host, direction) in [(client, Direction::Up), (server, Direction::Down)] {
            host.transmit(|link, packet| {
                let entry = links::Packet {
                    link,
                    direction,
                    bytes: packet.length(),
                    ect: packet.ecn != Ecn::NotEct,
                    token: flight.put(packet),
                    flow: packet.conn,
                };
                network.handle(*now, Input::Packet(entry));
            });
        }
    }
}

/// Packets on the links, by token.
#[derive(Debug, Default)]
struct Flight {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Flight {
    fn put(&mut self, packet: &Packet) -> u64 {
        let token = match self.free.pop() {
            Some(token) => {
                self.packets[token as usize] = *packet;
                token
            }
            None => {
                self.packets.push(*packet);
                self.packets.len() as u32 - 1
            }
        };
        token.into()
    }

    fn packet(&mut self, token: u64) -> &mut Packet {
        &mut self.packets[token as usize]
    }

    fn free(&mut self, token: u64) {
        self.free.push(token as u32);
    }
}
