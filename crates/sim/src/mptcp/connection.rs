//! State of a connection at one end, and what packets and timers do to it.

use super::announce::Announcement;
use super::config::{Joins, Path, Shared};
use super::incoming::Incoming;
use super::outbox::{Event, Outbox};
use super::outgoing::Outgoing;
use super::persist::Persist;
use super::stamp::Stamp;
use super::subflow::Subflow;
use crate::tcp::packet::{Kind, Packet, Signal};
use crate::tcp::{Arrived, Heard, Sender, earlier};
use policy::cc::{Flow, MOST_PATHS};
use policy::sched::{Rescue, Scheduler};
use policy::{JoinFailure, SubflowId};
use units::{Bytes, Duration, Instant};

/// Which end of a connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The one that opens it.
    Client,
    /// The one that accepts it.
    Server,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its first subflow is not established.
    Opening,
    /// Established. With MPTCP: the peer has not confirmed it, so joins must wait.
    Open,
    /// The peer has confirmed MPTCP.
    Joinable,
    /// Over.
    Closed,
}

/// One end of a connection. [`crate::mptcp`] describes how to drive it.
#[derive(Debug)]
pub struct Connection {
    pub(super) id: u32,
    pub(super) role: Role,
    pub(super) shared: Shared,
    pub(super) phase: Phase,
    /// Whether it speaks MPTCP. A connection that has fallen back does not.
    pub(super) mptcp: bool,
    #[expect(
        clippy::vec_box,
        reason = "a vector reserves four, and most connections have two"
    )]
    pub(super) subflows: Vec<Box<Subflow>>,
    pub(super) scheduler: Scheduler,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    /// Cap on what each subflow may have assigned and unsent.
    pub(super) unsent: Option<Bytes>,
    pub(super) next_port: u16,
    /// Joins that have been accepted.
    pub(super) joins: u8,
    /// Joins that wait for the peer to confirm MPTCP.
    pub(super) waiting: Vec<(Path, bool)>,
    /// Connection-level retransmission timer.
    pub(super) retransmit_at: Option<Instant>,
    /// Repetitions of DATA_FIN.
    pub(super) data_fins: u8,
    pub(super) persist: Persist,
    /// Announced addresses that the peer has not echoed.
    pub(super) announcements: Vec<Announcement>,
    /// Bytes at the start that are not the application's: the reply of a relay.
    pub(super) preface: u64,
    /// Opportunistic retransmission and penalisation, if configured.
    pub(super) rescue: Option<Box<Rescue>>,
}

/// Other subflows of a connection, for coupled controllers.
pub(super) struct Siblings {
    flows: [Flow; MOST_PATHS],
    count: usize,
}

impl Siblings {
    pub(super) fn flows(&self) -> &[Flow] {
        &self.flows[..self.count]
    }
}

impl Connection {
    /// An end of connection number `id`. It has no subflow yet.
    pub(super) fn new(id: u32, role: Role, shared: Shared) -> Self {
        let config = &shared.host.config;
        Self {
            id,
            role,
            phase: Phase::Opening,
            mptcp: config.mptcp,
            subflows: Vec::new(),
            scheduler: config.scheduler.build(),
            outgoing: Outgoing::default(),
            incoming: Incoming::new(config.receive_buffer),
            unsent: None,
            next_port: 0,
            joins: 0,
            waiting: Vec::new(),
            retransmit_at: None,
            data_fins: 0,
            persist: Persist::default(),
            announcements: Vec::new(),
            preface: 0,
            rescue: config.rescue.then(Box::default),
            shared,
        }
    }

    /// Opens a connection over this path.
    pub fn open(id: u32, now: Instant, path: Path, shared: Shared, out: &mut Outbox) -> Self {
        let mut connection = Self::new(id, Role::Client, shared);
        connection.connect(now, path, false, out);
        connection
    }

    /// Accepts a connection whose first packet is this one, which came over `path`.
    pub fn accept(now: Instant, path: Path, packet: &Packet, shared: Shared, out: &mut Outbox) -> Self {
        let mut connection = Self::new(packet.conn, Role::Server, shared);
        connection.receive(now, path, packet, out);
        connection
    }

