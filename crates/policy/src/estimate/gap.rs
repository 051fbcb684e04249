//! How long a live link can leave a probe unanswered, learned from late replies.
//!
//! A cellular link that has had a gap before gets more time than a cable. The longest such delay is
//! remembered and fades by half every minute, so one bad second does not delay detection on that link for
//! ever.
//!
//! # Checked by
//! `tests` below. `golden/gap.csv`. `wrong-removals` in the benchmarks.

use super::tuning::{GAP_HALF_LIFE, LONGEST_GAP};
use crate::io::LinkKind;
use units::{Duration, Instant};

/// Longest delay of a reply beyond the link's round-trip time, fading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gap {
    longest: Duration,
    at: Instant,
}

impl Gap {
    /// Records that a reply, or anything else, arrived this much later than the link's round-trip time
    /// predicts.
    pub(crate) fn survived(&mut self, now: Instant, overdue: Duration) {
        if overdue >= self.faded(now) {
            (self.longest, self.at) = (overdue.min(LONGEST_GAP), now);
        }
    }

    fn faded(&self, now: Instant) -> Duration {
        let halvings = (now - self.at).as_nanos() / GAP_HALF_LIFE.as_nanos();
        u32::try_from(halvings)
            .ok()
            .and_then(|n| 1u32.checked_shl(n))
            .map_or(Duration::ZERO, |parts| self.longest / parts)
    }

    /// How long probes may go unanswered before the link counts as dead.
    ///
    /// A cable replies at once or not at all. WiFi repeats a frame up to seven times and waits for its
    /// airtime. Mobile networks hide losses and cell changes behind silences of some hundred milliseconds.
    pub(crate) fn patience(&self, now: Instant, kind: LinkKind) -> Duration {
        let least = Duration::from_millis(match kind {
            LinkKind::Cable => 30,
            LinkKind::Wifi => 60,
            LinkKind::Cellular => 700,
        });
        least.max(self.faded(now) * 3 / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [LinkKind; 3] = [LinkKind::Cable, LinkKind::Wifi, LinkKind::Cellular];

    proptest! {
        #[test]
        fn patience_is_bounded_and_only_shrinks_by_itself(
            late in proptest::collection::vec((any::<u32>(), any::<u64>()), 0..40), a: u64, b: u64,
        ) {
            let (mut gap, mut now) = (Gap::default(), Instant::ZERO);
            for (later_ms, overdue_ns) in late {
                now += Duration::from_millis(later_ms.into());
                gap.survived(now, Duration::from_nanos(overdue_ns));
                for kind in KINDS {
                    let shown = Duration::from_nanos(overdue_ns).min(LONGEST_GAP) * 3 / 2;
                    let patience = gap.patience(now, kind);
                    prop_assert!(patience >= shown && patience >= Gap::default().patience(now, kind));
                    prop_assert!(patience <= Duration::from_millis(4_500));
                }
            }
            let after = |ns| gap.patience(now + Duration::from_nanos(ns), LinkKind::Wifi);
            prop_assert!(after(a.min(b)) >= after(a.max(b)));
        }
    }

    /// Rows of `golden/gap.csv`: silences survived, time, kind of link, patience.
    #[test]
    fn golden_vectors_hold() {
        let rows = include_str!("../../../../golden/gap.csv")
            .lines()
            .filter(|line| !line.starts_with(['#', 's']));
        let mut count = 0;
        for row in rows {
            let cells: alloc::vec::Vec<&str> = row.split(',').map(str::trim).collect();
            let mut gap = Gap::default();
            for (at, silence) in cells[0]
                .split_whitespace()
                .filter_map(|cell| cell.split_once(':'))
            {
                gap.survived(
                    Instant::from_millis(at.parse().unwrap()),
                    Duration::from_millis(silence.parse().unwrap()),
                );
            }
            let kind = match cells[2] {
                "cable" => LinkKind::Cable,
                "wifi" => LinkKind::Wifi,
                "cellular" => LinkKind::Cellular,
                other => panic!("unknown kind of link: {other}"),
            };
            let patience = gap.patience(Instant::from_millis(cells[1].parse().unwrap()), kind);
            assert_eq!(patience.as_micros(), cells[3].parse::<u128>().unwrap(), "{row}");
            count += 1;
        }
        assert!(count >= 12, "only {count} vectors");
    }

    #[test]
    fn a_link_that_has_shown_gaps_is_given_longer() {
        let mut gap = Gap::default();
        let now = Instant::from_secs(100);
        assert_eq!(gap.patience(now, LinkKind::Cable), Duration::from_millis(30));
        gap.survived(now, Duration::from_millis(500));
        assert_eq!(gap.patience(now, LinkKind::Cable), Duration::from_millis(750));
        assert_eq!(gap.patience(now, LinkKind::Cellular), Duration::from_millis(750));
    }

    #[test]
    fn the_memory_of_a_gap_fades() {
        let mut gap = Gap::default();
        gap.survived(Instant::ZERO, Duration::from_secs(10));
        assert_eq!(
            gap.patience(Instant::from_secs(1), LinkKind::Cable),
            Duration::from_millis(4_500)
        );
        assert_eq!(
            gap.patience(Instant::from_secs(61), LinkKind::Cable),
            Duration::from_millis(2_250)
        );
        assert_eq!(
            gap.patience(Instant::from_secs(1 << 20), LinkKind::Cable),
            Duration::from_millis(30)
        );
    }
}
