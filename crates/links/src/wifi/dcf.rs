//! DCF: contention of one station for the air.
//!
//! # Sources
//! - 802.11-2020 §10.3.4.2–10.3.4.4: after DIFS of idle medium, the station counts down slots. The countdown
//!   freezes while the medium is busy. A new backoff follows every transmission, even a successful one
//!   (post-backoff). The window doubles after a failure. If the medium is busy on arrival and no backoff is
//!   left, the station draws one.
//!
//! # Where we differ, and why
//! 1. No EIFS: all stations on a channel hear each other, and a failed exchange occupies the air as long as
//!    its ACK would have.
//!
//! # Checked by
//! `dcf_tests`, and `tests/air.rs` (collisions and throughput of n saturated stations).

use units::wifi::Standard;
use units::{Instant, Rng};

use super::airtime::contention_window;

/// The contention of one station: its backoff and its countdown.
#[derive(Debug)]
pub struct Dcf {
    standard: Standard,
    rng: Rng,
    /// Failures of the current frame so far.
    failures: u32,
    /// Backoff slots that remain.
    backoff: u32,
    /// Start of the countdown, past or future.
    from: Instant,
}

impl Dcf {
    /// A station that has sent nothing yet.
    pub fn new(standard: Standard, rng: Rng) -> Self {
        Self {
            standard,
            rng,
            failures: 0,
            backoff: 0,
            from: Instant::ZERO,
        }
    }

    /// When it may transmit if the medium stays idle.
    pub fn access(&self) -> Instant {
        self.from + self.standard.slot() * self.backoff
    }

    /// Starts contention after the station had nothing to send. `busy`: state of the medium.
    pub fn wants(&mut self, busy: bool) {
        if busy && self.backoff == 0 {
            self.draw();
        }
    }

    /// Freezes the countdown: another station transmits from `now` on.
    pub fn freeze(&mut self, now: Instant) {
        let slots = now.since(self.from).as_nanos() / self.standard.slot().as_nanos();
        self.backoff = self
            .backoff
            .saturating_sub(u32::try_from(slots).unwrap_or(u32::MAX));
        self.from = now;
    }

    /// Resumes the countdown: the medium is idle since `now`.
    pub fn resume(&mut self, now: Instant) {
        self.from = now + self.standard.difs();
    }

    /// Ends a frame: acknowledged, given up, or broadcast.
    pub fn settled(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// Records a failed attempt. The frame will be retransmitted.
    pub fn failed(&mut self) {
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
