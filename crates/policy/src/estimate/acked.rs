//! How fast this host's data is being acknowledged right now.
//!
//! # Sources
//! - Linux `tcp_info`: `tcpi_bytes_acked`. `tcpi_delivery_rate` is a mean over a round trip, and over a
//!   bursty start: it showed 41 Mb/s where 30 passed.
//!
//! # Where we differ, and why
//! Once there is a queue in front of the link, acknowledgements arrive at the link's rate, whatever arrived
//! in the previous round trip. So the last few samples tell more than a mean.
//!
//! # Checked by
//! `tests` below.

use super::meter::RateMeter;
use super::tuning::{BEGUN, STEP_MS};
use units::{Bitrate, Bytes, Instant};

/// The counter's first value, and its recent ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    first: Option<Bytes>,
    recent: RateMeter<2, STEP_MS>,
}

impl Acked {
    /// Adds the counter's value at `now`.
    pub(crate) fn read(&mut self, now: Instant, bytes: Bytes) {
        self.recent.read(now, bytes);
        self.first.get_or_insert(bytes);
    }

    /// Whether the first sample was taken at the start of the transfer, or soon after.
    pub(crate) fn seen_from_start(&self) -> bool {
        self.first.is_some_and(|first| first <= BEGUN)
    }

    /// Payload rate. Zero until the samples cover one step.
    pub(crate) fn rate(&self) -> Bitrate {
        self.recent.rate().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(readings: impl IntoIterator<Item = (u64, u64)>) -> Acked {
        let mut acked = Acked::default();
        for (ms, bytes) in readings {
            acked.read(Instant::from_millis(ms), Bytes::new(bytes));
        }
        acked
    }

    proptest! {
        #[test]
        fn a_steady_rate_is_found_at_any_sampling(steps in proptest::collection::vec(1_u64..40, 5..60)) {
            let times = steps.iter().scan(0, |now, step| {
                *now += step;
                Some(*now)
            });
            let times: Vec<u64> = times.collect();
            prop_assume!(times.last().unwrap() - times[0] >= 40);
            let rate = after(times.iter().map(|ms| (*ms, ms * 1_000))).rate();
            prop_assert_eq!(rate, Bitrate::from_mbps(8));
        }
    }

    #[test]
    fn the_rate_before_the_link_was_full_is_soon_forgotten() {
        let slow = (0..=10).map(|n| (n * 10, n * 1_000));
        let fast = (1..=4).map(|n| (100 + n * 10, 10_000 + n * 10_000));
        assert_eq!(after(slow.clone()).rate().as_bps(), 800_000);
        let rate = after(slow.chain(fast)).rate();
        assert_eq!(rate, Bitrate::from_mbps(8), "40 ms later");
    }

    #[test]
    fn a_large_first_sample_means_the_start_was_not_seen() {
        assert!(!after([]).seen_from_start());
        assert!(after([(0, 100_000), (10, 1 << 40)]).seen_from_start());
        assert!(!after([(0, 300_000), (10, 300_001)]).seen_from_start());
    }

    #[test]
    fn no_rate_at_first_and_any_counter_is_accepted() {
        assert_eq!(after([]).rate(), Bitrate::ZERO);
        assert_eq!(after([(5, 10), (5, 20)]).rate(), Bitrate::ZERO);
        assert_eq!(
            after([(0, u64::MAX), (20, 0), (40, u64::MAX)]).rate(),
            Bitrate::from_bps(u64::MAX)
        );
        assert_eq!(
            after([(40, 9), (20, 3), (0, 1)]).rate(),
            Bitrate::ZERO,
            "time runs backwards"
        );
    }
}
