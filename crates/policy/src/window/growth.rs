//! Whether slow start is still finding the links' rates, and the window meanwhile.
//!
//! Once the links' rates are known, the window follows from them. Until then it must not limit the rates:
//! slow start doubles what is in flight in each round trip. But slow start uses any window beyond that to
//! overflow a link's queue. Lost bytes are then missing for a round trip through the full queue.
//!
//! # Sources
//! - RFC 5681 §3.1: slow start adds a segment for each one that is acknowledged.
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`: in its startup, bbr may have 2.89 products in flight, whatever is
//!   lost.
//!
//! # Where we differ, and why
//! 1. Half of what is in flight beside the usual window is enough, since it is updated ten times in a tenth
//!    of a second. Twice the usual window is four times what is in flight on links of unequal round trips. It
//!    gave a sender without congestion marks more than any queue holds (30 of 30 starts with bbr on
//!    `window-equal` had a gap of over 100 ms).
//! 2. The rate of the last round trip counts, not only the mean of 300 ms. That mean is a quarter of it while
//!    the rate doubles every 50 ms.
//! 3. Links start one after the other, and one that has overflowed its short queue hides that the next still
//!    grows. So over cables slow start is not over before ten round trips with all links, or a second and a
//!    half after the start.
//! 4. A slow link that joins may block all others in those moments, so that nothing grows. That does not end
//!    slow start.
//!
//! # Checked by
//! `window::tests`; `window-…` in the benchmarks, by the first five seconds and by the longest gap of
//! `window-never-worse`.

use super::Need;
use super::tuning::{EVERY_READING, EXCUSED_FOR, GROWN_PERCENT, ROUNDS_TO_GROW, STILL, USUAL};
use units::{Bitrate, Bytes, Duration, Instant};

/// Whether slow start is still finding the links' rates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Growth {
    stage: Stage,
    /// The number of links in use at the last tick, and when it last rose.
    links: usize,
    joined: Instant,
    /// The first tick, and the last.
    began: Option<Instant>,
    looked: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
enum Stage {
    #[default]
    Unseen,
    /// The links reached this rate for the first time then.
    Seen { rate: Bitrate, since: Instant },
    /// It was found once. Links that join later grow within the others' window.
    Found,
}

impl Growth {
    /// Records a tick of the links.
    pub(super) fn looks(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        self.looked = now;
    }

    /// `age`: time since the connection's first tick. `waits`: whether half of the window is out-of-order
    /// data.
    pub(super) fn may_grow(&mut self, now: Instant, need: Need, age: Duration, waits: bool) -> bool {
        if need.links > self.links {
            self.joined = now;
        }
        self.links = need.links;
        let young = need.wired && now - self.joined < need.rtt * ROUNDS_TO_GROW;
        self.stage.look(now, need, age < EXCUSED_FOR && (waits || young));
        !need.sinking && !self.is_over()
    }

    /// Whether an extra tick between the regular ones is worthwhile, as it is while links lose (`loses`). A
    /// connection that receives next to nothing at the start will not grow soon.
    pub(super) fn is_due(&self, now: Instant, loses: bool) -> bool {
        let seen = !matches!(self.stage, Stage::Unseen);
        let may_begin = seen || self.began.is_none_or(|began| now - began < EXCUSED_FOR);
        (loses || (may_begin && !self.is_over())) && now - self.looked >= EVERY_READING
    }

    const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Found)
    }
}

impl Stage {
    /// `excused`: the window causes the standstill, not the links.
    fn look(&mut self, now: Instant, need: Need, excused: bool) {
        let (rate, since) = match *self {
            Self::Found => return,
            Self::Unseen => (Bitrate::ZERO, now),
            Self::Seen { rate, since } => (rate, since),
        };
        let grown = need.rate >= rate.percent(GROWN_PERCENT);
        if grown || excused {
            let rate = if grown { need.rate } else { rate };
            *self = Self::Seen { rate, since: now };
        } else if now - since >= (need.rtt * STILL.0).max(STILL.1) {
            *self = Self::Found;
        }
    }
}

impl Need {
    /// The usual window for the present rate, and half of what is in flight.
    pub(super) fn growing_target(self) -> Bytes {
        let rate = self.rate.max(self.goodput);
        Self { rate, ..self }.target(USUAL) + self.under_way / 2
    }
}
