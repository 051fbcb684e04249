//! How many beacons of an access point were heard in the last two seconds.
//!
//! # Sources
//! - nsdi15 §6.3: the client counts beacons over 2 s and switches to another access point that has Δ = 10 more.
//!
//! # Checked by
//! `tests` below; `handover`'s tests.

use alloc::collections::VecDeque;
use units::{Duration, Instant};

/// The window over which beacons are counted.
pub(crate) const WINDOW: Duration = Duration::from_secs(2);

/// Arrival times of the beacons of one access point; at most 64 are kept, three times what 2 s can bring.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beacons {
    heard: VecDeque<Instant>,
}

impl Beacons {
    pub(crate) fn hear(&mut self, now: Instant) {
        self.forget(now);
        if self.heard.len() == 64 {
            self.heard.pop_front();
        }
        self.heard.push_back(now);
    }

    fn forget(&mut self, now: Instant) {
        while self.heard.front().is_some_and(|&at| now - at > WINDOW) {
            self.heard.pop_front();
        }
    }

    /// Beacons heard in the last two seconds.
    pub(crate) fn count(&self, now: Instant) -> usize {
        self.heard.iter().filter(|&&at| now - at <= WINDOW).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_two_seconds_and_no_more() {
        let mut beacons = Beacons::default();
        for n in 0..100 {
            beacons.hear(Instant::from_micros(n * 102_400));
        }
        let now = Instant::from_micros(99 * 102_400);
        assert_eq!(beacons.count(now), 20);
        assert_eq!(beacons.count(now + Duration::from_secs(1)), 10);
        assert_eq!(beacons.count(now + Duration::from_secs(3)), 0);
    }
}
