//! An exponentially weighted mean over time, in integers.
//!
//! Samples may come at any spacing: each is weighted by the time since the last one, relative to the time
//! constant.
//!
//! # Checked by
//! `steer::tests`.

use units::{Duration, Instant};

/// An exponentially weighted mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Smooth {
    constant: Duration,
    value: Option<(Instant, u64)>,
}

impl Smooth {
    pub(super) const fn over(constant: Duration) -> Self {
        Self {
            constant,
            value: None,
        }
    }

    /// Adds a sample. The first one becomes the mean.
    pub(super) fn read(&mut self, now: Instant, reading: u64) -> u64 {
        let value = match self.value {
            None => reading,
            Some((at, value)) => self.blend(now - at, value, reading),
        };
        self.value = Some((now, value));
        value
    }

    fn blend(&self, passed: Duration, value: u64, reading: u64) -> u64 {
        let passed = passed.as_nanos();
        // Backward Euler: stable for any spacing.
        let whole = passed + self.constant.as_nanos();
        if whole == 0 {
            return reading;
        }
        let weighted = u128::from(reading)
            .saturating_mul(passed)
            .saturating_add(u128::from(value).saturating_mul(whole - passed));
        u64::try_from((weighted + whole / 2) / whole).unwrap_or(u64::MAX)
    }

    /// The present mean. Zero before the first sample.
    pub(super) fn get(&self) -> u64 {
        self.value.map_or(0, |(_, value)| value)
    }
}
