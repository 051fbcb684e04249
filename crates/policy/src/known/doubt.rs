//! A doubt about a link: its probes, how long replies may take, and when their absence is proof.
//!
//! # Sources
//! - None of its own. [`crate::alive::silence`] says what makes a link doubtful and what replies prove.
//!
//! # Where we differ, and why
//! 1. Silence is what a poll has found, not the time since the last poll. The counters of many subflows are
//!    read every 100 ms at most, and a full link receives packets in between. So a verdict needs a poll of
//!    the link at or after its time. To lose no time, the world polls as soon as a doubt's time is over
//!    ([`crate::Engine::doubted`]).
//! 2. Time in which this host did not run does not count: data may have arrived unread. If it stopped for
//!    longer, every probe is sent again, as replies sent meanwhile may be lost.
//! 3. A silence that the sender's pauses explain is probed like any other. But it promotes no backup for
//!    10 s after such a promotion was needless ([`crate::choose::rank`]).
//!
//! # Checked by
//! `tests::looks`, `tests::loss`.

use super::tuning::{LEAST_PROBES, PROBE_EVERY, STOPPED};
use crate::io::ConnId;
use units::{Duration, Instant};

/// An open doubt about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// When the first probe was sent, delayed by any time in which this host did not run.
    pub(crate) since: Instant,
    /// How long the link had been silent by then.
    pub(crate) silence: Duration,
    /// The silence that the sender's usual pauses explain.
    usual: Duration,
    /// The connection whose peer is probed.
    pub(crate) conn: ConnId,
    /// Number of probes sent.
    pub(crate) probes: u32,
    /// When the next one is due.
    next_probe: Instant,
    /// How long they may stay unanswered.
    wait: Duration,
    /// When that time is over.
    verdict: Instant,
    /// When the link's counters were last polled.
    seen: Instant,
    /// The time is over, and only a poll is missing.
    overdue: bool,
}

impl Doubt {
    /// Opens a doubt about a link that has been silent for `silence`.
    pub(crate) fn new(now: Instant, conn: ConnId, silence: Duration, wait: Duration) -> Self {
        Self {
            since: now,
            silence,
            usual: Duration::ZERO,
            conn,
            probes: 0,
            next_probe: now,
            wait,
            verdict: now + wait,
            seen: now,
            overdue: false,
        }
    }

    /// Records the silence that the sender's usual pauses explain.
    pub(crate) const fn expects(&mut self, usual: Duration) {
        self.usual = usual;
    }

    /// Whether the silence is longer than the sender's pauses.
    pub(crate) fn is_unusual(&self, now: Instant) -> bool {
        self.silence + (now - self.since) > self.usual
    }

    /// Records a poll that found nothing new. Returns whether that is proof.
    pub(crate) fn looked(&mut self, now: Instant) -> bool {
        self.seen = now;
        self.is_proven()
    }

    /// Whether enough probes stayed unanswered for long enough, as of the last poll.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_asked() && self.seen >= self.verdict
    }

    const fn is_asked(&self) -> bool {
        self.probes >= LEAST_PROBES
    }

    /// Whether a probe is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_probe
    }

    /// Records that a probe was sent.
    pub(crate) fn asks(&mut self, now: Instant) {
        self.probes += 1;
        self.next_probe = if self.is_asked() {
            now + PROBE_EVERY * self.probes
        } else {
            now + PROBE_EVERY
        };
    }

    /// Advances the time.
    pub(crate) fn pass(&mut self, now: Instant) {
        self.overdue = now >= self.verdict;
    }

    /// Records that this host was stopped for `late`.
    pub(crate) fn stood_still(&mut self, now: Instant, late: Duration) {
        if late >= STOPPED {
            return self.begin_anew(now);
        }
        self.since += late;
        self.verdict += late;
        self.overdue = false;
    }

    /// Starts the probes again.
    pub(crate) fn begin_anew(&mut self, now: Instant) {
        *self = Self {
            usual: self.usual,
            ..Self::new(now, self.conn, self.silence, self.wait)
        };
    }

    /// When to probe or decide next. `held`: a proven doubt is not decided yet.
    pub(crate) fn wake_at(&self, held: bool) -> Instant {
        if self.is_proven() && !held || self.is_asked() && !self.overdue {
            self.verdict.min(self.next_probe)
        } else {
            self.next_probe
        }
    }
}
