//! What connections hand to the world: packets and events. One of each host, so that connections need no
//! buffers of their own.

use super::config::Path;
use crate::tcp::packet::Packet;
use links::LinkId;
use policy::sched::View;
use policy::{Family, JoinFailure, SubflowId};
use std::collections::VecDeque;
use units::Duration;

/// What has happened to a connection. `conn`: its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It was established.
    Opened {
        /// Connection.
        conn: u32,
        /// Whether it speaks MPTCP. If not, it fell back to TCP.
        mptcp: bool,
    },
    /// The peer has confirmed MPTCP: joins are possible.
    Joinable {
        /// Connection.
        conn: u32,
    },
    /// It is over: both ends have finished, or its last subflow is gone.
    Closed {
        /// Connection.
        conn: u32,
    },
    /// A subflow was established.
    SubflowOpened {
        /// Connection.
        conn: u32,
        /// Subflow.
        subflow: SubflowId,
        /// Its path.
        path: Path,
        /// Whether it is the connection's first.
        initial: bool,
        /// Whether it is backup.
        backup: bool,
    },
    /// A subflow was closed, by either end.
    SubflowClosed {
        /// Connection.
        conn: u32,
        /// Subflow.
        subflow: SubflowId,
        /// Its path.
        path: Path,
    },
    /// A join was not answered, or could not be sent.
    JoinFailed {
        /// Connection.
        conn: u32,
        /// Its path.
        path: Path,
        /// Why.
        reason: JoinFailure,
    },
    /// The peer has announced an address.
    Announced {
        /// Connection.
        conn: u32,
        /// Identifier of the address.
        address: u8,
        /// Its family.
        family: Family,
    },
    /// A probe was answered.
    ProbeAnswered {
        /// Its link.
        link: LinkId,
        /// Its number.
        probe: u32,
        /// Its RTT.
        rtt: Duration,
    },
}

/// Packets and events that the world has not taken yet.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(super) packets: VecDeque<(LinkId, Packet)>,
    pub(super) events: VecDeque<Event>,
    /// Scratch space of schedulers.
    pub(super) views: Vec<View>,
    /// Number of the next subflow.
    pub(super) next_subflow: u32,
}

impl Outbox {
    pub(super) fn send(&mut self, link: LinkId, packet: Packet) {
        self.packets.push_back((link, packet));
    }

    pub(super) fn report(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn number_subflow(&mut self) -> SubflowId {
        self.next_subflow += 1;
        SubflowId(self.next_subflow)
    }

    /// Puts a packet of the host itself on a link.
    pub(crate) fn put(&mut self, link: LinkId, packet: Packet) {
        self.send(link, packet);
    }

    /// Reports an event of the host itself.
    pub(crate) fn put_event(&mut self, event: Event) {
        self.report(event);
    }

    /// All packets, in their order.
    pub(crate) fn packets(&mut self) -> impl Iterator<Item = &mut (LinkId, Packet)> {
        self.packets.iter_mut()
    }

    /// Removes all packets.
    pub(crate) fn clear_packets(&mut self) {
        self.packets.clear();
    }

    /// Whether packets wait.
    pub fn has_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// The next packet, and the link that it leaves on.
    pub fn poll_packet(&mut self) -> Option<(LinkId, Packet)> {
        self.packets.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