    /// Number of the connection.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(super) fn stamp(&self, now: Instant) -> Stamp {
        Stamp {
            now,
            conn: self.id,
            to_server: self.role == Role::Client,
            mptcp: self.mptcp,
            data_ack: self.incoming.data_ack(self.mptcp),
            data_fin: self.outgoing.data_fin(),
            window: self.incoming.window(),
            more: self.outgoing.unassigned() > 0,
        }
    }

    pub(super) fn siblings(&self, own: usize) -> Siblings {
        let mut siblings = Siblings {
            flows: [Flow::default(); MOST_PATHS],
            count: 0,
        };
        if !self.shared.host.config.sender.control.is_coupled() || self.subflows.len() < 2 {
            return siblings;
        }
        let others = self.subflows.iter().enumerate();
        for (_, subflow) in others.filter(|(at, subflow)| *at != own && subflow.is_open()) {
            if siblings.count + 1 < MOST_PATHS {
                let Some(sender) = subflow.sender.get() else {
                    continue;
                };
                siblings.flows[siblings.count] = sender.flow();
                siblings.count += 1;
            }
        }
        siblings
    }

    /// Adds a subflow. Most connections have two, so the vector does not grow ahead.
    pub(super) fn add(&mut self, subflow: Subflow) {
        self.subflows.reserve_exact(1);
        self.subflows.push(Box::new(subflow));
    }

    pub(super) fn at(&self, id: SubflowId) -> Option<usize> {
        self.subflows.iter().position(|subflow| subflow.id == id)
    }

    /// Takes a packet that came over this path. [`Connection::flush`] follows.
    pub fn receive(&mut self, now: Instant, path: Path, packet: &Packet, out: &mut Outbox) {
        let at = self
            .subflows
            .iter()
            .position(|subflow| subflow.port == packet.port);
        match (packet.kind, at) {
            (Kind::Syn, at) => self.heed_syn(now, path, packet, at, out),
            (Kind::SynAck, Some(at)) => self.heed_syn_ack(now, packet, at, out),
            (Kind::Reset, Some(at)) => self.heed_reset(now, at, out),
            (Kind::Ack | Kind::WindowProbe, Some(at)) => self.heed(now, packet, at, out),
            (Kind::Ack | Kind::WindowProbe | Kind::SynAck, None) => self.refuse(now, path, packet, out),
            (Kind::Reset, None) | (Kind::Probe | Kind::Reply | Kind::Datagram, _) => {}
        }
    }

    /// An ACK on an existing subflow, with payload or without.
    fn heed(&mut self, now: Instant, packet: &Packet, at: usize, out: &mut Outbox) {
        if !self.confirm(now, packet, at, out) {
            return;
        }
        let mut at = at;
        if packet.signal != Signal::None {
            self.heed_signal(now, packet, at, out);
            // The signal may have removed subflows.
            let stays = |subflow: &Subflow| subflow.port == packet.port;
            let Some(place) = self.subflows.iter().position(|subflow| stays(subflow)) else {
                return;
            };
            at = place;
        }
        let subflow = &mut self.subflows[at];
        subflow.last_heard = now;
        (subflow.stale, subflow.stale_count) = (false, 0);
        if self.outgoing.acknowledge(packet.data_ack, packet.window) {
            self.set_retransmission_timer(now);
        }
        self.hear(now, packet, at);
        self.take(now, packet, at);
        if self.mptcp {
            self.heed_data_fin(packet, at);
        }
    }

    /// Handles what the packet acknowledges on its subflow.
    fn hear(&mut self, now: Instant, packet: &Packet, at: usize) {
        if self.subflows[at].sender.unacknowledged() == 0 {
            return;
        }
        let siblings = self.siblings(at);
        let heard = Heard {
            next: packet.ack,
            sacks: packet.sacks,
            echo: packet.echo,
            congested: packet.ece,
        };
        let _ = self.subflows[at]
            .sender
            .made()
            .hear(now, &heard, siblings.flows());
    }

    /// Takes the payload of a packet.
    fn take(&mut self, now: Instant, packet: &Packet, at: usize) {
        let (subflow, incoming, mptcp) = (&mut self.subflows[at], &mut self.incoming, self.mptcp);
        if packet.kind == Kind::WindowProbe {
            subflow.receiver.request();
        }
        let mut filled = false;
        let arrived = subflow.receiver.receive(now, packet, |payload| {
            if payload.bytes > 0 {
                filled |= incoming.take(payload.data, payload.bytes.into());
            }
            if payload.fin && !mptcp {
                incoming.ends_at(payload.data);
            }
        });
        if let Some(Arrived::InOrder { fin }) = arrived {
            subflow.peer_fin |= fin;
            if filled || fin {
                subflow.receiver.request();
            }
            let rtts = self.subflows.iter().map(|subflow| subflow.receiver.round_trip());
            let rtt = rtts.max().unwrap_or(Duration::ZERO);
            self.incoming.tune(now, rtt);
        }
    }

    /// Lets time pass. Call it at [`Connection::wake_at`]. [`Connection::flush`] follows.
    pub fn tick(&mut self, now: Instant, out: &mut Outbox) {
        let mut at = 0;
        while let Some(port) = self.subflows.get(at).map(|subflow| subflow.port) {
            self.tick_subflow(now, at, out);
            // A handshake that has failed removes its subflow.
            let stays = self.subflows.get(at).is_some_and(|subflow| subflow.port == port);
            at += usize::from(stays);
        }
        if self.retransmit_at.is_some_and(|due| due <= now) {
            self.reinject_oldest(now);
        }
        if !self.announcements.is_empty() {
            self.repeat_announcements(now);
        }
        self.probe_window(now, out);
    }

    fn tick_subflow(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let subflow = &self.subflows[at];
        if subflow.sender.wake_at().is_some_and(|due| due <= now) {
            let (siblings, stamp) = (self.siblings(at), self.stamp(now));
            self.subflows[at].expire(now, siblings.flows(), &stamp, out);
        }
        self.repeat_handshake(now, at, out);
    }

    /// When to call [`Connection::tick`] next.
    pub fn wake_at(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().map(|subflow| subflow.wake_at());
        let announcements = self.announcements.iter().map(|known| Some(known.wake_at()));
        let timers = earlier(self.retransmit_at, self.persist.wake_at());
        subflows.chain(announcements).fold(timers, earlier)
    }

    /// Assigns data, sends what is due, and removes what is gone. It follows every call that changes the
    /// connection.
    pub fn flush(&mut self, now: Instant, out: &mut Outbox) {
        self.push(now, out);
        self.send_data_fin(now);
        self.finish_subflows();
        let stamp = self.stamp(now);
        for subflow in &mut self.subflows {
            subflow.transmit(now, &stamp, out);
        }
        self.set_persist_timer(now);
        self.sweep(now, out);
    }

    fn sweep(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(at) = self.subflows.iter().position(|subflow| subflow.is_over()) {
            let over = &self.subflows[at];
            self.shared
                .keep(over.path, over.sender.get().and_then(Sender::metrics));
            self.remove(now, at, out);
        }
    }

    /// Removes a subflow. What it held is reinjected.
    pub(super) fn remove(&mut self, now: Instant, at: usize, out: &mut Outbox) {
        let mut subflow = self.subflows.remove(at);
        let was_open = subflow.is_open();
        let drained = subflow.is_drained();
        subflow.close();
        if was_open {
            out.report(Event::SubflowClosed {
                conn: self.id,
                subflow: subflow.id,
                path: subflow.path,
            });
        }
        if self.role == Role::Server && !subflow.initial {
            self.joins = self.joins.saturating_sub(1);
        }
        if !drained && self.mptcp {
            self.outgoing.reinject_all();
        }
        let over = self.subflows.is_empty() && (self.ends() || !self.mptcp || self.phase == Phase::Opening);
        if over && self.phase != Phase::Closed {
            self.phase = Phase::Closed;
            self.retransmit_at = None;
            out.report(Event::Closed { conn: self.id });
        } else {
            self.set_retransmission_timer(now);
        }
    }

    /// Adds a join, now or once the peer has confirmed MPTCP. Reports why it cannot.
    pub fn join(&mut self, now: Instant, path: Path, backup: bool, out: &mut Outbox) {
        let conn = self.id;
        let failed = |reason| Event::JoinFailed { conn, path, reason };
        let waits = self.shared.host.config.joins == Joins::Confirmed && self.phase != Phase::Joinable;
        match self.phase {
            _ if !self.mptcp || self.role == Role::Server => out.report(failed(JoinFailure::Local)),
            Phase::Closed => out.report(failed(JoinFailure::Untimely)),
            _ if waits => self.waiting.push((path, backup)),
            _ => self.connect(now, path, backup, out),
        }
    }

    /// Sends RST for a packet of a subflow that this end does not know.
    fn refuse(&mut self, now: Instant, path: Path, packet: &Packet, out: &mut Outbox) {
        let stamp = self.stamp(now);
        out.send(path.link, reset_for(packet, &stamp));
    }
}

/// RST that answers a packet.
pub(super) fn reset_for(packet: &Packet, stamp: &Stamp) -> Packet {
    Packet {
        to_server: !packet.to_server,
        kind: Kind::Reset,
        ecn: crate::tcp::packet::Ecn::NotEct,
        fin: false,
        bytes: 0,
        sacks: crate::tcp::packet::Sacks::default(),
        sent: stamp.now,
        signal: Signal::None,
        ..*packet
    }
}
