//! What the application and the engine can do with a connection, and what they can read of it.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/pm_userspace.c` (MP_PRIO, destroying a subflow); `struct tcp_info`,
//!   `struct mptcp_info`.
//!
//! # Where we differ, and why
//! 1. A destroyed subflow sends RST at once. The kernel's peer learns of it from the RST that answers its
//!    next segment. Both leave over the subflow's own path, so neither arrives if that is dead.
//!
//! # Checked by
//! `tests/hosts.rs`.

use super::config::{Joins, Path};
use super::connection::{Connection, Phase};
use super::outbox::Outbox;
use super::subflow::{State, Subflow};
use crate::tcp::packet::Signal;
use crate::tcp::{Counts, Metrics, Received, Sender};
use links::LinkId;
use policy::cc::Flow;
use policy::{Ahead, ConnSample, SubflowId, SubflowSample};
use units::{Bytes, Duration, Instant};

/// One subflow, as a world can read it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubflowView {
    /// Identifier of the subflow.
    pub id: SubflowId,
    /// Its path.
    pub path: Path,
    /// Its number within the connection, which its packets carry.
    pub port: u16,
    /// Counters of the subflow, as in `tcp_info`.
    pub sample: SubflowSample,
    /// Counters of its sender.
    pub sent: Counts,
    /// Segments with a number of their own that it has sent, retransmissions included.
    pub segments: u64,
    /// Counters of its receiver.
    pub received: Received,
    /// Retransmission time-out (`tcpi_rto`).
    pub rto: Duration,
    /// Slow-start threshold, if there is one.
    pub ssthresh: Option<u32>,
    /// Whether the sender considers it stale.
    pub stale: bool,
    /// Bytes assigned to it and not acknowledged.
    pub queued: Bytes,
    /// Whether the peer has confirmed it. Until then, it may still refuse the join.
    pub confirmed: bool,
    /// What coupled controllers see of it, once it has sent something.
    pub flow: Option<Flow>,
}

impl Connection {
    /// Bytes that the application may write now.
    pub fn writable(&mut self) -> u64 {
        if matches!(self.phase, Phase::Opening | Phase::Closed) || self.outgoing.end().is_some() {
            return 0;
        }
        let config = &self.shared.host.config;
        let buffers = self
            .subflows
            .iter_mut()
            .map(|subflow| subflow.send_buffer(config));
        buffers.sum::<u64>().saturating_sub(self.outgoing.backlog())
    }

