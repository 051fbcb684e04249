//! State of each segment at the sender.
//!
//! # Sources
//! - RFC 6675 §2 and §4 (the scoreboard, `pipe`). `loss.rs` decides what is lost.
//!
//! # Where we differ, and why
//! 1. An ACK tells which transmission has arrived, so RACK needs no guess about retransmitted segments. Every
//!    hole is known (as many SACK blocks as there are).
//!
//! # Checked by
//! The `tests` beside it.

mod loss;
#[cfg(test)]
mod tests;

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

/// A segment and its last transmission.
#[derive(Debug, Clone, Copy)]
struct Slot {
    state: State,
    last: Segment,
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

    /// Sends the next new segment.
    pub fn send_new(&mut self, now: Instant) -> Segment {
        let last = Segment {
            sent: now,
            number: self.end(),
            retransmission: false,
        };
        self.slots.push_back(Slot {
            state: State::Out,
            last,
        });
        self.in_flight += 1;
        last
    }

    /// Retransmits the first lost segment, if there is one.
    pub fn send_lost(&mut self, now: Instant) -> Option<Segment> {
        if self.lost == 0 {
            return None;
        }
        let slot = self.slots.iter_mut().find(|slot| slot.state == State::Lost)?;
        slot.state = State::Out;
        slot.last.sent = now;
        slot.last.retransmission = true;
        self.lost -= 1;
        self.in_flight += 1;
        Some(slot.last)
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
        let is_last = slot.last == segment;
        let overtaken = segment.number < self.furthest;
        self.rack.arrive(now, segment, is_last, overtaken);
        self.arrived += 1;
        self.furthest = self.furthest.max(segment.number + 1);
        self.advance();
        Arrival::New
    }

    /// Removes the arrived segments up to the first hole.
    fn advance(&mut self) {
        while self
            .slots
            .front()
            .is_some_and(|slot| slot.state == State::Arrived)
        {
            self.slots.pop_front();
            self.first += 1;
            self.arrived -= 1;
        }
    }

    /// Whether a retransmission sent at or after `since` has not arrived.
    pub fn waits_for_repair(&self, since: Instant) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.state == State::Out && slot.last.retransmission && slot.last.sent >= since)
    }
}
