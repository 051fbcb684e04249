//! What must hold when the run is over. [`crate::judge()`] decides it.

use std::fmt;
use trace::PolicyName;
use units::{Bitrate, Bytes, Duration};

/// Conditions on the run of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The policy whose run is judged.
    pub policy: PolicyName,
    /// Which flow, as an index in [`super::Plan::flows`]. `None`: each of them, or their sum for conditions
    /// on an amount.
    pub flow: Option<usize>,
    /// What must hold; at least one.
    pub conditions: Vec<Condition>,
}

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// What was read is what was sent.
    Intact,
    /// No stall is longer.
    LongestStall(Duration),
    /// All stalls together are not longer.
    StallTotal(Duration),
    /// The first byte comes within this time.
    FirstByte(Duration),
    /// Goodput is at least this.
    Goodput(Bitrate),
    /// At least this much is read.
    Moved(Bytes),
    /// At least this many times what `tcp-best` moves.
    VersusTcpBest(Times),
    /// At least this many times what that policy moves.
    Versus(PolicyName, Times),
    /// At least this many times `optimal_mbps`.
    VersusOptimal(Times),
}

/// A factor, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Times(u32);

impl Times {
    /// A factor of this many thousandths.
    pub const fn from_thousandths(thousandths: u32) -> Self {
        Self(thousandths)
    }

    /// The factor.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e3
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ×", self.as_f64())
    }
}
