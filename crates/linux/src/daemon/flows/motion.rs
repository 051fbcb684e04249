//! When data last moved in a connection.

use std::time::Duration;
use units::Instant;

/// A connection in which nothing has moved for this long is idle.
const QUIET: Duration = Duration::from_secs(1);

/// The time at which data last moved in a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Motion {
    since: Instant,
    fingerprint: u64,
}

impl Motion {
    /// A connection that was just found counts as moving.
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            fingerprint: 0,
        }
    }

    /// Takes a number that changes whenever data has moved.
    pub(crate) fn look(&mut self, now: Instant, fingerprint: u64) {
        if std::mem::replace(&mut self.fingerprint, fingerprint) != fingerprint {
            self.since = now;
        }
    }

    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        now - self.since < QUIET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn motion_ends_after_a_quiet_second() {
        let mut motion = Motion::new(ms(0));
        motion.look(ms(500), 7);
        motion.look(ms(900), 7);
        assert!(motion.is_busy(ms(1_499)));
        assert!(!motion.is_busy(ms(1_500)));
        motion.look(ms(2_000), 8);
        assert!(motion.is_busy(ms(2_000)));
    }
}
