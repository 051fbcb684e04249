//! State of each segment at the sender.
//!
//! # Sources
//! - RFC 6675 §2 and §4 (the scoreboard, `pipe`). `loss.rs` decides what is lost.
//!
//! # Where we differ, and why
//! 1. [`Scoreboard::arrive`] knows which transmission has arrived, and every hole.
//!    [`Scoreboard::acknowledge`] has what an ACK says: a cumulative number, SACK blocks, and the echoed
//!    timestamp.
//!
//! # Checked by
//! The `tests` beside it.

mod acks;
mod loss;
#[cfg(test)]
mod tests;

pub use acks::{Acked, Heard};
use loss::Rack;
use std::collections::VecDeque;
use units::Instant;

/// One transmission of a segment. Ordered by time, then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// Time of transmission.
    pub sent: Instant,
    /// Number of the segment, counted from 0.
    pub number: u64,
    /// Whether this is a retransmission.
    pub retransmission: bool,
}

/// What a segment carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Payload {
    /// Number of its first byte in the data of the connection.
    pub data: u64,
    /// Its length. 0 only with FIN.
    pub bytes: u16,
    /// Whether the sender's data ends with it.
    pub fin: bool,
}

/// Effect of an arrival at the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// First arrival of the segment.
    New,
    /// The segment had arrived before.
    Duplicate,
    /// No such segment was ever sent. It must be ignored (RFC 9293 §3.10.7.4).
    NeverSent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    Arrived,
    Lost,
}

/// A segment and its last transmission. There is one for each segment in flight, so it is kept small.
#[derive(Debug, Clone, Copy)]
struct Slot {
    sent: Instant,
    data: u64,
    bytes: u16,
    state: State,
    retransmission: bool,
    fin: bool,
}

impl Slot {
    const fn last(&self, number: u64) -> Segment {
        Segment {
            sent: self.sent,
            number,
            retransmission: self.retransmission,
        }
    }

    const fn payload(&self) -> Payload {
        Payload {
            data: self.data,
            bytes: self.bytes,
            fin: self.fin,
        }
    }
}

/// The segments from the first that has not arrived to the last that was sent.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    first: u64,
    slots: VecDeque<Slot>,
    in_flight: u32,
    lost: u32,
    /// Number of arrived segments behind the first.
    arrived: u32,
    /// Number behind the highest segment that has arrived.
    furthest: u64,
    /// Bytes of all slots.
    bytes: u64,
    /// No slot before this number is lost.
    lost_from: u64,
    rack: Rack,
}

impl Scoreboard {
    /// First unacknowledged segment (`SND.UNA`).
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Next segment to be sent for the first time (`SND.NXT`).
    pub fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Number of segments sent that have neither arrived nor are considered lost (`pipe`).
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether nothing has arrived out of order and nothing is lost.
    pub const fn in_order(&self) -> bool {
        self.arrived == 0 && self.lost == 0
    }

    /// Bytes sent that are not acknowledged in order.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sends the next new segment.
    pub fn send_new(&mut self, now: Instant, payload: Payload) -> Segment {
        let number = self.end();
        let slot = Slot {
            sent: now,
            data: payload.data,
            bytes: payload.bytes,
            state: State::Out,
            retransmission: false,
            fin: payload.fin,
        };
        self.bytes += u64::from(payload.bytes);
        self.slots.push_back(slot);
        self.in_flight += 1;
        slot.last(number)
    }

    /// Retransmits the first lost segment, if there is one.
    pub fn send_lost(&mut self, now: Instant) -> Option<(Segment, Payload)> {
        if self.lost == 0 {
            return None;
        }
        let from = self.lost_from.saturating_sub(self.first) as usize;
        let mut behind = self.slots.iter().skip(from);
        let at = from + behind.position(|slot| slot.state == State::Lost)?;
        let number = self.first + at as u64;
        let slot = &mut self.slots[at];
        slot.state = State::Out;
        slot.sent = now;
        slot.retransmission = true;
        self.lost -= 1;
        self.in_flight += 1;
        self.lost_from = number + 1;
        Some((slot.last(number), slot.payload()))
    }

    /// Retransmits the last segment, whether it is lost or not, as a probe.
    pub fn send_last_again(&mut self, now: Instant) -> Option<(Segment, Payload)> {
        let number = self.end().checked_sub(1)?;
        let slot = self
            .slots
            .back_mut()
            .filter(|slot| slot.state != State::Arrived)?;
        if slot.state == State::Lost {
            self.lost -= 1;
            self.in_flight += 1;
        }
        slot.state = State::Out;
        slot.sent = now;
        slot.retransmission = true;
        Some((slot.last(number), slot.payload()))
    }

    /// What the segments carry that have not arrived, in order. The kernel reinjects these on another
    /// subflow.
    pub fn waiting(&self) -> impl Iterator<Item = Payload> {
        let out = self.slots.iter().filter(|slot| slot.state != State::Arrived);
        out.map(Slot::payload)
    }

    /// Processes the arrival of a transmission.
    pub fn arrive(&mut self, now: Instant, segment: Segment) -> Arrival {
        if segment.number >= self.end() {
            return Arrival::NeverSent;
        }
        let at = segment.number.checked_sub(self.first);
        let Some(slot) = at.and_then(|at| self.slots.get_mut(at as usize)) else {
            return Arrival::Duplicate;
        };
        match slot.state {
            State::Arrived => return Arrival::Duplicate,
            State::Out => self.in_flight -= 1,
            State::Lost => self.lost -= 1,
        }
        slot.state = State::Arrived;
        let is_last = slot.last(segment.number) == segment;
        let overtaken = segment.number < self.furthest;
        self.rack.arrive(now, segment, is_last, overtaken);
        self.arrived += 1;
        self.furthest = self.furthest.max(segment.number + 1);
        self.advance();
        Arrival::New
    }

    /// Removes the arrived segments up to the first hole.
    fn advance(&mut self) {
        while let Some(slot) = self.slots.pop_front_if(|slot| slot.state == State::Arrived) {
            self.bytes -= u64::from(slot.bytes);
            self.first += 1;
            self.arrived -= 1;
        }
        self.release();
    }

    /// Frees the memory of a burst once everything has arrived: an idle connection takes little.
    fn release(&mut self) {
        if self.slots.is_empty() {
            self.slots = VecDeque::new();
        }
    }

    /// Whether a retransmission sent at or after `since` has not arrived.
    pub fn waits_for_repair(&self, since: Instant) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.state == State::Out && slot.retransmission && slot.sent >= since)
    }
}
