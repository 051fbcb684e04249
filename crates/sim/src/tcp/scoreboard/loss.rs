//! When a segment is considered lost.
//!
//! # Sources
//! - RFC 8985 §6 (RACK), with the reordering window of Linux 6.18 (`net/ipv4/tcp_recovery.c`).
//! - RFC 6675 §4 (a segment is lost once three segments behind it have arrived).

use super::{Scoreboard, Segment, State};
use units::{Duration, Instant};

/// Number of arrived segments behind a segment that make it lost (`DupThresh`).
const DUPLICATES: u32 = 3;
/// The reordering window grows in steps of the minimum RTT divided by this.
const WINDOW_PART: u32 = 4;
/// Maximum number of steps, as in Linux.
const MOST_STEPS: u32 = 255;
/// Number of recoveries without a duplicate after which the reordering window is reset, as in Linux.
const FORGETS_AFTER: u32 = 16;

/// State of RACK.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// The segment that was sent last, of those that have arrived.
    newest: Option<Segment>,
    /// RTT of that segment.
    rtt: Duration,
    /// Whether a segment has arrived after others that were sent later.
    reordered: bool,
    /// The reordering window, in steps.
    steps: u32,
    /// The window grows again only once the segments before this one are acknowledged.
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
    /// Updates the state with an arrival. `is_last`: of the segment's last transmission. `overtaken`: a
    /// segment behind it has arrived before it.
    pub(super) fn arrive(&mut self, now: Instant, segment: Segment, is_last: bool, overtaken: bool) {
        // A first transmission that arrives after later segments, or after its retransmission, was late.
        self.reordered |= !segment.retransmission && (overtaken || !is_last);
        if is_last && self.newest.is_none_or(|newest| newest < segment) {
            self.newest = Some(segment);
            self.rtt = now - segment.sent;
        }
    }
}

impl Scoreboard {
    /// Whether reordering was detected.
    pub const fn seen_reordering(&self) -> bool {
        self.rack.reordered
    }

    /// A segment has arrived twice: the reordering window grows by a step, at most once per RTT.
    pub fn arrived_twice(&mut self) {
        if self.first >= self.rack.grown_to {
            self.rack.steps = (self.rack.steps + 1).min(MOST_STEPS);
            self.rack.grown_to = self.end();
            self.rack.recoveries = 0;
        }
    }

    /// Counts a finished recovery.
    pub const fn recovered(&mut self) {
        self.rack.recoveries = self.rack.recoveries.saturating_add(1);
        if self.rack.recoveries >= FORGETS_AFTER {
            self.rack.steps = 1;
        }
    }

    /// How much later than others a segment may arrive before it is lost. `repairs`: the sender is already
    /// recovering.
    pub fn reordering_window(&self, repairs: bool, min_rtt: Option<Duration>, srtt: Duration) -> Duration {
        if !self.rack.reordered && (repairs || self.arrived >= DUPLICATES) {
            return Duration::ZERO;
        }
        let steps = min_rtt.map_or(srtt, |rtt| (rtt / WINDOW_PART).saturating_mul(self.rack.steps));
        steps.min(srtt)
    }

    /// Whether everything has arrived that was sent before the newest arrival: then nothing can be late.
    pub fn is_orderly(&self) -> bool {
        let before = |newest: Segment| !newest.retransmission && newest.number < self.first;
        self.arrived == 0 && self.rack.newest.is_none_or(before)
    }

    /// RACK: marks segments as lost that were sent before one that has arrived, more than an RTT plus the
    /// window ago. Returns their number, and when to check the others again.
    pub fn mark_late(&mut self, now: Instant, window: Duration) -> (u32, Option<Instant>) {
        let Some(newest) = self.rack.newest.filter(|_| !self.is_orderly()) else {
            return (0, None);
        };
        let allowed = self.rack.rtt.saturating_add(window);
        let (mut marked, mut again) = (0, None);
        for (number, slot) in (self.first..).zip(&mut self.slots) {
            if slot.state != State::Out || slot.last(number) >= newest {
                continue;
            }
            let due = slot.sent + allowed;
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

    /// Marks segments as lost that were sent once and have three arrived segments behind them. Returns their
    /// number.
    pub fn mark_behind(&mut self) -> u32 {
        if self.arrived < DUPLICATES {
            return 0;
        }
        let (mut behind, mut marked) = (0, 0);
        for slot in self.slots.iter_mut().rev() {
            if slot.state == State::Arrived {
                behind += 1;
            } else if slot.state == State::Out && !slot.retransmission && behind >= DUPLICATES {
                slot.state = State::Lost;
                marked += 1;
            }
        }
        self.mark(marked);
        marked
    }

    /// After a time-out: marks all segments as lost. With RACK, segments sent less than an RTT ago are kept,
    /// except the first.
    pub fn mark_all(&mut self, now: Instant, rack: bool) {
        let recent = now - self.rack.rtt;
        let mut marked = 0;
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let lost = !rack || at == 0 || slot.sent <= recent;
            if slot.state == State::Out && lost {
                slot.state = State::Lost;
                marked += 1;
            }
        }
        self.mark(marked);
    }

    /// Clears all loss marks.
    pub fn unmark(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.state == State::Lost) {
            slot.state = State::Out;
        }
        self.in_flight += self.lost;
        self.lost = 0;
    }

    /// Counts `marked` segments in flight as lost.
    const fn mark(&mut self, marked: u32) {
        self.lost += marked;
        self.in_flight -= marked;
        if marked > 0 {
            self.lost_from = self.first;
        }
    }
}
