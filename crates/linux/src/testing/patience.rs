//! How long tests wait for a condition. This crate's own tests, those in `tests/` and those of other crates
//! share this file.

use std::time::{Duration, Instant};

/// Most time that is counted between two polls. A longer gap means that the machine stood still.
const LOOK: Duration = Duration::from_millis(200);

/// A deadline for polling. It counts only time in which the test could poll: a machine that pauses, or has no
/// time for the test, uses up little of it.
pub struct Patience {
    left: Duration,
    last: Instant,
}

impl Patience {
    pub fn of(left: Duration) -> Self {
        Self {
            left,
            last: Instant::now(),
        }
    }

    /// Whether time is left. Call it at every poll.
    pub fn lasts(&mut self) -> bool {
        let now = Instant::now();
        self.left = self.left.saturating_sub((now - self.last).min(LOOK));
        self.last = now;
        !self.left.is_zero()
    }
}
