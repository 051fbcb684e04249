//! One station's contention for the air.
//!
//! # Sources
//! - 802.11-2020 §10.3.4.2–10.3.4.4: an idle medium for DIFS, then a countdown in slots that freezes while the medium is busy; a new
//!   backoff after every transmission, also a successful one (post-backoff); the window doubles after a failure; a station that
//!   finds the medium busy on arrival draws a backoff if it has none left.
//!
//! # Where we differ, and why
//! 1. No EIFS: everybody on a channel hears everybody, and a failed exchange keeps the air for as long as its ACK would have taken.
//!
//! # Checked by
//! `dcf_tests`, and `tests/air.rs` (collisions and throughput of n saturated stations).

use units::wifi::Standard;
use units::{Instant, Rng};

use super::airtime::contention_window;

#[derive(Debug)]
pub(super) struct Dcf {
    standard: Standard,
    rng: Rng,
    /// Failures of the current frame so far.
    failures: u32,
    /// Slots that are left to count.
    backoff: u32,
    /// When counting began, or will.
    from: Instant,
}

impl Dcf {
    pub(super) fn new(standard: Standard, rng: Rng) -> Self {
        Self {
            standard,
            rng,
            failures: 0,
            backoff: 0,
            from: Instant::ZERO,
        }
    }

    /// When it may transmit, if the medium stays idle.
    pub(super) fn access(&self) -> Instant {
        self.from + self.standard.slot() * self.backoff
    }

    /// It has something to send after it had nothing; the medium is busy or not.
    pub(super) fn wants(&mut self, busy: bool) {
        if busy && self.backoff == 0 {
            self.draw();
        }
    }

    /// Somebody else transmits from `now` on.
    pub(super) fn freeze(&mut self, now: Instant) {
        let slots = now.since(self.from).as_nanos() / self.standard.slot().as_nanos();
        self.backoff = self
            .backoff
            .saturating_sub(u32::try_from(slots).unwrap_or(u32::MAX));
        self.from = now;
    }

    /// The medium is idle since `now`.
    pub(super) fn resume(&mut self, now: Instant) {
        self.from = now + self.standard.difs();
    }

    /// Its frame got through, or it gives it up, or it was to everybody.
    pub(super) fn settled(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// Its frame failed and will be repeated.
    pub(super) fn failed(&mut self) {
        self.failures += 1;
        self.draw();
    }

    fn draw(&mut self) {
        let window = contention_window(self.standard, self.failures);
        self.backoff = self.rng.below(u64::from(window) + 1) as u32;
    }
}

#[cfg(test)]
#[path = "dcf_tests.rs"]
mod tests;
