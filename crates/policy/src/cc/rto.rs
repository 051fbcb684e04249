//! The round trip of one path as its sender estimates it, and the retransmission time-out that follows from it.
//!
//! # Sources
//! - RFC 6298 §2 (the estimates, the first time-out), §5.5 (back-off; §5: a new estimate ends it).
//! - Linux, `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`) and `include/net/tcp.h` (`TCP_RTO_MIN`, `TCP_RTO_MAX`): the bounds.
//!
//! # Where we differ, and why
//! 1. The time-out is at least 200 ms over the smoothed round trip, as in Linux; the RFC's least is one second in all.
//! 2. Every acknowledgement may bring a sample, as with the timestamps of RFC 7323, and each has the RFC's full weight, as in Linux.
//! 3. Linux holds the largest deviation of a round trip for the next ones; here it is the RFC's.
//!
//! # Checked by
//! `tests` below; `crates/sim/tests/cla_handoff.rs`: a sender that keeps its timer by it.

use units::Duration;

/// Before anything was measured.
const FIRST: Duration = Duration::from_secs(1);
/// What the deviation adds at least.
const LEAST: Duration = Duration::from_millis(200);
/// Of a time-out, and of a sample.
const MOST: Duration = Duration::from_secs(120);
/// Doubled so often, even the shortest is longer than the longest.
const MOST_BACK_OFFS: u32 = 10;

/// Estimates of one path; none at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    srtt: Option<Duration>,
    rttvar: Duration,
    back_offs: u32,
}

impl RoundTrip {
    /// A segment was acknowledged so long after it was sent. Whatever was backed off is over.
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

    /// The timer ran out: the next time it runs twice as long.
    pub const fn back_off(&mut self) {
        if self.back_offs < MOST_BACK_OFFS {
            self.back_offs += 1;
        }
    }

    /// The smoothed round trip; `None` until one was measured.
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// How long the timer runs if it has not run out since the last sample.
    pub fn timeout(&self) -> Duration {
        let Some(srtt) = self.srtt else {
            return FIRST;
        };
        (srtt + (self.rttvar * 4).max(LEAST)).min(MOST)
    }

    /// How long the timer runs now.
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
        // rttvar ¾·80 + ¼·80, with the srtt of before.
        assert_eq!((path.srtt(), path.rto()), (Some(170 * MS), 490 * MS));
    }

    #[test]
    fn a_steady_path_times_out_200_ms_later_than_it_answers() {
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
        fn stands_any_samples(samples in prop::collection::vec((any::<u64>(), 0u8..40), 0..30)) {
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
