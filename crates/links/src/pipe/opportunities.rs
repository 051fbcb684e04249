//! A recorded cellular trace: when the link may deliver.
//!
//! # Sources
//! - Netravali et al.: Mahimahi (USENIX ATC 2015), §4 and `link_queue.cc`. A trace has one line per delivery
//!   opportunity, in ms. The last one is the period after which the trace repeats. An opportunity with an
//!   empty queue is lost. If a packet leaves room in an opportunity, the next packet uses it. A packet waits
//!   for its last byte.
//!
//! # Where we differ, and why
//! 1. An opportunity carries 1,500 bytes of IP packets. Mahimahi counts 1,504, because its TUN devices
//!    prepend 4 bytes to each packet. A full packet uses one opportunity in both.
//! 2. Times are in nanoseconds. A packet may use any opportunity after its arrival, even within the same
//!    millisecond.
//!
//! # Checked by
//! `port::tests` (bytes carried over, opportunities lost), `tests/wired.rs` (never faster than the trace over
//! any window).

use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant};

/// Bytes that one opportunity carries.
pub(crate) const OPPORTUNITY: u32 = 1_500;

#[derive(Debug)]
pub(crate) struct Opportunities {
    times: Vec<u64>,
    period: u64,
    /// The next one that is neither used nor lost.
    base: u64,
    next: usize,
}

impl Opportunities {
    /// `times` must not decrease, and the last one must not be zero (otherwise a [`crate::ConfigError`]).
    pub(crate) fn new(times: &[Duration]) -> Self {
        let times: Vec<u64> = times
            .iter()
            .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
            .collect();
        Self {
            period: times.last().copied().unwrap_or(u64::MAX),
            times,
            base: 0,
            next: 0,
        }
    }

    /// Mean rate of one period.
    pub(crate) fn mean(&self) -> Bitrate {
        Bytes::new(self.times.len() as u64 * u64::from(OPPORTUNITY)).per(Duration::from_nanos(self.period))
    }

    pub(crate) fn at(&self) -> Instant {
        Instant::from_nanos(self.base.saturating_add(self.times[self.next]))
    }

    /// Uses the next one.
    pub(crate) fn advance(&mut self) {
        self.next += 1;
        if self.next == self.times.len() {
            self.next = 0;
            self.base = self.base.saturating_add(self.period);
        }
    }

    /// Loses all up to and including `now`.
    pub(crate) fn skip_to_after(&mut self, now: Instant) {
        self.seek(now, |time, now| time <= now);
    }

    /// Loses all before `now`.
    pub(crate) fn skip_to(&mut self, now: Instant) {
        self.seek(now, |time, now| time < now);
    }

    fn seek(&mut self, now: Instant, lost: impl Fn(u64, u64) -> bool) {
        if !lost(self.at().as_nanos(), now.as_nanos()) {
            return;
        }
        let periods = now.as_nanos() / self.period;
        self.base = self.base.max(periods.saturating_sub(1) * self.period);
        self.next = 0;
        while lost(self.base.saturating_add(self.period), now.as_nanos()) {
            self.base = self.base.saturating_add(self.period);
        }
        let base = self.base;
        self.next = self
            .times
            .partition_point(|&time| lost(base.saturating_add(time), now.as_nanos()));
    }
}
