//! AARF: steps up after a number of successes and down after failures, and needs more successes after a step
//! up that failed.
//!
//! # Sources
//! - Lacage, Manshaei and Turletti 2004 ("IEEE 802.11 rate adaptation: a practical approach", §3). A step up
//!   after 10 successes in a row or 15 frames. If the first frame after it fails, back down and twice as many
//!   successes next time, at most 50. After two failures in a row, down, and 10 again.
//!
//! # Checked by
//! `rate::tests`.

use alloc::vec::Vec;

use crate::air::phy::mode::Mode;

const LEAST: u32 = 10;
const MOST: u32 = 50;
const TIMER: u32 = 15;
/// The timer's limit, scaled up as much as the number of successes can grow.
const MOST_TIMER: u32 = TIMER * MOST / LEAST;

#[derive(Debug)]
pub(in crate::air) struct Aarf {
    modes: Vec<Mode>,
    at: usize,
    successes: u32,
    failures: u32,
    /// Frames since the last step.
    since: u32,
    threshold: u32,
    timer: u32,
    /// The last step was up, and nothing has been sent since.
    probing: bool,
}

impl Aarf {
    /// A controller that begins with the fastest mode.
    pub(super) fn new(modes: Vec<Mode>) -> Self {
        Self {
            at: modes.len() - 1,
            modes,
            successes: 0,
            failures: 0,
            since: 0,
            threshold: LEAST,
            timer: TIMER,
            probing: false,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.modes[self.at]
    }

    pub(super) fn tried(&mut self, success: bool) {
        self.since += 1;
        if success {
            self.succeeded();
        } else {
            self.failed();
        }
    }

    fn succeeded(&mut self) {
        (self.successes, self.failures, self.probing) = (self.successes + 1, 0, false);
        let due = self.successes >= self.threshold || self.since >= self.timer;
        if due && self.at + 1 < self.modes.len() {
            self.step(self.at + 1);
            self.probing = true;
        }
    }

    fn failed(&mut self) {
        (self.successes, self.failures) = (0, self.failures + 1);
        if self.probing {
            self.threshold = (2 * self.threshold).min(MOST);
            self.timer = (2 * self.timer).min(MOST_TIMER);
            self.step(self.at.saturating_sub(1));
        } else if self.failures >= 2 {
            (self.threshold, self.timer) = (LEAST, TIMER);
            self.step(self.at.saturating_sub(1));
        }
    }

    fn step(&mut self, to: usize) {
        self.at = to;
        (self.successes, self.failures, self.since) = (0, 0, 0);
        self.probing = false;
    }
}
