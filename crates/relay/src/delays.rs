//! How long something took, counted in ranges: a histogram of Prometheus.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Upper ends of the ranges, in milliseconds.
const UP_TO_MS: [u64; 10] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// Delays since the program started.
#[derive(Debug, Default)]
pub struct Delays {
    /// Per range, how many. The last one has no upper end.
    counts: [AtomicU64; UP_TO_MS.len() + 1],
    sum_us: AtomicU64,
}

impl Delays {
    /// Adds one.
    pub fn add(&self, delay: Duration) {
        let range = UP_TO_MS.partition_point(|&up_to| Duration::from_millis(up_to) < delay);
        self.counts[range].fetch_add(1, Ordering::Relaxed);
        let delay_us = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.sum_us.fetch_add(delay_us, Ordering::Relaxed);
    }

    /// What has been counted so far.
    pub fn counted(&self) -> Counted {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Counted {
            counts: counts.to_vec(),
            sum_us: self.sum_us.load(Ordering::Relaxed),
        }
    }
}

/// Delays as they were at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many took up to 5, 10, 20, 50, 100, 200, 500, 1,000, 2,000 and 5,000 ms, and how many longer.
    pub counts: Vec<u64>,
    /// All of them together, in microseconds.
    pub sum_us: u64,
}

impl Counted {
    /// Writes it as a histogram of Prometheus, in seconds.
    pub fn write(&self, text: &mut String, name: &str, help: &str) {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut total = 0;
        let ends = UP_TO_MS.iter().map(|&ms| (ms as f64 / 1e3).to_string());
        for (end, count) in ends.chain(["+Inf".to_owned()]).zip(&self.counts) {
            total += count;
            let _ = writeln!(text, "{name}_bucket{{le=\"{end}\"}} {total}");
        }
        let _ = writeln!(text, "{name}_sum {}", self.sum_us as f64 / 1e6);
        let _ = writeln!(text, "{name}_count {total}");
    }
}

/// Measures when the first byte of a server comes.
#[derive(Debug)]
pub struct FirstByte {
    began: Instant,
    came: AtomicBool,
    into: Arc<Delays>,
}

impl FirstByte {
    /// Measures from now on.
    pub fn from_now(into: &Arc<Delays>) -> Self {
        Self {
            began: Instant::now(),
            came: AtomicBool::new(false),
            into: into.clone(),
        }
    }

    /// Some bytes have come.
    pub fn comes(&self) {
        // One task writes it.
        if !self.came.load(Ordering::Relaxed) {
            self.came.store(true, Ordering::Relaxed);
            self.into.add(self.began.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_up_to_the_end_of_their_range() {
        let delays = Delays::default();
        for ms in [0, 5, 6, 5_000, 5_001] {
            delays.add(Duration::from_millis(ms));
        }
        let counted = delays.counted();
        assert_eq!(counted.counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        let mut text = String::new();
        counted.write(&mut text, "delay_seconds", "How long it took");
        for line in [
            "# TYPE delay_seconds histogram",
            "delay_seconds_bucket{le=\"0.005\"} 2",
            "delay_seconds_bucket{le=\"0.01\"} 3",
            "delay_seconds_bucket{le=\"5\"} 4",
            "delay_seconds_bucket{le=\"+Inf\"} 5",
            "delay_seconds_sum 10.012",
            "delay_seconds_count 5",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
    }

    #[test]
    fn only_the_first_byte_counts() {
        let delays = Arc::<Delays>::default();
        let first = FirstByte::from_now(&delays);
        first.comes();
        first.comes();
        assert_eq!(delays.counted().counts.iter().sum::<u64>(), 1);
    }
}
