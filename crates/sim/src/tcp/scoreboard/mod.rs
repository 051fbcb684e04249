//! What a sender knows of each of its segments.
//!
//! # Sources
//! - RFC 6675 §2 and §4 (the scoreboard, `pipe`); what is lost is decided in `loss.rs`.
//!
//! # Where we differ, and why
//! 1. An acknowledgement tells which transmission has arrived, so RACK needs no guess about those that were sent twice, and every hole is known (as many
//!    SACK blocks as there are).
//!
//! # Checked by
//! `tests` beside it.

mod loss;
#[cfg(test)]
mod tests;

use loss::Rack;
use std::collections::VecDeque;
use units::Instant;

/// One transmission of a segment. In the order of time, and of numbers where times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// When it was sent.
    pub sent: Instant,
    /// Which segment it is, counted from 0.
    pub number: u64,
    /// It had been sent before.
    pub retransmission: bool,
}

/// What an arrival is to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// News of its segment.
    New,
    /// The segment had arrived before.
    Duplicate,
    /// No such segment was ever sent: to be ignored (RFC 9293 §3.10.7.4).
    NeverSent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    Arrived,
    Lost,
}

/// A segment, and its last transmission.
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
    /// Behind the first.
    arrived: u32,
    /// The next of all that have arrived.
    furthest: u64,
    rack: Rack,
}

impl Scoreboard {
    /// The first segment that is not acknowledged (`SND.UNA`).
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The first that was never sent (`SND.NXT`).
    pub fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// How many have been sent, and neither have arrived nor are taken to be lost (`pipe`).
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Nothing has arrived out of order, and nothing is lost.
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

    /// Sends the first lost one once more, if one is lost.
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

    /// A transmission has arrived.
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

    /// What has arrived up to the first hole is done with.
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

    /// Something that was sent again since then has not arrived.
    pub fn waits_for_repair(&self, since: Instant) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.state == State::Out && slot.last.retransmission && slot.last.sent >= since)
    }
}
