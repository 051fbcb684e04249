//! How fast this host's data is acknowledged just now.
//!
//! # Sources
//! - Linux `tcp_info`: `tcpi_bytes_acked`. `tcpi_delivery_rate` is a mean over a round trip, and of a start with bursts: 41 Mb/s were read where 30 passed.
//!
//! # Where we differ, and why
//! Acknowledgements come as fast as the link carries once a queue stands before it, whatever came in the round trip before: so a few readings say more than a mean.
//!
//! # Checked by
//! `tests` below.

use units::{Bitrate, Bytes, Duration, Instant};

/// The rate is that of so much, and of what came since: 20 to 30 ms where readings come ten apart, more where many connections make them rarer.
const STEP: Duration = Duration::from_millis(15);
/// Who has moved more when it is first read began long before. A hundred megabits a second are as much in twenty milliseconds, and subflows are told within that.
const BEGUN: Bytes = Bytes::from_kib(256);

/// Counters of one and of two steps ago, and the first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    first: Option<Bytes>,
    older: Reading,
    newer: Reading,
    latest: Reading,
}

type Reading = Option<(Instant, Bytes)>;

impl Acked {
    /// The counter as read at `now`.
    pub(crate) fn read(&mut self, now: Instant, bytes: Bytes) {
        if self.newer.is_none_or(|(at, _)| now - at >= STEP) {
            self.older = self.newer;
            self.newer = Some((now, bytes));
        }
        self.latest = Some((now, bytes));
        self.first.get_or_insert(bytes);
    }

    /// Whether the first reading came when it began, or soon after.
    pub(crate) fn seen_from_start(&self) -> bool {
        self.first.is_some_and(|first| first <= BEGUN)
    }

    /// Payload; zero until it has been watched for a step.
    pub(crate) fn rate(&self) -> Bitrate {
        match (self.older, self.latest) {
            (Some((since, before)), Some((now, bytes))) if now > since => {
                bytes.saturating_sub(before).per(now - since)
            }
            _ => Bitrate::ZERO,
        }
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
        fn a_steady_rate_is_found_however_it_is_read(steps in proptest::collection::vec(1_u64..40, 5..60)) {
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
    fn what_came_before_the_link_was_full_is_over_soon() {
        let slow = (0..=10).map(|n| (n * 10, n * 1_000));
        let fast = (1..=4).map(|n| (100 + n * 10, 10_000 + n * 10_000));
        assert_eq!(after(slow.clone()).rate().as_bps(), 800_000);
        let rate = after(slow.chain(fast)).rate();
        assert_eq!(rate, Bitrate::from_mbps(8), "40 ms later");
    }

    #[test]
    fn one_that_has_moved_much_was_not_seen_to_begin() {
        assert!(!after([]).seen_from_start());
        assert!(after([(0, 100_000), (10, 1 << 40)]).seen_from_start());
        assert!(!after([(0, 300_000), (10, 300_001)]).seen_from_start());
    }

    #[test]
    fn nothing_is_known_at_first_and_no_counter_breaks_it() {
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
