//! What an ACK says about the segments: a cumulative number, SACK blocks, the echoed timestamp.
//!
//! # Sources
//! - RFC 2018 (SACK), RFC 7323 §4 (timestamps); Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_clean_rtx_queue`,
//!   `tcp_sacktag_write_queue`, `tcp_ack_update_rtt`).
//!
//! # Where we differ, and why
//! 1. Segments have numbers instead of byte ranges: a segment is never cut again, so both say the same.
//!
//! # Checked by
//! `scoreboard::tests`.

use super::{Scoreboard, State};
use crate::tcp::packet::Sacks;
use units::{Duration, Instant};

/// An ACK, as the sender of the data hears it.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    /// Number of the next segment that the receiver expects.
    pub next: u64,
    /// Segments behind it that have arrived.
    pub sacks: Sacks,
    /// When the segment was sent that the ACK answers.
    pub echo: Instant,
    /// Whether the receiver reports congestion (ECE).
    pub congested: bool,
}

/// What an ACK has acknowledged for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acked {
    /// Segments, in order or not.
    pub segments: u32,
    /// Bytes in order.
    pub in_order: u64,
    /// Bytes, in order or not.
    pub bytes: u64,
    /// Whether the first unacknowledged segment is a later one now.
    pub advanced: bool,
    /// When the earliest and the latest of them was sent that were sent once. Both are of segments in order,
    /// if there are any.
    pub once: Option<(Instant, Instant)>,
}

impl Acked {
    fn count(&mut self, bytes: u16) {
        self.segments += 1;
        self.bytes += u64::from(bytes);
    }

    fn sent_once(&mut self, sent: Instant) {
        let (first, last) = self.once.unwrap_or((sent, sent));
        self.once = Some((first.min(sent), last.max(sent)));
    }
}

impl Scoreboard {
    /// Processes an ACK. `min_rtt`: what arrived sooner after a retransmission was the segment's first
    /// transmission. `None` if it acknowledges segments that were never sent (RFC 9293 §3.10.7.4).
    pub fn acknowledge(&mut self, now: Instant, heard: &Heard, min_rtt: Option<Duration>) -> Option<Acked> {
        if heard.next > self.end() {
            return None;
        }
        let mut acked = Acked::default();
        while self.first < heard.next {
            self.take_first(now, heard.echo, &mut acked);
        }
        for (from, until) in heard.sacks.blocks(heard.next) {
            self.take_block(now, (from, until), min_rtt, &mut acked);
        }
        if acked.advanced {
            self.advance();
        }
        Some(acked)
    }

    /// Removes the first segment, which has arrived.
    fn take_first(&mut self, now: Instant, echo: Instant, acked: &mut Acked) {
        let Some(slot) = self.slots.pop_front() else {
            return;
        };
        let number = self.first;
        self.first += 1;
        self.bytes -= u64::from(slot.bytes);
        acked.in_order += u64::from(slot.bytes);
        acked.advanced = true;
        match slot.state {
            State::Arrived => {
                self.arrived -= 1;
                return;
            }
            State::Out => self.in_flight -= 1,
            State::Lost => self.lost -= 1,
        }
        acked.count(slot.bytes);
        if !slot.retransmission {
            acked.sent_once(slot.sent);
        }
        let is_last = !slot.retransmission || echo >= slot.sent;
        let overtaken = number < self.furthest;
        let mut segment = slot.last(number);
        segment.retransmission &= is_last;
        self.rack.arrive(now, segment, is_last, overtaken);
        self.furthest = self.furthest.max(number + 1);
    }

    /// Marks the segments of a SACK block as arrived.
    fn take_block(
        &mut self,
        now: Instant,
        (from, until): (u64, u64),
        min_rtt: Option<Duration>,
        acked: &mut Acked,
    ) {
        let furthest = self.furthest;
        for number in from.max(self.first)..until.min(self.end()) {
            let slot = &mut self.slots[(number - self.first) as usize];
            match slot.state {
                State::Arrived => continue,
                State::Out => self.in_flight -= 1,
                State::Lost => self.lost -= 1,
            }
            slot.state = State::Arrived;
            self.arrived += 1;
            acked.count(slot.bytes);
            if !slot.retransmission && !acked.advanced {
                acked.sent_once(slot.sent);
            }
            let soon = min_rtt.is_some_and(|rtt| now - slot.sent < rtt);
            let is_last = !(slot.retransmission && soon);
            let mut segment = slot.last(number);
            segment.retransmission &= is_last;
            self.rack.arrive(now, segment, is_last, number < furthest);
            self.furthest = self.furthest.max(number + 1);
        }
    }
}
