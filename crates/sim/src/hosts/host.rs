//! A host: finds the connection of each packet, runs its application, and keeps its timers.

use super::app::App;
use super::marks::{MarkCounts, Marks};
use crate::mptcp::{Cache, Config, Connection, Event, Outbox, Path, Shared};
use crate::queue::EventQueue;
use crate::tcp::packet::{Kind, Packet};
use links::LinkId;
use policy::Family;
use units::{Instant, Ratio};

/// A connection and its application.
#[derive(Debug)]
struct Entry {
    connection: Connection,
    app: App,
    /// When the application wants to run.
    app_at: Option<Instant>,
    /// Earliest time at which the connection is in the queue of timers.
    queued: Option<Instant>,
}

/// State of a connection's number.
#[derive(Debug)]
enum Slot {
    /// The number is unused.
    Free,
    /// A connection that the server expects.
    Expected(Box<(App, Shared)>),
    /// A connection.
    Taken(Box<Entry>),
}

/// A host. [`crate::hosts`] describes how to drive it.
#[derive(Debug)]
pub struct Host {
    shared: Shared,
    /// What closed connections have left.
    cache: Cache,
    slots: Vec<Slot>,
    timers: EventQueue<u32>,
    out: Outbox,
    arriving: Marks,
    leaving: Marks,
}

impl Host {
    /// A host without connections.
    pub fn new(config: Config) -> Self {
        let cache = Cache::default();
        Self {
            shared: Shared::with_cache(config, &cache),
            cache,
            slots: Vec::new(),
            timers: EventQueue::default(),
            out: Outbox::default(),
            arriving: Marks::default(),
            leaving: Marks::default(),
        }
    }

    /// Configures the connections that are opened or expected from now on.
    pub fn configure(&mut self, config: Config) {
        self.shared = Shared::with_cache(config, &self.cache);
    }

    fn slot(&mut self, conn: u32) -> &mut Slot {
        let at = conn as usize;
        while self.slots.len() <= at {
            self.slots.push(Slot::Free);
        }
        &mut self.slots[at]
    }

    /// Opens connection number `conn` over this path. Numbers are dense: the host keeps a table of them.
    pub fn open(&mut self, now: Instant, conn: u32, path: Path, app: App) {
        let connection = Connection::open(conn, now, path, self.shared.clone(), &mut self.out);
        self.insert(conn, connection, app);
        self.run(now, conn);
    }

    /// Lets the peer open connection number `conn`.
    pub fn expect(&mut self, conn: u32, app: App) {
        let expected = (app, self.shared.clone());
        *self.slot(conn) = Slot::Expected(Box::new(expected));
    }

    fn insert(&mut self, conn: u32, connection: Connection, app: App) {
        let entry = Entry {
            connection,
            app,
            app_at: None,
            queued: None,
        };
        *self.slot(conn) = Slot::Taken(Box::new(entry));
    }

    /// Takes a packet that arrives over this link.
    pub fn on_segment(&mut self, now: Instant, link: LinkId, mut packet: Packet) {
        self.take(now, link, &mut packet);
    }

    /// As [`Host::on_segment`], without a copy of the packet.
    pub(crate) fn take(&mut self, now: Instant, link: LinkId, packet: &mut Packet) {
        self.arriving.apply(link, packet);
        let packet = &*packet;
        match packet.kind {
            Kind::Probe => return self.reply(now, link, packet),
            Kind::Reply => return self.take_reply(now, link, packet),
            // The world gives them to their flows.
            Kind::Datagram => return,
            Kind::Syn | Kind::SynAck | Kind::Ack | Kind::WindowProbe | Kind::Reset => {}
        }
        let path = Path {
            server: packet.server,
            ..Path::over(link, packet.family)
        };
        let (conn, out) = (packet.conn, &mut self.out);
        match self.slots.get_mut(conn as usize) {
            Some(Slot::Taken(entry)) => {
                entry.connection.receive(now, path, packet, out);
                self.run(now, conn);
            }
            Some(Slot::Expected(expected)) if packet.kind == Kind::Syn => {
                let (app, shared) = (**expected).clone();
                let connection = Connection::accept(now, path, packet, shared, out);
                self.insert(conn, connection, app);
                self.run(now, conn);
            }
            Some(Slot::Expected(_) | Slot::Free) | None => {}
        }
    }

    /// Lets the application run, sends what is due, and sets the timer.
    fn run(&mut self, now: Instant, conn: u32) {
        let Some(Slot::Taken(entry)) = self.slots.get_mut(conn as usize) else {
            return;
        };
        entry.app_at = entry.app.run(now, &mut entry.connection);
        entry.connection.flush(now, &mut self.out);
        let wake = entry.connection.wake_at();
        let wake = wake.into_iter().chain(entry.app_at).min();
        if let Some(at) = wake
            && entry.queued.is_none_or(|queued| at < queued)
        {
            entry.queued = Some(at);
            self.timers.push(at, conn);
        }
    }

