//! Whether slow start is still finding what the links carry, and what the peer may send ahead meanwhile.
//!
//! Once the links' rates are known the window follows from them. Until then it must not be what keeps them
//! from showing: in a round trip slow start makes twice of what is under way. But whatever it is given beyond
//! that it lays before a link whose queue it then overflows, and what is lost there is missed for a round
//! trip through the full queue.
//!
//! # Sources
//! - RFC 5681 §3.1: slow start adds a segment for each that is acknowledged.
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`: in its startup bbr may have 2.89 products under way, whatever is lost.
//!
//! # Where we differ, and why
//! 1. Half of what is under way beside the usual window is enough, since it is looked at ten times in a tenth
//!    of a second: twice the usual window, which on links of unlike round trips is four times what is under
//!    way, gave a sender without congestion marks more than any queue holds (30 of 30 starts with bbr on
//!    `window-equal` had a gap of over 100 ms).
//! 2. What the links have brought in their last round trip counts, not only the mean of 300 ms: that is a
//!    quarter of it while it doubles every 50 ms.
//! 3. Links begin one after the other, and one that has overflowed its short queue hides that the next still
//!    grows: over cables nothing is over before ten round trips with all of them, or a second and a half
//!    after the beginning.
//! 4. A slow link that joins can make all wait for it in those moments, so that nothing grows: that is no end
//!    of slow start.
//!
//! # Checked by
//! `window::tests`; `window-…` in the benchmarks, by the first five seconds and by the longest gap of
//! `window-never-worse`.

use super::trial::Factor;
use super::{EVERY_READING, Need};
use units::{Bitrate, Bytes, Duration, Instant};

/// Slow start goes on while what the links bring has become more by this within [`STILL`].
const GROWN_PERCENT: u64 = 125;
/// How long it may stand still: so many of the longest round trips, or that.
const STILL: (u32, Duration) = (3, Duration::from_millis(50));
/// Over cables slow start may stand still for as long as this many of the longest round trips after a link
/// has joined: from ten segments to what it carries.
const ROUNDS_TO_GROW: u32 = 10;
/// While half of the window waits for earlier bytes no standstill is the links', nor while one that has
/// joined over a cable is young; but not for longer than this from the beginning.
const EXCUSED_FOR: Duration = Duration::from_millis(1_500);

/// Whether slow start is still finding what the links carry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Growth {
    stage: Stage,
    /// How many links were in use at the last look, and when that became more.
    links: usize,
    joined: Instant,
    /// The first look, and the last.
    began: Option<Instant>,
    looked: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
enum Stage {
    #[default]
    Unseen,
    /// They brought this much, for the first time then.
    Seen { rate: Bitrate, since: Instant },
    /// It was found once: links that join later have the others' window to grow in.
    Found,
}

impl Growth {
    /// The links are looked at, whatever comes of it.
    pub(super) fn looks(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        self.looked = now;
    }

    /// `age`: since the connection's first look; `waits`: whether half of the window waits for earlier bytes.
    pub(super) fn goes_on(&mut self, now: Instant, need: Need, age: Duration, waits: bool) -> bool {
        if need.links > self.links {
            self.joined = now;
        }
        self.links = need.links;
        let young = need.wired && now - self.joined < need.rtt * ROUNDS_TO_GROW;
        self.stage.look(now, need, age < EXCUSED_FOR && (waits || young));
        !need.sinking && !self.is_over()
    }

    /// Whether it is worth a look between those that come anyhow, as it is while links lose (`loses`). Of who
    /// receives next to nothing in the beginning nothing will grow soon.
    pub(super) fn is_due(&self, now: Instant, loses: bool) -> bool {
        let seen = !matches!(self.stage, Stage::Unseen);
        let goes_on = seen || self.began.is_none_or(|began| now - began < EXCUSED_FOR);
        (loses || (goes_on && !self.is_over())) && now - self.looked >= EVERY_READING
    }

    const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Found)
    }
}

impl Stage {
    /// `excused`: a standstill is the window's, not the links'.
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
    /// The usual window for what comes now, and half of what is under way.
    pub(super) fn growing_target(self, factor: Factor) -> Bytes {
        let rate = self.rate.max(self.brings);
        Self { rate, ..self }.target(factor) + self.under_way / 2
    }
}
