//! How long to wait before something is tried again: longer after each failure.
//!
//! Slow links and poor access points are tried on live connections. A trial that fails
//! costs goodput for a moment, and would fail again soon after.
//!
//! # Checked by
//! `tests` below.

use units::{Duration, Instant};

/// A pause that doubles with each failure, up to `LONGEST_S` seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pause<const LONGEST_S: u64> {
    length: Duration,
    until: Instant,
}

impl<const LONGEST_S: u64> Pause<LONGEST_S> {
    const LONGEST: Duration = Duration::from_secs(LONGEST_S);

    /// No pause now. The next one has this length.
    pub(crate) const fn new(length: Duration) -> Self {
        Self {
            length,
            until: Instant::ZERO,
        }
    }

    /// Whether something may be tried now.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }

    /// Pauses without a failure.
    pub(crate) fn rest(&mut self, now: Instant) {
        self.until = now + self.length;
    }

    /// Pauses. The next pause is twice as long.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.rest(now);
        self.double();
    }

    /// Makes the next pause twice as long.
    pub(crate) fn double(&mut self) {
        self.length = (self.length * 2).min(Self::LONGEST);
    }

    /// Makes the next pause at least this long.
    pub(crate) fn at_least(&mut self, length: Duration) {
        self.length = self.length.max(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long nothing is tried after each of these failures.
    fn pauses(pause: &mut Pause<10>, failures: usize) -> alloc::vec::Vec<u64> {
        let mut now = Instant::from_secs(100);
        let mut lasts = alloc::vec::Vec::new();
        for _ in 0..failures {
            pause.failed(now);
            let since = now;
            while !pause.is_over(now) {
                now += Duration::from_secs(1);
            }
            lasts.push((now - since).as_secs_f64() as u64);
        }
        lasts
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut pause = Pause::new(Duration::from_secs(3));
        assert!(pause.is_over(Instant::ZERO));
        assert_eq!(pauses(&mut pause, 4), [3, 6, 10, 10]);
    }

    #[test]
    fn a_longer_first_pause_can_be_asked_for() {
        let mut pause = Pause::new(Duration::from_secs(3));
        pause.at_least(Duration::from_secs(4));
        pause.at_least(Duration::from_secs(2));
        assert_eq!(pauses(&mut pause, 3), [4, 8, 10]);
    }
}
