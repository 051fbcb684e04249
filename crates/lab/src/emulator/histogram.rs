//! How late packets were: a histogram with a bounded relative error, so that a percentile of millions of packets costs 2 KiB.
//!
//! Buckets are as in HdrHistogram: powers of two, each cut into 16 equal parts; a figure is told as the upper edge of its bucket, at
//! most 1/16 too high.

use trace::LatenessUs;
use units::Duration;

const PARTS: u64 = 16;
const BUCKETS: usize = 16 * 28;

/// Departure minus due time of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lateness {
    counts: Vec<u32>,
    total: u64,
    sum_us: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
            sum_us: 0,
            max: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// A packet left this long after it was due.
    pub fn record(&mut self, late: Duration) {
        let us = late.as_micros() as u64;
        self.counts[bucket(us)] += 1;
        self.total += 1;
        self.sum_us += us;
        self.max = self.max.max(late);
    }

    /// How many packets were recorded.
    pub const fn packets(&self) -> u64 {
        self.total
    }

    /// The mean; zero without packets.
    pub fn mean(&self) -> Duration {
        Duration::from_micros(self.sum_us.checked_div(self.total).unwrap_or(0))
    }

    /// What at least `percent` hundredths of the packets did not exceed; zero without packets.
    pub fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted && seen > 0 {
                return Duration::from_micros(upper_edge(index)).min(self.max);
            }
        }
        self.max
    }

    /// Everything recorded in `other` too.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum_us += other.sum_us;
        self.max = self.max.max(other.max);
    }

    /// As a trace has it.
    pub fn summary(&self) -> LatenessUs {
        LatenessUs {
            p50_us: self.percentile(50).as_micros() as u64,
            p99_us: self.percentile(99).as_micros() as u64,
            max_us: self.max.as_micros() as u64,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.sum_us, self.max) = (0, 0, Duration::ZERO);
    }
}

/// Below 16 every microsecond is a bucket; above, the leading five bits name it.
fn bucket(us: u64) -> usize {
    let shift = (us.max(PARTS).ilog2() - PARTS.ilog2()) as usize;
    let index = shift * PARTS as usize + (us >> shift) as usize;
    index.min(BUCKETS - 1)
}

fn upper_edge(index: usize) -> u64 {
    let parts = PARTS as usize;
    let shift = (index / parts).saturating_sub(1);
    let part = index - shift * parts;
    ((part as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_at_most_a_sixteenth_too_high() {
        for us in (0..2_000_000).step_by(7) {
            let edge = upper_edge(bucket(us));
            assert!(
                edge >= us && edge <= us + us / PARTS,
                "{us} µs is told as {edge} µs"
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
        assert_eq!((summary.max_us, lateness.mean().as_micros()), (1_000, 500));
    }

    #[test]
    fn nothing_recorded_is_nothing_late() {
        assert_eq!(Lateness::default().summary(), LatenessUs::default());
    }

    #[test]
    fn halves_add_up_to_the_whole() {
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
