//! Round-trip estimator of one path at its sender, and the retransmission time-out derived from it.
//!
//! # Sources
//! - RFC 6298 §2 (the estimates, the first time-out), §5.5 (back-off, and §5: a new estimate ends it).
//! - Linux, `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`) and `include/net/tcp.h`
//!   (`TCP_RTO_MIN`, `TCP_RTO_MAX`): the limits.
//!
//! # Where we differ, and why
//! 1. The time-out is at least the smoothed round trip plus 200 ms, as in Linux. The RFC's minimum is one
//!    second in total.
//! 2. Every acknowledgement may carry a sample, as with the timestamps of RFC 7323, and each has the RFC's
//!    full weight, as in Linux.
//! 3. Linux keeps the largest deviation of a round trip for the next ones. Here the deviation is the RFC's.
//!
//! # Checked by
//! `tests` below. `crates/sim/tests/cla_handoff.rs`: a sender that runs its timer by it.

use units::Duration;

/// Time-out until the first measurement.
const FIRST: Duration = Duration::from_secs(1);
/// Minimum that the deviation adds to the time-out.
const LEAST: Duration = Duration::from_millis(200);
/// Maximum of a time-out, and of a sample.
const MOST: Duration = Duration::from_secs(120);
/// Doubled this many times, the shortest time-out exceeds the maximum.
const MOST_BACK_OFFS: u32 = 10;

/// Estimates of one path. Empty until the first sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    srtt: Option<Duration>,
    rttvar: Duration,
    back_offs: u32,
}

impl RoundTrip {
    /// Adds the round trip of an acknowledged segment, and ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.min(MOST);
        (self.srtt, self.rttvar) = match self.srtt {
            None => (Some(rtt), rtt / 2),
            Some(srtt) => (
                Some((srtt * 7 + rtt) / 8),
                (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4,
            ),
        };
        self.back_offs = 0;
    }

    /// Doubles the time-out after the timer expired.
    pub const fn back_off(&mut self) {
        if self.back_offs < MOST_BACK_OFFS {
            self.back_offs += 1;
        }
    }

    /// How many times the time-out is doubled now.
    pub const fn back_offs(&self) -> u32 {
        self.back_offs
    }

    /// Estimated deviation of the round trip. Zero until the first sample.
    pub const fn deviation(&self) -> Duration {
        self.rttvar
    }

    /// Smoothed round trip. `None` until the first sample.
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Time-out without back-off.
    pub fn timeout(&self) -> Duration {
        let Some(srtt) = self.srtt else {
            return FIRST;
        };
        (srtt + (self.rttvar * 4).max(LEAST)).min(MOST)
    }

    /// Current time-out, including back-off.
    pub fn rto(&self) -> Duration {
        (self.timeout() * (1 << self.back_offs)).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn estimates_are_those_of_the_rfc() {
        let mut path = RoundTrip::default();
        assert_eq!((path.srtt(), path.rto()), (None, FIRST));
        path.sample(160 * MS);
        // rttvar 80 ms.
        assert_eq!((path.srtt(), path.rto()), (Some(160 * MS), 480 * MS));
        path.sample(240 * MS);
        // rttvar ¾·80 + ¼·80, with the previous srtt.
        assert_eq!((path.srtt(), path.rto()), (Some(170 * MS), 490 * MS));
    }

    #[test]
    fn a_steady_path_times_out_200_ms_after_its_round_trip() {
        let mut path = RoundTrip::default();
        (0..100).for_each(|_| path.sample(20 * MS));
        assert_eq!(path.rto(), 220 * MS);
    }

    #[test]
    fn each_time_out_doubles_the_next_until_something_is_measured() {
        let mut path = RoundTrip::default();
        let mut waited = [Duration::ZERO; 9];
        for wait in &mut waited {
            *wait = path.rto();
            path.back_off();
        }
        assert_eq!(
            waited.map(|wait| wait.as_secs()),
            [1, 2, 4, 8, 16, 32, 64, 120, 120]
        );
        assert_eq!(path.timeout(), FIRST);
        path.sample(20 * MS);
        assert_eq!(path.rto(), 220 * MS);
    }

    proptest! {
        #[test]
        fn accepts_any_samples(samples in prop::collection::vec((any::<u64>(), 0u8..40), 0..30)) {
            let mut path = RoundTrip::default();
            for (nanos, back_offs) in samples {
                path.sample(Duration::from_nanos(nanos));
                (0..back_offs).for_each(|_| path.back_off());
                prop_assert!(path.timeout() >= LEAST && path.timeout() <= path.rto() && path.rto() <= MOST);
                prop_assert!(path.srtt().is_some_and(|srtt| srtt <= MOST));
            }
        }
    }
}
