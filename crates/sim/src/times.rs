//! Times of many packets: their mean, percentiles and maximum. The memory does not grow with their number.
//!
//! # Sources
//! - RFC 3550 §6.4.1 and appendix A.8: interarrival jitter.
//!
//! # Where we differ, and why
//! 1. Percentiles come from a histogram of microseconds with two significant digits. They are at most 1/128
//!    too high.
//! 2. The jitter is not in units of a media clock, but in nanoseconds.
//!
//! # Checked by
//! `tests` below; `tests/delays.rs`.

use hdrhistogram::Histogram;
use trace::{CDF_STEPS, TimesMs};
use units::Duration;

/// Significant decimal digits of a percentile.
const DIGITS: u8 = 2;
/// An hour, in µs. Longer times count as this in percentiles.
const LONGEST_US: u64 = 3_600_000_000;

/// Times of many packets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Times {
    /// It grows with the longest time.
    us: Histogram<u32>,
    sum_ns: u128,
    max: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            us: Histogram::new(DIGITS).expect("the number of digits is a constant"),
            sum_ns: 0,
            max: Duration::ZERO,
        }
    }
}

impl Times {
    /// Adds one.
    pub(crate) fn record(&mut self, time: Duration) {
        let us = (time.as_micros() as u64).min(LONGEST_US);
        self.us.record(us).expect("the histogram grows");
        self.sum_ns += time.as_nanos();
        self.max = self.max.max(time);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.us.len()
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.us.reset();
        self.sum_ns = 0;
        self.max = Duration::ZERO;
    }

    /// Their figures. `None` without any.
    pub(crate) fn figures(&self) -> Option<TimesMs> {
        let count = Some(self.count()).filter(|count| *count > 0)?;
        let quantile = |share| {
            let us = self.us.value_at_quantile(share);
            millis(Duration::from_micros(us).min(self.max))
        };
        Some(TimesMs {
            mean_ms: self.sum_ns as f64 / count as f64 / 1e6,
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: millis(self.max),
            cdf_ms: Some(std::array::from_fn(|step| {
                quantile(step as f64 / CDF_STEPS as f64)
            })),
        })
    }
}

/// One-way delays of the datagrams of one flow, in the order in which they arrive.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Delays {
    times: Times,
    /// Delay of the last datagram.
    last: Option<Duration>,
    jitter_ns: f64,
}

impl Delays {
    /// A datagram arrives this long after it was sent.
    pub(crate) fn record(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            let differs = delay.abs_diff(last).as_nanos() as f64;
            self.jitter_ns += (differs - self.jitter_ns) / 16.0;
        }
        self.times.record(delay);
    }

    /// Forgets all of them, as if the next datagram were the first.
    pub(crate) fn clear(&mut self) {
        self.times.clear();
        (self.last, self.jitter_ns) = (None, 0.0);
    }

    /// Their figures. `None` without any.
    pub(crate) fn figures(&self) -> Option<TimesMs> {
        self.times.figures()
    }

    /// Jitter after the last datagram, in ms. `None` before the second one.
    pub(crate) fn jitter_ms(&self) -> Option<f64> {
        (self.times.count() > 1).then_some(self.jitter_ns / 1e6)
    }
}

/// Milliseconds, to the nanosecond.
fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_known_distribution() {
        let mut times = Times::default();
        assert_eq!(times.figures(), None);
        (1..=10_000).for_each(|tenth| times.record(Duration::from_micros(tenth * 100)));
        let figures = times.figures().unwrap();
        assert!((figures.mean_ms - 500.05).abs() < 1e-6, "{figures:?}");
        let shown = [
            (figures.p50_ms, 500.0),
            (figures.p95_ms, 950.0),
            (figures.p99_ms, 990.0),
        ];
        for (shown, exact) in shown {
            assert!(
                (exact..=exact * 129.0 / 128.0).contains(&shown),
                "{shown} {exact}"
            );
        }
        assert_eq!(figures.max_ms, 1_000.0);
        let cdf = figures.cdf_ms.unwrap();
        assert_eq!(
            (cdf[10], cdf[19], cdf[20]),
            (figures.p50_ms, figures.p95_ms, 1_000.0)
        );
        assert!(cdf[0] < 0.2 && cdf.is_sorted(), "{cdf:?}");
        times.clear();
        assert_eq!(
            times,
            Times {
                us: times.us.clone(),
                ..Times::default()
            }
        );
        assert_eq!(times.figures(), None);
    }

    #[test]
    fn a_time_of_more_than_an_hour_is_kept_exactly_as_the_longest() {
        let mut times = Times::default();
        times.record(Duration::from_secs(7_200));
        let figures = times.figures().unwrap();
        assert_eq!((figures.mean_ms, figures.max_ms), (7_200_000.0, 7_200_000.0));
        assert!(figures.p50_ms >= 3_600_000.0);
    }

    /// The differences are 0, 16, 16 and 32 ms: J = 0, 1, 1.9375, 3.81640625.
    #[test]
    fn jitter_follows_the_differences_of_consecutive_delays() {
        let mut delays = Delays::default();
        let expected = [None, Some(0.0), Some(1.0), Some(1.9375), Some(3.816_406_25)];
        for (delay, jitter) in [20, 20, 36, 20, 52].into_iter().zip(expected) {
            delays.record(Duration::from_millis(delay));
            assert_eq!(delays.jitter_ms(), jitter);
        }
        delays.clear();
        assert_eq!(delays.jitter_ms(), None);
    }
}
