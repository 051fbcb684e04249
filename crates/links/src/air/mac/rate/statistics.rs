//! Minstrel's statistics of a mode: attempts and successes of the current interval, and the mean of the past
//! ones.

use crate::air::phy::mode::Mode;

/// Weight of the past in the mean, in percent.
const PAST: f64 = 0.75;

#[derive(Debug, Clone, Copy)]
pub(super) struct Statistics {
    pub(super) mode: Mode,
    /// Duration of a frame that gets through at once, in ns.
    pub(super) time: u64,
    /// Tries in one stage of a chain.
    pub(super) tries: u8,
    attempts: u32,
    successes: u32,
    /// Mean probability over the intervals that a frame gets through.
    pub(super) probability: f64,
    /// It was ever tried.
    pub(super) known: bool,
    /// Intervals in which it was not tried.
    pub(super) idle: u32,
}

impl Statistics {
    pub(super) const fn new(mode: Mode, time: u64, tries: u8) -> Self {
        Self {
            mode,
            time,
            tries,
            attempts: 0,
            successes: 0,
            probability: 0.0,
            known: false,
            idle: 0,
        }
    }

    pub(super) const fn tried(&mut self, frames: u32, acknowledged: u32) {
        self.attempts += frames;
        self.successes += acknowledged;
    }

    /// Whether hardly any of many attempts in the current interval got through: fewer than a fifth of more
    /// than 30.
    pub(super) const fn fails(&self) -> bool {
        self.attempts > 30 && self.successes * 5 < self.attempts
    }

    /// Ends an interval.
    pub(super) fn update(&mut self) {
        if self.attempts == 0 {
            self.idle += 1;
            return;
        }
        let present = f64::from(self.successes) / f64::from(self.attempts);
        self.probability = if self.known {
            self.probability * PAST + present * (1.0 - PAST)
        } else {
            present
        };
        self.known = true;
        self.idle = 0;
        (self.attempts, self.successes) = (0, 0);
    }
}