    /// When to call [`Host::tick`]. It may be too early, but never too late.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first()
    }

    /// Handles the timers that are due.
    pub fn tick(&mut self, now: Instant) {
        while let Some((at, conn)) = self
            .timers
            .first()
            .filter(|&at| at <= now)
            .and_then(|_| self.timers.pop())
        {
            let Some(Slot::Taken(entry)) = self.slots.get_mut(conn as usize) else {
                continue;
            };
            if entry.queued == Some(at) {
                entry.queued = None;
            }
            let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
            if is_due(entry.connection.wake_at()) {
                entry.connection.tick(now, &mut self.out);
            }
            self.run(now, conn);
        }
    }

    /// The next packet to put on a link.
    pub fn poll_transmit(&mut self) -> Option<(LinkId, Packet)> {
        let (link, mut packet) = self.out.poll_packet()?;
        self.leaving.apply(link, &mut packet);
        Some((link, packet))
    }

    /// Takes all packets that wait to be put on links, without copies of them.
    pub(crate) fn transmit(&mut self, mut put: impl FnMut(LinkId, &Packet)) {
        for (link, packet) in self.out.packets() {
            self.leaving.apply(*link, packet);
            put(*link, packet);
        }
        self.out.clear_packets();
    }

    /// Whether packets wait to be put on links.
    pub fn has_packets(&self) -> bool {
        self.out.has_packets()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// A connection, if it exists.
    pub fn connection(&self, conn: u32) -> Option<&Connection> {
        match self.slots.get(conn as usize)? {
            Slot::Taken(entry) => Some(&entry.connection),
            Slot::Free | Slot::Expected(_) => None,
        }
    }

    /// Application of a connection.
    pub fn app(&self, conn: u32) -> Option<&App> {
        match self.slots.get(conn as usize)? {
            Slot::Taken(entry) => Some(&entry.app),
            Slot::Expected(expected) => Some(&expected.0),
            Slot::Free => None,
        }
    }

    /// Carries out an action on a connection, and sends what follows from it. `None` if there is no such
    /// connection.
    pub fn act<T>(
        &mut self,
        now: Instant,
        conn: u32,
        action: impl FnOnce(&mut Connection, &mut Outbox) -> T,
    ) -> Option<T> {
        let Some(Slot::Taken(entry)) = self.slots.get_mut(conn as usize) else {
            return None;
        };
        let done = action(&mut entry.connection, &mut self.out);
        self.run(now, conn);
        Some(done)
    }

    /// Changes the application of a connection, which may not be open yet, and lets it run.
    pub fn tell(&mut self, now: Instant, conn: u32, change: impl FnOnce(&mut App)) {
        match self.slots.get_mut(conn as usize) {
            Some(Slot::Taken(entry)) => {
                change(&mut entry.app);
                self.run(now, conn);
            }
            Some(Slot::Expected(expected)) => change(&mut expected.0),
            Some(Slot::Free) | None => {}
        }
    }

    /// Marks this share of the ECN-capable packets that arrive over the link, before TCP sees them.
    pub fn mark_arriving(&mut self, link: LinkId, rate: Ratio) {
        self.arriving.set(link, rate);
    }

    /// Marks this share of the ECN-capable packets that leave over the link, after TCP has sent them.
    pub fn mark_leaving(&mut self, link: LinkId, rate: Ratio) {
        self.leaving.set(link, rate);
    }

    /// Packets and marks of the link, on arrival and when sent. `None`: no marks were ever requested.
    pub fn marks(&self, link: LinkId) -> [Option<MarkCounts>; 2] {
        [&self.arriving, &self.leaving].map(|marks| marks.counts(link))
    }

    /// Sends a probe over this link.
    pub fn probe(&mut self, now: Instant, link: LinkId, family: Family, probe: u32, to_server: bool) {
        let packet = Packet {
            to_server,
            family,
            kind: Kind::Probe,
            number: probe.into(),
            sent: now,
            ..Packet::EMPTY
        };
        self.out.put(link, packet);
    }

    fn reply(&mut self, now: Instant, link: LinkId, packet: &Packet) {
        let reply = Packet {
            kind: Kind::Reply,
            to_server: !packet.to_server,
            sent: now,
            echo: packet.sent,
            ..*packet
        };
        self.out.put(link, reply);
    }

    fn take_reply(&mut self, now: Instant, link: LinkId, packet: &Packet) {
        self.out.put_event(Event::ProbeAnswered {
            link,
            probe: packet.number as u32,
            rtt: now - packet.echo,
        });
    }
}
