//! A queue in front of a server: FIFO, tail drop at a limit, optionally CoDel.
//!
//! Every kind of link uses it. Packets that leave the network, delivered or dropped, go to `exits`.

pub(crate) mod codel;
pub(crate) mod exits;
pub(crate) mod fair;

use alloc::collections::VecDeque;
use units::{Bitrate, Bytes, Duration, Instant};

use self::codel::{Codel, Verdict};
use self::exits::Exits;
use crate::config::{FULL_PACKET, QueueConfig, QueueLimit};
use crate::{DropReason, LinkId, Packet};

/// A packet inside a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) packet: Packet,
    /// Whether one of the link's queues marked the packet.
    pub(crate) ce: bool,
    /// Whether it crosses the air of WiFi at once ([`crate::Input::WithoutAir`]).
    pub(crate) without_air: bool,
    /// When it entered the stage it is in now.
    pub(crate) since: Instant,
}

/// Current length of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Packets.
    pub packets: usize,
    /// Bytes of these packets.
    pub bytes: Bytes,
}

#[derive(Debug, Clone, Copy)]
enum Room {
    Packets(usize),
    Bytes(u64),
}

#[derive(Debug)]
pub(crate) struct Queue {
    ring: VecDeque<Entry>,
    bytes: u64,
    room: Room,
    codel: Option<Codel>,
}

impl Queue {
    /// Builds an empty queue. `rate` and `rtt` convert limits in time and in bandwidth-delay products to
    /// packets and bytes.
    pub(crate) fn new(config: QueueConfig, rate: Bitrate, rtt: Duration) -> Self {
        let room = Room::new(config.limit, rate, rtt);
        Self {
            ring: VecDeque::with_capacity(room.likely_packets()),
            bytes: 0,
            room,
            codel: config.aqm.map(Codel::new),
        }
    }

    pub(crate) fn depth(&self) -> Depth {
        Depth {
            packets: self.ring.len(),
            bytes: Bytes::new(self.bytes),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Enqueues a packet, or drops it if the queue is full.
    pub(crate) fn push(&mut self, now: Instant, mut entry: Entry, exits: &mut Exits) {
        if self.is_full_for(entry.packet.bytes) {
            exits.drop(now, entry.packet, DropReason::QueueFull);
            return;
        }
        entry.since = now;
        self.bytes += u64::from(entry.packet.bytes);
        self.ring.push_back(entry);
    }

    /// The next packet to serve, after the AQM has dropped or marked.
    pub(crate) fn pop(&mut self, now: Instant, exits: &mut Exits) -> Option<Entry> {
        let Some(codel) = &mut self.codel else {
            return self.take();
        };
        if self.ring.is_empty() {
            codel.emptied();
        }
        let head = self.take()?;
        self.managed(now, head, exits)
    }

    /// Drops all packets of `link`.
    pub(crate) fn purge(&mut self, now: Instant, link: LinkId, reason: DropReason, exits: &mut Exits) {
        let bytes = &mut self.bytes;
        self.ring.retain(|entry| {
            let stays = entry.packet.link != link;
            if !stays {
                *bytes -= u64::from(entry.packet.bytes);
                exits.drop(now, entry.packet, reason);
            }
            stays
        });
    }

    /// Whether a packet of this many bytes would be dropped.
    pub(crate) fn is_full_for(&self, bytes: u32) -> bool {
        match self.room {
            Room::Packets(most) => self.ring.len() >= most,
            Room::Bytes(most) => self.bytes + u64::from(bytes) > most,
        }
    }

    fn take(&mut self) -> Option<Entry> {
        let entry = self.ring.pop_front()?;
        self.bytes -= u64::from(entry.packet.bytes);
        Some(entry)
    }

    fn managed(&mut self, now: Instant, mut head: Entry, exits: &mut Exits) -> Option<Entry> {
        let mut verdict = self
            .codel
            .as_mut()?
            .head(now, now - head.since, self.bytes <= FULL_PACKET);
        while verdict == Verdict::Signal {
            let codel = self.codel.as_mut()?;
            if codel.ecn && head.packet.ect {
                codel.marked(now);
                head.ce = true;
                return Some(head);
            }
            exits.drop(now, head.packet, DropReason::Aqm);
            // More than a full packet remains behind a dropped head.
            head = self.take()?;
            verdict = self
                .codel
                .as_mut()?
                .after_drop(now, now - head.since, self.bytes <= FULL_PACKET);
        }
        Some(head)
    }
}

impl Room {
    fn new(limit: QueueLimit, rate: Bitrate, rtt: Duration) -> Self {
        match limit {
            QueueLimit::Bdp => Self::new(QueueLimit::product(rate, rtt), rate, rtt),
            QueueLimit::Packets(most) => Self::Packets(most as usize),
            QueueLimit::Bytes(most) => Self::Bytes(most.get()),
            QueueLimit::Time(time) => Self::Bytes((rate * time).get().max(FULL_PACKET)),
        }
    }

    /// Packets to reserve memory for. Limits in bytes count full packets. The reservation is at most a few
    /// megabytes of entries.
    fn likely_packets(self) -> usize {
        let packets = match self {
            Self::Packets(most) => most as u64,
            Self::Bytes(most) => most.div_ceil(FULL_PACKET),
        };
        packets.min(1 << 16) as usize
    }
}
