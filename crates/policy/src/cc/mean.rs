//! What a path's window is on average, over its last losses.
//!
//! Windows go up and down like saws. Equations about how windows balance hold for their means; put into them, the larger of two teeth of the
//! same saw would pass for a better path.
//!
//! # Sources
//! - RFC 5348 §5.4 (TFRC): an average over about the last eight losses.
//!
//! # Where we differ, and why
//! 1. A loss takes an eighth of the weight of all that was before it: an average that takes two numbers instead of eight.
//! 2. Round trips are averaged, not losses: a window that grows without a loss counts as it grows.
//!
//! # Checked by
//! `cc::tests`: `golden/mean.csv`; the same answers from `bpf/cc/couple.h` in `crates/linux/tests/cc/mean.rs`.

use super::Soft;

/// One round trip's weight.
const ROUND: u32 = 16;
/// The most weight that all have together.
const MOST_WEIGHT: u32 = 1 << 20;
/// Windows over this count as this; sums stay within 64 bits.
const MOST_WINDOW: u32 = (1 << 27) - 1;
/// Means are in such parts of a segment.
const SEGMENT: u64 = 1 << 16;

/// The mean window of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MeanWindow {
    /// Parts of 2¹⁶ of a segment.
    window: u64,
    /// Sixteenths of a round trip.
    weight: u32,
}

impl MeanWindow {
    /// This mean, in parts of 2¹⁶ of a segment; 0 for none.
    pub const fn of(parts: u64) -> Self {
        Self {
            window: parts,
            weight: ROUND,
        }
    }

    /// A round trip in congestion avoidance with a window of `cwnd` segments.
    pub fn round(&mut self, cwnd: u32) {
        let window = u64::from(cwnd.min(MOST_WINDOW)) * SEGMENT;
        self.weight = (self.weight + ROUND).min(MOST_WEIGHT);
        let before = u64::from(self.weight - ROUND);
        self.window = (self.window * before + window * u64::from(ROUND)) / u64::from(self.weight);
    }

    /// A loss was seen.
    pub const fn lost(&mut self) {
        self.weight -= self.weight / 8;
    }

    /// In parts of 2¹⁶ of a segment; 0 before the first round trip.
    pub const fn parts(&self) -> u64 {
        self.window
    }

    /// In segments.
    pub(super) fn window(&self) -> Option<Soft> {
        (self.window > 0).then(|| Soft::new(self.window).over(Soft::new(SEGMENT)))
    }
}
