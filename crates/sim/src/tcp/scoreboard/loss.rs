//! When a segment is taken to be lost.
//!
//! # Sources
//! - RFC 8985 §6 (RACK), with the reordering window of Linux 6.18 (`net/ipv4/tcp_recovery.c`).
//! - RFC 6675 §4 (a segment is lost once three behind it have arrived).

use super::{Scoreboard, Segment, Slot, State};
use units::{Duration, Instant};

/// So many segments behind it say that one is lost (`DupThresh`).
const DUPLICATES: u32 = 3;
/// The part of the shortest round trip that the reordering window grows by.
const WINDOW_PART: u32 = 4;
/// Linux: so many steps at most.
const MOST_STEPS: u32 = 255;
/// Linux: recoveries without a duplicate until the reordering window is as at first.
const FORGETS_AFTER: u32 = 16;

/// What RACK knows of time.
#[derive(Debug, Clone)]
pub(super) struct Rack {
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

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            reordered: false,
            steps: 1,
            grown_to: 0,
            recoveries: 0,
        }
    }
}

impl Rack {
    /// News of a segment; `is_last`: of its last transmission; `overtaken`: one behind it has arrived before.
    pub(super) fn arrive(&mut self, now: Instant, segment: Segment, is_last: bool, overtaken: bool) {
        // What was sent first and arrives after others, or after it was sent again, was late.
        self.reordered |= !segment.retransmission && (overtaken || !is_last);
        if is_last && self.newest.is_none_or(|newest| newest < segment) {
            self.newest = Some(segment);
            self.rtt = now - segment.sent;
        }
    }
}

impl Scoreboard {
    /// Whether segments have overtaken each other.
    pub const fn seen_reordering(&self) -> bool {
        self.rack.reordered
    }

    /// A segment has arrived twice: once in a round trip the reordering window grows by a step.
    pub fn arrived_twice(&mut self) {
        if self.first >= self.rack.grown_to {
            self.rack.steps = (self.rack.steps + 1).min(MOST_STEPS);
            self.rack.grown_to = self.end();
            self.rack.recoveries = 0;
        }
    }

    /// A recovery is over.
    pub const fn recovered(&mut self) {
        self.rack.recoveries = self.rack.recoveries.saturating_add(1);
        if self.rack.recoveries >= FORGETS_AFTER {
            self.rack.steps = 1;
        }
    }

    /// How much later than others a segment may come before it is lost. `repairs`: the sender already repairs a loss.
    pub fn reordering_window(&self, repairs: bool, min_rtt: Option<Duration>, srtt: Duration) -> Duration {
        if !self.rack.reordered && (repairs || self.arrived >= DUPLICATES) {
            return Duration::ZERO;
        }
        let steps = min_rtt.map_or(srtt, |rtt| (rtt / WINDOW_PART).saturating_mul(self.rack.steps));
        steps.min(srtt)
    }

    /// RACK: marks as lost what was sent before something that has arrived, longer ago than a round trip and the window; how many, and when
    /// to look again at those that are not yet so old.
    pub fn mark_late(&mut self, now: Instant, window: Duration) -> (u32, Option<Instant>) {
        let Some(newest) = self.rack.newest else {
            return (0, None);
        };
        if self.arrived == 0 && !newest.retransmission && newest.number < self.first {
            return (0, None);
        }
        let allowed = self.rack.rtt.saturating_add(window);
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
        self.mark(marked);
        (marked, again)
    }

    /// Marks as lost what was sent once, and three behind it have arrived; how many.
    pub fn mark_behind(&mut self) -> u32 {
        if self.arrived < DUPLICATES {
            return 0;
        }
        let (mut behind, mut marked) = (0, 0);
        for slot in self.slots.iter_mut().rev() {
            if slot.state == State::Arrived {
                behind += 1;
            } else if slot.state == State::Out && !slot.last.retransmission && behind >= DUPLICATES {
                slot.state = State::Lost;
                marked += 1;
            }
        }
        self.mark(marked);
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
        let mut marked = 0;
        for slot in self.slots.iter_mut().filter(gone) {
            slot.state = State::Lost;
            marked += 1;
        }
        self.mark(marked);
    }

    /// None of those that are marked is lost after all.
    pub fn unmark(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.state == State::Lost) {
            slot.state = State::Out;
        }
        self.in_flight += self.lost;
        self.lost = 0;
    }

    /// So many that were in flight are lost.
    const fn mark(&mut self, marked: u32) {
        self.lost += marked;
        self.in_flight -= marked;
    }
}
