//! What a sender knows of each of its segments, and when it takes one to be lost.
//!
//! # Sources
//! - RFC 8985 §6 (RACK), with the reordering window of Linux 6.18 (`net/ipv4/tcp_recovery.c`).
//! - RFC 6675 §4 (a segment is lost once three behind it have arrived).
//!
//! # Where we differ, and why
//! 1. An acknowledgement tells which transmission has arrived, so RACK needs no guess about those that were sent twice.

use std::collections::VecDeque;
use units::{Duration, Instant};

/// So many segments behind it say that one is lost.
const DUPLICATES: usize = 3;
/// The part of the shortest round trip that the reordering window grows by.
const WINDOW_PART: u32 = 4;
/// Linux: recoveries without a duplicate until the reordering window is as at first.
const FORGETS_AFTER: u32 = 16;

/// One transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    pub sent: Instant,
    pub number: u64,
    pub again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Out,
    Arrived,
    Lost,
}

#[derive(Clone, Copy)]
struct Slot {
    state: State,
    last: Segment,
}

/// What RACK knows of time.
struct Rack {
    /// Of those that have arrived, the one sent last.
    newest: Option<Segment>,
    /// Its round trip.
    rtt: Duration,
    /// Something has arrived that others, sent later, were before.
    reordered: bool,
    /// The window, in parts of the shortest round trip.
    steps: u32,
    /// Until then it has grown.
    grown_to: u64,
    recoveries: u32,
}

/// From the first segment that has not arrived to the last that was sent.
pub struct Board {
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

impl Board {
    pub fn new() -> Self {
        Self {
            first: 0,
            slots: VecDeque::new(),
            in_flight: 0,
            lost: 0,
            arrived: 0,
            furthest: 0,
            rack: Rack {
                newest: None,
                rtt: Duration::ZERO,
                reordered: false,
                steps: 1,
                grown_to: 0,
                recoveries: 0,
            },
        }
    }

    /// The first segment that is not acknowledged.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The first that was never sent.
    pub fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Nothing has arrived out of order, and nothing is lost.
    pub const fn in_order(&self) -> bool {
        self.arrived == 0 && self.lost == 0
    }

    pub const fn seen_reordering(&self) -> bool {
        self.rack.reordered
    }

    pub fn send_new(&mut self, now: Instant) -> Segment {
        let last = Segment {
            sent: now,
            number: self.end(),
            again: false,
        };
        self.slots.push_back(Slot {
            state: State::Out,
            last,
        });
        self.in_flight += 1;
        last
    }

    /// The first lost one, once more.
    pub fn send_lost(&mut self, now: Instant) -> Option<Segment> {
        if self.lost == 0 {
            return None;
        }
        let slot = self.slots.iter_mut().find(|slot| slot.state == State::Lost)?;
        slot.state = State::Out;
        slot.last.sent = now;
        slot.last.again = true;
        self.lost -= 1;
        self.in_flight += 1;
        Some(slot.last)
    }

    /// A transmission has arrived; whether that is news of its segment.
    pub fn arrive(&mut self, now: Instant, segment: Segment) -> bool {
        let at = segment.number.checked_sub(self.first);
        let Some(slot) = at.and_then(|at| self.slots.get_mut(at as usize)) else {
            return false;
        };
        match slot.state {
            State::Arrived => return false,
            State::Out => self.in_flight -= 1,
            State::Lost => self.lost -= 1,
        }
        slot.state = State::Arrived;
        let is_last = slot.last == segment;
        // What was sent first and arrives after others, or after it was sent again, was late.
        self.rack.reordered |= !segment.again && (segment.number < self.furthest || !is_last);
        if is_last && self.rack.newest.is_none_or(|newest| newest < segment) {
            self.rack.newest = Some(segment);
            self.rack.rtt = now - segment.sent;
        }
        self.arrived += 1;
        self.furthest = self.furthest.max(segment.number + 1);
        while self
            .slots
            .front()
            .is_some_and(|slot| slot.state == State::Arrived)
        {
            self.slots.pop_front();
            self.first += 1;
            self.arrived -= 1;
        }
        true
    }

    /// A segment has arrived twice: once in a round trip the reordering window grows by a step.
    pub fn arrived_twice(&mut self) {
        if self.first >= self.rack.grown_to {
            self.rack.steps = (self.rack.steps + 1).min(255);
            self.rack.grown_to = self.end();
            self.rack.recoveries = 0;
        }
    }

    /// A recovery is over.
    pub const fn recovered(&mut self) {
        self.rack.recoveries += 1;
        if self.rack.recoveries >= FORGETS_AFTER {
            self.rack.steps = 1;
        }
    }

    /// How much later than others a segment may come before it is lost. `at_once`: the sender already repairs a loss.
    pub fn reordering_window(&self, at_once: bool, min_rtt: Option<Duration>, srtt: Duration) -> Duration {
        if !self.rack.reordered && (at_once || self.arrived as usize >= DUPLICATES) {
            return Duration::ZERO;
        }
        let steps = min_rtt.map_or(srtt, |rtt| rtt / WINDOW_PART * self.rack.steps);
        steps.min(srtt)
    }

    /// RACK: marks as lost what was sent before something that has arrived, longer ago than a round trip and the window; how many, and when
    /// to look again at those that are not yet so old.
    pub fn mark_late(&mut self, now: Instant, window: Duration) -> (u32, Option<Instant>) {
        let Some(newest) = self.rack.newest else {
            return (0, None);
        };
        if self.arrived == 0 && !newest.again && newest.number < self.first {
            return (0, None);
        }
        let allowed = self.rack.rtt + window;
        let (mut marked, mut again) = (0, None);
        let earlier = |slot: &&mut Slot| slot.state == State::Out && slot.last < newest;
        for slot in self.slots.iter_mut().filter(earlier) {
            let due = slot.last.sent + allowed;
            if now >= due {
                slot.state = State::Lost;
                marked += 1;
            } else {
                again = again.max(Some(due));
            }
        }
        self.lost += marked;
        self.in_flight -= marked;
        (marked, again)
    }

    /// Marks as lost what was sent once, and three behind it have arrived; how many.
    pub fn mark_behind(&mut self) -> u32 {
        if (self.arrived as usize) < DUPLICATES {
            return 0;
        }
        let (mut behind, mut marked) = (0, 0);
        for slot in self.slots.iter_mut().rev() {
            if slot.state == State::Arrived {
                behind += 1;
            } else if slot.state == State::Out && !slot.last.again && behind >= DUPLICATES {
                slot.state = State::Lost;
                marked += 1;
            }
        }
        self.lost += marked;
        self.in_flight -= marked;
        marked
    }

    /// A time-out: all is lost, but with RACK what was sent less than a round trip ago, unless it is the first.
    pub fn mark_all(&mut self, now: Instant, rack: bool) {
        let recent = now - self.rack.rtt;
        let first = self.first;
        let gone = |slot: &&mut Slot| {
            let lost = !rack || slot.last.number == first || slot.last.sent <= recent;
            slot.state == State::Out && lost
        };
        for slot in self.slots.iter_mut().filter(gone) {
            slot.state = State::Lost;
            self.lost += 1;
            self.in_flight -= 1;
        }
    }

    /// None of those that are marked is lost after all.
    pub fn unmark(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.state == State::Lost) {
            slot.state = State::Out;
        }
        self.in_flight += self.lost;
        self.lost = 0;
    }

    /// Something that was sent again since then has not arrived.
    pub fn waits_for_repair(&self, since: Instant) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.state == State::Out && slot.last.again && slot.last.sent >= since)
    }
}
