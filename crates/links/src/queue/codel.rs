//! CoDel: drops (or marks) at the head when the sojourn time stays above the target for an interval.
//!
//! # Sources
//! - RFC 8289 §5.3–5.6: `dodequeue`, `dequeue` and the control law. §4.4: a new drop state starts near the
//!   last drop rate.
//! - RFC 8290 §5.2 (`fq_codel`): a packet that carries ECT is marked instead of dropped. The mark ends the
//!   step, because the packet leaves.
//!
//! # Where we differ, and why
//! 1. The control law uses an integer square root, in nanoseconds:
//!    `interval / √count = √(interval² / count)`.
//!
//! # Checked by
//! `tests`: the drop times of a standing queue follow the control law; no drop below the target, within the
//! first interval, or of the last packet; marks; the drop rate is remembered.

use units::{Duration, Instant};

use crate::config;

/// State of the control law. [`super::Queue`] owns the packets.
#[derive(Debug)]
pub(crate) struct Codel {
    target: Duration,
    interval: Duration,
    pub(crate) ecn: bool,
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u64,
    last_count: u64,
}

/// What happens to the packet at the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It leaves.
    Pass,
    /// It is dropped (or marked).
    Signal,
}

impl Codel {
    pub(crate) fn new(config: config::Codel) -> Self {
        Self {
            target: config.target,
            interval: config.interval,
            ecn: config.ecn,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Resets the state when the queue is empty.
    pub(crate) fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Decides about the packet just taken from the head. `sojourn` is its sojourn time. `nearly_empty`: at
    /// most one full packet remains. If the queue drops the packet on `Signal`, it calls
    /// [`Codel::after_drop`] with the next one.
    pub(crate) fn head(&mut self, now: Instant, sojourn: Duration, nearly_empty: bool) -> Verdict {
        let too_long = self.too_long(now, sojourn, nearly_empty);
        if self.dropping {
            self.dropping = too_long;
            if !(too_long && now >= self.drop_next) {
                return Verdict::Pass;
            }
            self.count += 1;
            return Verdict::Signal;
        }
        if too_long { Verdict::Signal } else { Verdict::Pass }
    }

    /// Records that the head was marked instead of dropped, and leaves.
    pub(crate) fn marked(&mut self, now: Instant) {
        if self.dropping {
            self.drop_next = self.law(self.drop_next);
        } else {
            self.enter(now);
        }
    }

    /// Records that the head was dropped, and decides about the next packet.
    pub(crate) fn after_drop(&mut self, now: Instant, sojourn: Duration, nearly_empty: bool) -> Verdict {
        let too_long = self.too_long(now, sojourn, nearly_empty);
        if !self.dropping {
            self.enter(now);
            return Verdict::Pass;
        }
        self.dropping = too_long;
        if !too_long {
            return Verdict::Pass;
        }
        self.drop_next = self.law(self.drop_next);
        if now < self.drop_next {
            return Verdict::Pass;
        }
        self.count += 1;
        Verdict::Signal
    }

    /// RFC 8289 §5.6, `dodequeue`: whether it is "ok to drop".
    fn too_long(&mut self, now: Instant, sojourn: Duration, nearly_empty: bool) -> bool {
        if sojourn < self.target || nearly_empty {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
            Some(since) => now >= since,
        }
    }

    /// Enters the drop state, near the rate of the last one if that was recent.
    fn enter(&mut self, now: Instant) {
        let delta = self.count - self.last_count;
        let recent = now < self.drop_next + self.interval * 16;
        self.dropping = true;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.law(now);
        self.last_count = self.count;
    }

    fn law(&self, from: Instant) -> Instant {
        let interval = self.interval.as_nanos();
        let step = (interval * interval / u128::from(self.count.max(1))).isqrt();
        from + Duration::from_nanos(step as u64)
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
