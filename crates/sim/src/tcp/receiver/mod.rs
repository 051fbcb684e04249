//! Receiver of a subflow: puts segments in order, and decides when to acknowledge them and with what.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`,
//!   `__tcp_ack_snd_check`, `tcp_event_data_recv`), `tcp_output.c` (`tcp_event_ack_sent`).
//! - RFC 2018 §4 (the block of the latest arrival first), RFC 2883 (D-SACK), RFC 3168 §6.1.3 (ECE until CWR).
//!
//! # Where we differ, and why
//! 1. The delayed-ACK time is Linux's minimum, 40 ms. Linux lengthens it where segments come slowly.
//! 2. No generic receive offload: every second segment is acknowledged. With it, Linux sends fewer ACKs at
//!    high rates.
//!
//! # Checked by
//! `tests` beside it, `tests/hosts.rs`.

mod acks;
mod order;
#[cfg(test)]
mod tests;

use super::packet::{Ecn, Packet, Sacks, room_for_blocks};
use super::scoreboard::Payload;
use acks::Acks;
pub use order::Arrived;
use order::Order;
use units::{Duration, Instant};

/// Counters of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Segments of any kind.
    pub segments: u64,
    /// Payload bytes in order.
    pub in_order: u64,
    /// Segments that arrived out of order.
    pub disordered: u64,
    /// Segments that arrived again.
    pub duplicates: u64,
    /// Segments that carried CE.
    pub marked: u64,
}

/// Receiving half of a subflow.
#[derive(Debug, Clone)]
pub struct Receiver {
    order: Order,
    acks: Acks,
    /// `TSrecent`: when the segment was sent that the next ACK answers.
    echo: Instant,
    /// Whether ACKs carry ECE.
    echoes_congestion: bool,
    duplicate: bool,
    counts: Received,
    /// RTT as measured on the peer's data. Zero until the first sample.
    rtt_ns: u64,
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Receiver {
    /// A receiver to which nothing has come.
    pub fn new() -> Self {
        Self {
            order: Order::default(),
            acks: Acks::default(),
            echo: Instant::ZERO,
            echoes_congestion: false,
            duplicate: false,
            counts: Received::default(),
            rtt_ns: 0,
        }
    }

    /// Counters so far.
    pub const fn counts(&self) -> Received {
        self.counts
    }

    /// Number of the next segment in order.
    pub const fn next(&self) -> u64 {
        self.order.next()
    }

    /// RTT as measured on the peer's data (`tcpi_rcv_rtt`). Zero until the first sample.
    pub const fn round_trip(&self) -> Duration {
        Duration::from_nanos(self.rtt_ns)
    }

    /// What the next packet to the peer echoes.
    pub const fn echo(&self) -> Instant {
        self.echo
    }

    /// Whether the next packet to the peer carries ECE.
    pub const fn echoes_congestion(&self) -> bool {
        self.echoes_congestion
    }

    /// Takes the timestamp of a SYN or SYN-ACK.
    pub fn begin(&mut self, packet: &Packet) {
        self.echo = packet.sent;
        self.counts.segments += 1;
    }

    /// Takes a packet. `deliver` gets each payload that is in order now. Returns what became of its segment,
    /// if it has one.
    pub fn receive(
        &mut self,
        now: Instant,
        packet: &Packet,
        deliver: impl FnMut(Payload),
    ) -> Option<Arrived> {
        self.counts.segments += 1;
        if !packet.is_numbered() {
            self.echo = self.echo.max(packet.sent);
            return None;
        }
        self.heed_marks(packet);
        let arrived = self.put_in_order(packet, deliver);
        match arrived {
            Arrived::InOrder { .. } => {
                self.measure(now, packet);
                self.acks.in_order(now, self.order.has_early());
            }
            Arrived::Early => {
                self.counts.disordered += 1;
                self.acks.at_once();
            }
            Arrived::Duplicate => {
                self.counts.duplicates += 1;
                self.duplicate = true;
                self.acks.at_once();
            }
        }
        Some(arrived)
    }

    fn put_in_order(&mut self, packet: &Packet, mut deliver: impl FnMut(Payload)) -> Arrived {
        let payload = Payload {
            data: packet.data,
            bytes: packet.bytes,
            fin: packet.fin,
        };
        if packet.number <= self.order.next() {
            self.echo = self.echo.max(packet.sent);
        }
        let in_order = &mut self.counts.in_order;
        self.order.take(packet.number, payload, |payload| {
            *in_order += u64::from(payload.bytes);
            deliver(payload);
        })
    }

    fn heed_marks(&mut self, packet: &Packet) {
        if packet.cwr {
            self.echoes_congestion = false;
        }
        if packet.ecn == Ecn::Ce {
            self.counts.marked += 1;
            if !self.echoes_congestion {
                self.acks.quick();
            }
            self.echoes_congestion = true;
        }
    }

    /// The peer echoes when we sent what it answers. A receiver that sends nothing keeps echoing its own last
    /// ACK, so the sample includes the queue (`tcp_rcv_rtt_measure_ts`).
    fn measure(&mut self, now: Instant, packet: &Packet) {
        if packet.echo > Instant::ZERO {
            let rtt_ns = now.as_nanos() - packet.echo.as_nanos();
            self.rtt_ns = if self.rtt_ns == 0 {
                rtt_ns
            } else {
                (self.rtt_ns * 7 + rtt_ns) / 8
            };
        }
    }

    /// Whether an ACK must leave now.
    pub fn must_acknowledge(&self, now: Instant) -> bool {
        self.acks.is_due(now)
    }

    /// When an ACK must leave at the latest.
    pub const fn acknowledge_at(&self) -> Option<Instant> {
        self.acks.due_at()
    }

    /// Requests an ACK at once.
    pub const fn request(&mut self) {
        self.acks.at_once();
    }

    /// A packet with the present number leaves: no other ACK is due. Returns its SACK blocks, if it has room
    /// for them.
    pub fn acknowledged(&mut self, mptcp: bool, has_payload: bool) -> Sacks {
        self.acks.sent();
        let mut sacks = Sacks::default();
        if has_payload || !(self.order.has_early() || self.duplicate) {
            return sacks;
        }
        let mut room = room_for_blocks(mptcp);
        if std::mem::take(&mut self.duplicate) {
            sacks.duplicate = true;
            room -= 1;
        }
        let next = self.order.next();
        self.order
            .blocks()
            .take(room)
            .for_each(|block| sacks.push(next, block));
        sacks
    }
}
