//! Active queue management from the client's end: how many of a link's packets are to be marked so that no
//! long queue stands before it.
//!
//! A sender that fills a link fills its queue, too; a deep one then delays whatever else goes that way, and
//! holds what has to be sent again when another link dies. Routers that mark before a queue is long are rare.
//! But the receiver sees the delay as well, and a mark made here reaches the sender as one made there would:
//! on the acknowledgement. What this host itself sends is marked as it leaves.
//!
//! # Sources
//! - RFC 8289 (CoDel) §3: a queue is bad when even its least delay stays over a target for an interval of a
//!   round trip; bursts are not.
//! - RFC 3168 §6.1.2: a sender answers to marks as to a loss, once in a round trip; the packet has arrived.
//!
//! # Where we differ, and why
//! 1. The target is a part of the base round trip, not 5 ms for all: a window that is halved keeps a link
//!    busy only if a whole base round trip of queue stood before it at that moment. There is one sender here,
//!    not the many whose halvings even out. With three quarters the link idles for a hundredth of the time.
//! 2. One mark for each subflow, and then none until it has shown what it does, three round trips later.
//!    Marks that went on until the queue was gone halved windows two and three times, and links of 20 to 100
//!    ms carried 4 to 8 % less; so did PI² (RFC 9332, appendix A).
//! 3. In slow start a quarter of the base round trip is enough, at once and once for each subflow: until the
//!    mark is answered the congestion window is twice what fills the link, and halved it still fills it.
//!    Waiting for the queue to stand, as later, is waiting until it overflows, and what is lost then is
//!    missed for a round trip through the full queue. The marks of one round trip count as one. (RFC 9406,
//!    HyStart++, leaves slow start by the same sign, at an eighth; few senders do.)
//! 4. What is measured is a round trip, of which the way back is part; both queues are of the user's own
//!    making.
//! 5. A quick link beside a slow one has no longer queue either, though what comes over it waits for the slow
//!    one anyhow: when it dies, all that stood before it goes over the slow one.
//!
//! # Checked by
//! `tests`, against a model of a sender and a link; `window-long` in the benchmarks.

#[cfg(test)]
mod tests;

use crate::io::SubflowId;
use crate::window::EVERY_READING;
use units::{Duration, Instant, Ratio};

/// Between two looks.
pub(crate) const EVERY: Duration = Duration::from_millis(50);
/// The queue that may stand: these percent of the base round trip, within these bounds.
const TARGET_PERCENT: u32 = 75;
const LEAST_TARGET: Duration = Duration::from_millis(5);
const MOST_TARGET: Duration = Duration::from_millis(200);
/// What a mark does is seen after so many round trips: one until it is answered, one while the window
/// shrinks, one until that arrives.
const ROUNDS_TO_SEE: u32 = 3;
/// A queue of so many percent of the base round trip ends slow start.
const START_PERCENT: u32 = 25;
/// No more than one packet in so many is marked, however few there are.
const RAREST: u64 = 16;

/// What is known of a link and of those who use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// The least round trip ever seen.
    pub(crate) base: Duration,
    /// The round trip now.
    pub(crate) rtt: Duration,
    /// Segments that arrive in a second.
    pub(crate) segments: u64,
    /// Subflows that bring them.
    pub(crate) subflows: u64,
    /// The latest of them, if all may be in their slow starts.
    pub(crate) young: Option<SubflowId>,
    /// Whether it is this host's own: then it goes in bursts, with the acknowledgements that come.
    pub(crate) own: bool,
}

impl Load {
    /// What waits before the link, as time.
    pub(crate) const fn queue(self) -> Duration {
        self.rtt.saturating_sub(self.base)
    }

    /// What may wait there.
    pub(crate) fn target(self) -> Duration {
        part(self.base, TARGET_PERCENT)
    }

    /// As many as come in this time.
    fn in_time(self, time: Duration) -> u64 {
        self.segments.saturating_mul(time.as_millis() as u64) / 1_000
    }
}

/// Whether a round trip shows that a slow start begins to fill a queue; `base` is the least one.
pub(crate) fn begins_to_fill(base: Duration, rtt: Duration) -> bool {
    rtt.saturating_sub(base) >= part(base, START_PERCENT)
}

fn part(base: Duration, percent: u32) -> Duration {
    (base * percent / 100).clamp(LEAST_TARGET, MOST_TARGET)
}

/// The queue before one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Queue {
    /// Since when more stands there than may.
    long: Option<Instant>,
    /// What is marked now, and until when.
    dose: Ratio,
    until: Instant,
    /// Until when the last mark has not shown what it does.
    rests: Instant,
    /// The latest subflow whose slow start a mark has ended.
    ended: Option<SubflowId>,
}

impl Queue {
    /// It may stand as long as it likes, or nothing is known of it.
    pub(crate) const fn ignore(&mut self) {
        (self.long, self.dose) = (None, Ratio::ZERO);
    }

    /// The share of what arrives that is to be marked until the next look.
    pub(crate) fn look(&mut self, now: Instant, load: Load) -> Ratio {
        if now < self.until {
            return self.dose;
        }
        if now >= self.rests && self.overflows_soon(load) {
            return self.end_start(now, load);
        }
        if load.queue() < load.target() {
            self.long = None;
            return Ratio::ZERO;
        }
        let since = *self.long.get_or_insert(now);
        if now - since < load.base || now < self.rests {
            return Ratio::ZERO;
        }
        let one_each = Ratio::from_fraction(
            load.subflows,
            load.in_time(EVERY).max(RAREST.saturating_mul(load.subflows)),
        );
        self.mark(now, load, one_each, EVERY)
    }

    fn overflows_soon(&self, load: Load) -> bool {
        load.young > self.ended && begins_to_fill(load.base, load.rtt)
    }

    /// A mark each, as soon as there are packets for it, and perhaps more in the same round trip.
    fn end_start(&mut self, now: Instant, load: Load) -> Ratio {
        self.ended = load.young;
        let packets = RAREST.saturating_mul(load.subflows);
        // Half as many more: what comes is a guess.
        let enough = packets.saturating_mul(1_500_000) / load.segments.max(1);
        let least = match load.own {
            true => load.base.clamp(EVERY_READING, EVERY),
            false => EVERY_READING,
        };
        let lasts = Duration::from_micros(enough).clamp(least, EVERY);
        self.mark(now, load, Ratio::from_fraction(1, RAREST), lasts)
    }

    fn mark(&mut self, now: Instant, load: Load, dose: Ratio, lasts: Duration) -> Ratio {
        (self.dose, self.until) = (dose, now + lasts);
        self.rests = self.until + load.rtt * ROUNDS_TO_SEE;
        dose
    }
}
