//! How long a test waits for what must happen. The crate's own tests, those in `tests/` and other rooms' share this file.

use std::time::{Duration, Instant};

/// More than this between two looks is the machine standing still, and costs no more than this.
const LOOK: Duration = Duration::from_millis(200);

/// A deadline for whoever looks again and again. It is measured in time in which the test could look: a machine that stands still for a
/// while, or has no time for the test, takes little of it.
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

    /// Whether there is some left; to be asked at every look.
    pub fn lasts(&mut self) -> bool {
        let now = Instant::now();
        self.left = self.left.saturating_sub((now - self.last).min(LOOK));
        self.last = now;
        !self.left.is_zero()
    }
}
