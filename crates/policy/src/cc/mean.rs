//! Mean window of a path over its last losses.
//!
//! Windows follow a sawtooth. The equations of window equilibrium hold for mean windows. With current
//! windows, a path near the top of its sawtooth would look better than an equal path near the bottom.
//!
//! # Sources
//! - RFC 5348 §5.4 (TFRC): an average over about the last eight losses.
//!
//! # Where we differ, and why
//! 1. A loss removes an eighth of the weight of all history: this average needs two numbers instead of eight.
//! 2. Averages round trips, not losses: a window that grows without a loss counts as it grows.
//!
//! # Checked by
//! `cc::tests`: `golden/mean.csv`. `bpf/cc/couple.h` gives the same answers in
//! `crates/linux/tests/cc/mean.rs`.

use super::Soft;

/// Weight of one round trip.
const ROUND: u32 = 16;
/// Maximum total weight.
const MOST_WEIGHT: u32 = 1 << 20;
/// Larger windows count as this one: sums stay within 64 bits.
const MOST_WINDOW: u32 = (1 << 27) - 1;
/// Fixed-point units per segment.
const SEGMENT: u64 = 1 << 16;

/// Mean window of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MeanWindow {
    /// The mean, in units of 2⁻¹⁶ segments.
    window: u64,
    /// Total weight of its samples, in sixteenths of a round trip.
    weight: u32,
}

impl MeanWindow {
    /// Creates a mean of this value, in units of 2⁻¹⁶ segments; 0 for none.
    pub const fn of(parts: u64) -> Self {
        Self {
            window: parts,
            weight: ROUND,
        }
    }

    /// Adds a round trip in congestion avoidance with a window of `cwnd` segments.
    pub fn round(&mut self, cwnd: u32) {
        let window = u64::from(cwnd.min(MOST_WINDOW)) * SEGMENT;
        self.weight = (self.weight + ROUND).min(MOST_WEIGHT);
        let before = u64::from(self.weight - ROUND);
        self.window = (self.window * before + window * u64::from(ROUND)) / u64::from(self.weight);
    }

    /// Records a loss.
    pub const fn lost(&mut self) {
        self.weight -= self.weight / 8;
    }

    /// Mean window in units of 2⁻¹⁶ segments; 0 before the first round trip.
    pub const fn parts(&self) -> u64 {
        self.window
    }

    /// Mean window in segments.
    pub(super) fn window(&self) -> Option<Soft> {
        (self.window > 0).then(|| Soft::new(self.window).over(Soft::new(SEGMENT)))
    }
}
