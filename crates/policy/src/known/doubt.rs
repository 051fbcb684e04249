//! An open question to a link: what was asked, how long answers may take, and when their absence is proof.
//!
//! # Sources
//! - None of its own: what makes a link doubtful is in [`crate::alive::silence`], what its answers prove,
//!   too.
//!
//! # Where we differ, and why
//! 1. Silence is what a look has found, not the time since the last look. The counters of many subflows are
//!    read every 100 ms at most, and meanwhile a full link brings packets that nobody has seen: no verdict
//!    without a look at the link that is no older than it. So that this costs no time, the world looks
//!    whenever a doubt's time has come ([`crate::Engine::doubted`]).
//! 2. Time in which this host did not run does not count: what has come may lie unread. If it stood still for
//!    longer, everything is asked again: what was sent to it meanwhile may be lost.
//!
//! # Checked by
//! `tests::looks`.

use crate::io::ConnId;
use units::{Duration, Instant};

/// Between the probes of one doubt.
const PROBE_EVERY: Duration = Duration::from_millis(12);
/// The probes that must stay unanswered: one may be lost on a lossy path.
const LEAST_PROBES: u32 = 3;
/// A world that calls so much too late stood still; one that calls sooner was busy with other things.
pub(crate) const STOPPED: Duration = Duration::from_millis(200);

/// An open question to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// When the first probe left; later by as long as this host did not run since.
    pub(crate) since: Instant,
    /// How long the link had been silent by then.
    pub(crate) silence: Duration,
    /// Towards whose peer.
    pub(crate) conn: ConnId,
    /// How many probes are out.
    pub(crate) probes: u32,
    /// When the next one leaves.
    next_probe: Instant,
    /// How long they may stay unanswered.
    wait: Duration,
    /// When that is over.
    verdict: Instant,
    /// The last look at what has come over the link.
    seen: Instant,
    /// It is over, and only a look is missing.
    overdue: bool,
}

impl Doubt {
    /// A link has been silent for so long.
    pub(crate) fn new(now: Instant, conn: ConnId, silence: Duration, wait: Duration) -> Self {
        Self {
            since: now,
            silence,
            conn,
            probes: 0,
            next_probe: now,
            wait,
            verdict: now + wait,
            seen: now,
            overdue: false,
        }
    }

    /// A look has found that nothing has come; whether that is proof.
    pub(crate) fn looked(&mut self, now: Instant) -> bool {
        self.seen = now;
        self.is_proven()
    }

    /// Whether enough was asked, for long enough, and in vain as far as anybody has looked.
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

    /// A probe leaves.
    pub(crate) fn asks(&mut self, now: Instant) {
        self.probes += 1;
        self.next_probe = if self.is_asked() {
            now + PROBE_EVERY * self.probes
        } else {
            now + PROBE_EVERY
        };
    }

    /// Time has come this far.
    pub(crate) fn pass(&mut self, now: Instant) {
        self.overdue = now >= self.verdict;
    }

    /// This host has not run for so long.
    pub(crate) fn stood_still(&mut self, now: Instant, late: Duration) {
        if late >= STOPPED {
            return self.begin_anew(now);
        }
        self.since += late;
        self.verdict += late;
        self.overdue = false;
    }

    /// Whatever was asked is asked again.
    pub(crate) fn begin_anew(&mut self, now: Instant) {
        *self = Self::new(now, self.conn, self.silence, self.wait);
    }

    /// When there is something to ask, or to settle; `held`: what is proven is not settled yet.
    pub(crate) fn wake_at(&self, held: bool) -> Instant {
        if self.is_proven() && !held || self.is_asked() && !self.overdue {
            self.verdict.min(self.next_probe)
        } else {
            self.next_probe
        }
    }
}
