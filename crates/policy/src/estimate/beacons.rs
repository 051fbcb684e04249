//! Number of beacons of an access point heard in the last two seconds.
//!
//! # Sources
//! - nsdi15 §6.3: the client counts beacons over 2 s and switches to another access point that has Δ = 10
//!   more.
//!
//! # Where we differ, and why
//! 1. At most 64 count, three times what arrives in 2 s at the usual interval of 102.4 ms: memory is limited
//!    whatever is heard.
//!
//! # Checked by
//! `tests` below. `handover`'s tests. `tests/engine_properties.rs`: no hand-over without Δ.

use super::tuning::BEACON_WINDOW;
use alloc::collections::VecDeque;
use units::Instant;

/// Maximum number of beacons kept.
const MOST: usize = 64;

/// Arrival times of the beacons of one access point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beacons {
    heard: VecDeque<Instant>,
}

impl Beacons {
    pub(crate) fn hear(&mut self, now: Instant) {
        self.forget(now);
        if self.heard.len() == MOST {
            self.heard.pop_front();
        }
        self.heard.push_back(now);
    }

    fn forget(&mut self, now: Instant) {
        while self.heard.front().is_some_and(|&at| now - at > BEACON_WINDOW) {
            self.heard.pop_front();
        }
    }

    /// Beacons heard in the last two seconds.
    pub(crate) fn count(&self, now: Instant) -> usize {
        self.heard.iter().filter(|&&at| now - at <= BEACON_WINDOW).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use units::Duration;

    proptest! {
        #[test]
        fn counts_correctly_at_any_intervals(gaps_ms in proptest::collection::vec(0_u64..1_500, 0..300), later_ms in 0_u64..4_000) {
            let (mut beacons, mut now, mut all) = (Beacons::default(), Instant::ZERO, Vec::new());
            for gap in gaps_ms {
                now += Duration::from_millis(gap);
                beacons.hear(now);
                all.push(now);
                let recent = all.iter().filter(|&&at| now - at <= BEACON_WINDOW).count();
                prop_assert_eq!(beacons.count(now), recent.min(MOST));
            }
            // The count falls if nothing more is heard.
            let then = now + Duration::from_millis(later_ms);
            prop_assert!(beacons.count(then) <= beacons.count(now));
            prop_assert_eq!(beacons.count(now + BEACON_WINDOW + Duration::from_nanos(1)), 0);
        }
    }

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
