//! Lateness of packets: a histogram with a bounded relative error. A percentile of millions of packets costs
//! 4 KiB.

use hdrhistogram::Histogram;
use trace::LatenessUs;
use units::Duration;

/// A percentile is at most 1/16 too high.
const SIGNIFICANT_DIGITS: u8 = 1;

/// An hour, in µs. Longer delays count as this.
const LATEST_US: u64 = 3_600_000_000;

/// Departure minus due time of packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Lateness {
    us: Histogram<u64>,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            us: Histogram::new_with_bounds(1, LATEST_US, SIGNIFICANT_DIGITS)
                .expect("the bounds are constants"),
            max: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Records a packet that left this long after it was due.
    pub fn record(&mut self, late: Duration) {
        self.us.saturating_record(late.as_micros() as u64);
        self.max = self.max.max(late);
    }

    /// How many packets were recorded.
    pub fn packets(&self) -> u64 {
        self.us.len()
    }

    /// Lateness that at least this share of the packets did not exceed; zero without packets.
    fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.us.value_at_quantile(share)).min(self.max)
    }

    /// Adds everything recorded in `other`.
    pub fn add(&mut self, other: &Self) {
        self.us
            .add(&other.us)
            .expect("both histograms have the same bounds");
        self.max = self.max.max(other.max);
    }

    /// The summary that traces contain.
    pub fn summary(&self) -> LatenessUs {
        LatenessUs {
            p50_us: self.quantile(0.5).as_micros() as u64,
            p99_us: self.quantile(0.99).as_micros() as u64,
            max_us: self.max.as_micros() as u64,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.us.reset();
        self.max = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_at_most_a_sixteenth_too_high() {
        let mut lateness = Lateness::default();
        for us in (0..2_000_000).step_by(7) {
            lateness.clear();
            lateness.record(Duration::from_micros(us));
            // One packet's percentile is capped by its own lateness, so the bucket itself is compared.
            let shown = lateness.us.value_at_quantile(0.5);
            assert!(
                shown >= us && shown <= us + us / 16,
                "{us} µs is shown as {shown} µs"
            );
        }
    }

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut lateness = Lateness::default();
        (1..=1_000).for_each(|us| lateness.record(Duration::from_micros(us)));
        let summary = lateness.summary();
        assert!((500..=531).contains(&summary.p50_us), "{summary:?}");
        assert!((990..=1_000).contains(&summary.p99_us), "{summary:?}");
        assert_eq!((summary.max_us, lateness.packets()), (1_000, 1_000));
    }

    #[test]
    fn an_empty_histogram_has_zero_percentiles() {
        assert_eq!(Lateness::default().summary(), LatenessUs::default());
    }

    #[test]
    fn more_than_an_hour_is_counted() {
        let mut lateness = Lateness::default();
        lateness.record(Duration::from_secs(7_200));
        assert_eq!(lateness.packets(), 1);
        assert_eq!(lateness.summary().max_us, 7_200_000_000);
        lateness.clear();
        assert_eq!(lateness, Lateness::default());
    }

    #[test]
    fn merged_histograms_equal_the_whole() {
        let (mut whole, mut odd, mut even) = (Lateness::default(), Lateness::default(), Lateness::default());
        for us in 0..5_000u64 {
            let late = Duration::from_micros(us * us % 9_973);
            whole.record(late);
            if us % 2 == 0 {
                even.record(late)
            } else {
                odd.record(late)
            }
        }
        odd.add(&even);
        assert_eq!(odd, whole);
    }
}