    /// Writes up to this many bytes. Returns how many there was room for. [`Connection::flush`] follows this
    /// and every other action.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.writable());
        if bytes > 0 {
            self.outgoing.write(bytes);
        }
        bytes
    }

    /// Records that the application writes no more.
    pub const fn finish(&mut self) {
        self.outgoing.finish();
    }

    /// Calls [`Connection::finish`] unless the application has finished.
    pub fn finish_once(&mut self) {
        if self.outgoing.end().is_none() {
            self.finish();
        }
    }

    /// When its first subflow last heard from the peer, and whether it has anything left to deliver.
    pub fn first_heard(&self) -> Option<(Instant, bool)> {
        let first = self.subflows.iter().find(|subflow| subflow.is_open())?;
        let awaits = first.sender.unacknowledged() > 0 || first.unsent() > 0;
        Some((first.last_heard, awaits))
    }

    /// Bytes that the application has read: all that arrived in order behind the preface.
    pub const fn read(&self) -> u64 {
        self.incoming.next().saturating_sub(self.preface)
    }

    /// Leaves this many bytes at the start out of what the application reads.
    pub const fn skip(&mut self, bytes: u64) {
        self.preface = bytes;
    }

    /// Lets bytes that arrive from now on wait until [`Connection::consume`], as a relay does.
    pub const fn hold_back(&mut self) {
        self.incoming.hold_back();
    }

    /// Bytes that wait to be read.
    pub fn unread(&self) -> u64 {
        self.incoming.unread()
    }

    /// Reads bytes that wait. If that opens a window that was nearly closed, the peer learns it at once.
    pub fn consume(&mut self, bytes: u64) {
        if self.incoming.consume(bytes) {
            self.acknowledge_everywhere();
        }
    }

    /// Bytes that were written and not sent. With MPTCP, those that no subflow has.
    pub fn unsent(&self) -> u64 {
        let on_subflows = self.subflows.iter().map(|subflow| subflow.unsent());
        let assigned = if self.mptcp { 0 } else { on_subflows.sum() };
        self.outgoing.unassigned() + assigned
    }

    /// Whether the peer has finished, and everything is read.
    pub fn is_at_end(&self) -> bool {
        self.incoming.is_over()
    }

    /// Whether the connection is established.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Joinable)
    }

    /// Whether a join can begin now: the peer has confirmed MPTCP, or joins do not wait for that
    /// ([`Joins::AtOnce`]).
    pub fn is_joinable(&self) -> bool {
        let waits = self.shared.host.config.joins == Joins::Confirmed;
        match self.phase {
            Phase::Joinable => true,
            Phase::Opening | Phase::Open => self.mptcp && !waits,
            Phase::Closed => false,
        }
    }

    /// The first subflow while it is not established: its number and its path.
    pub fn opening(&self) -> Option<(SubflowId, Path)> {
        let mut subflows = self.subflows.iter();
        let opening = subflows.find(|subflow| subflow.initial && !subflow.is_open())?;
        Some((opening.id, opening.path))
    }

    /// Whether it has a subflow over this link, established or not.
    pub fn uses(&self, link: LinkId) -> bool {
        self.subflows.iter().any(|subflow| subflow.path.link == link)
    }

    /// Whether it speaks MPTCP.
    pub const fn is_mptcp(&self) -> bool {
        self.mptcp
    }

    /// Makes a subflow backup or not, and tells the peer on the subflow itself (MP_PRIO).
    pub fn set_backup(&mut self, subflow: SubflowId, backup: bool) {
        if let Some(at) = self.at(subflow) {
            self.subflows[at].backup[0] = backup;
            self.subflows[at].signal(Signal::Priority { backup });
        }
    }

    /// Closes this end of a subflow.
    pub fn destroy(&mut self, now: Instant, subflow: SubflowId, out: &mut Outbox) {
        if let Some(at) = self.at(subflow) {
            let stamp = self.stamp(now);
            self.subflows[at].send_reset(&stamp, out);
            self.remove(now, at, out);
        }
    }

    /// Gives up a join over this path that was not answered.
    pub fn abandon(&mut self, now: Instant, path: Path, out: &mut Outbox) {
        let is_opening = |subflow: &Subflow| {
            subflow.path == path && !subflow.initial && matches!(subflow.state, State::Opening { .. })
        };
        if let Some(at) = self.subflows.iter().position(|subflow| is_opening(subflow)) {
            self.remove(now, at, out);
        }
    }

    /// Closes this end at once, with an RST on every subflow.
    pub fn abort(&mut self, now: Instant, out: &mut Outbox) {
        let stamp = self.stamp(now);
        while let Some(subflow) = self.subflows.last_mut() {
            subflow.send_reset(&stamp, out);
            self.remove(now, self.subflows.len() - 1, out);
        }
        self.retransmit_at = None;
        if std::mem::replace(&mut self.phase, Phase::Closed) != Phase::Closed {
            out.report(super::Event::Closed { conn: self.id });
        }
    }

    /// Caps the receive window. `None`: as the host decides.
    pub const fn cap_window(&mut self, cap: Option<Ahead>) {
        self.incoming.cap(cap);
    }

    /// Caps what each subflow may have assigned and not sent (`TCP_NOTSENT_LOWAT`).
    pub const fn cap_unsent(&mut self, cap: Option<Bytes>) {
        self.unsent = cap;
    }

    /// Counters of the connection, as in `mptcp_info`.
    pub fn sample(&self) -> ConnSample {
        ConnSample {
            bytes_received: Bytes::new(self.incoming.next()),
            bytes_acked: Bytes::new(self.outgoing.first()),
            backlog: Bytes::new(self.outgoing.backlog()),
            held: Bytes::new(self.incoming.held()),
        }
    }

    /// Established subflows of the connection.
    pub fn subflows(&self, now: Instant) -> impl Iterator<Item = SubflowView> {
        let open = self.subflows.iter().filter(|subflow| subflow.is_open());
        open.map(move |subflow| subflow.read(now))
    }

    /// Samples of the RTT over each path whose subflow exists, if the configuration asks for them.
    pub fn round_trips(&self) -> impl Iterator<Item = (Path, &[(Instant, Duration)])> {
        let subflows = self.subflows.iter();
        subflows.filter_map(|subflow| Some((subflow.path, subflow.sender.get()?.round_trips())))
    }

    /// Receive window that this end offers.
    pub fn window(&self) -> Bytes {
        Bytes::new(self.incoming.window())
    }

    /// RTT and slow-start threshold for the next connection over this path.
    pub fn metrics(&self, path: Path) -> Option<Metrics> {
        let over = self.subflows.iter().find(|subflow| subflow.path == path)?;
        over.sender.get()?.metrics()
    }
}

impl Subflow {
    fn read(&self, now: Instant) -> SubflowView {
        let sent = self.sender.get().map(Sender::counts).unwrap_or_default();
        let received = self.receiver.counts();
        SubflowView {
            id: self.id,
            path: self.path,
            port: self.port,
            sample: SubflowSample {
                segs_in: received.segments,
                bytes_received: Bytes::new(received.in_order),
                bytes_acked: Bytes::new(sent.acknowledged),
                unacked: self.sender.unacknowledged() as u32,
                unsent: Bytes::new(self.unsent()),
                retransmits: sent.retransmits,
                last_ack: now - self.last_heard,
                srtt: self.sender.srtt(),
                min_rtt: self.sender.min_rtt(),
                data_rtt: self.receiver.round_trip(),
                disordered: received.disordered,
                cwnd: self.sender.cwnd(),
                backup: self.is_backup(),
            },
            sent,
            segments: self.sender.numbered() + sent.retransmits,
            received,
            rto: self.sender.rto(),
            ssthresh: self.sender.get().and_then(Sender::ssthresh),
            stale: self.stale,
            queued: Bytes::new(self.queued()),
            confirmed: self.state == State::Open,
            flow: self.sender.get().map(Sender::flow),
        }
    }

    /// Option of this subflow's handshake, as this end sends it. `mptcp`: whether a first subflow asks for
    /// MPTCP.
    pub(super) const fn handshake_signal(&self, mptcp: bool) -> Signal {
        match self.initial {
            true if mptcp => Signal::Capable,
            true => Signal::None,
            false => Signal::Join {
                address: self.path.client,
                backup: self.backup[0],
            },
        }
    }
}
