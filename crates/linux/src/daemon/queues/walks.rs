//! When a lever's sockets are walked: soon after a limit was set and, if the kernel undoes limits, from time
//! to time.
//!
//! # Where we differ, and why
//! A walk visits every TCP socket of the namespace and costs milliseconds, however few of them are ours. So
//! several changes share one walk. Repeated walks become rarer while they find nothing to set again. Walks of
//! up to 4 ms use at most 1/50 of a CPU. Slower ones use more, because no change waits longer than the
//! longest pause: walks of 30 ms use 1/8. Hasty walks, which are needed only for a short time, may use 1/6
//! while they take up to 40 ms.
//!
//! # Checked by
//! `tests` below; `window-cost` in the benchmarks.

use units::{Duration, Instant};

/// Shortest pause between walks: many subflows join at the same moment.
const LEAST_PAUSE: Duration = Duration::from_millis(20);
/// A pause is this many times as long as the walk before it, up to [`MOST_PAUSE`].
const PAUSE_PER_WALK: u32 = 50;
/// A pause after a hasty walk is this many times as long as the walk.
const HASTY_PAUSE_PER_WALK: u32 = 5;
/// Longest pause, however slow a walk was: a connection waits for its raised window.
const MOST_PAUSE: Duration = Duration::from_millis(200);
/// Pause after a failed walk. Every failure is reported.
pub(crate) const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Repeated walks that find nothing to set again grow rarer, up to this many times the first interval.
/// Autotuning was seen to lift a clamp within 2.5 s.
const RAREST: u32 = 8;

/// The schedule of one lever's walks.
#[derive(Debug)]
pub(crate) struct Walks {
    pause_per_walk: u32,
    asked: bool,
    not_before: Instant,
    /// Current interval between repeated walks, and when the next is due.
    again: Option<(Duration, Instant)>,
}

impl Default for Walks {
    fn default() -> Self {
        Self {
            pause_per_walk: PAUSE_PER_WALK,
            asked: false,
            not_before: Instant::ZERO,
            again: None,
        }
    }
}

impl Walks {
    /// For limits that are urgent and rare.
    pub(crate) fn hasty() -> Self {
        Self {
            pause_per_walk: HASTY_PAUSE_PER_WALK,
            ..Self::default()
        }
    }

    /// Asks for a walk: a limit was set or cleared.
    pub(crate) const fn ask(&mut self) {
        self.asked = true;
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let asked = self.asked.then_some(self.not_before);
        [asked, self.again.map(|(_, at)| at)].into_iter().flatten().min()
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.wake_at().is_some_and(|at| at <= now)
    }

    /// Records a walk that has just ended, how long it took and whether it changed a socket. `every`: how
    /// often the kernel may undo limits.
    pub(crate) fn walked(&mut self, now: Instant, took: Duration, changed: bool, every: Option<Duration>) {
        let pause = (took * self.pause_per_walk).clamp(LEAST_PAUSE, MOST_PAUSE);
        self.not_before = now + pause;
        self.again = every.map(|first| {
            let interval = match self.again {
                Some((last, _)) if !changed => (last * 2).min(first * RAREST),
                _ => first,
            };
            (interval, now + interval.max(pause))
        });
        self.asked = false;
    }

    /// Records a failed walk. The next one sets what this one should have set.
    pub(crate) fn failed(&mut self, now: Instant) {
        (self.asked, self.again) = (true, None);
        self.not_before = now + AFTER_FAILURE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Option<Duration> = Some(Duration::from_millis(100));
    const WALK: Duration = Duration::from_micros(100);

    fn millis(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    #[test]
    fn changes_at_one_moment_share_one_walk() {
        let mut walks = Walks::default();
        assert_eq!(walks.wake_at(), None);
        walks.ask();
        assert!(walks.is_due(millis(1_000)));
        walks.walked(millis(1_000), WALK, true, None);
        assert_eq!(walks.wake_at(), None);
        walks.ask();
        walks.ask();
        assert!(!walks.is_due(millis(1_019)) && walks.is_due(millis(1_020)));
    }

    #[test]
    fn slow_walks_are_rare_but_no_change_waits_long() {
        let mut walks = Walks::default();
        walks.walked(millis(1_000), Duration::from_millis(3), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_150)));
        walks.walked(millis(1_150), Duration::from_millis(30), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_350)));
    }

    #[test]
    fn hasty_walks_wait_a_tenth_as_long() {
        let mut walks = Walks::hasty();
        walks.walked(millis(1_000), Duration::from_millis(6), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_030)));
    }

    #[test]
    fn after_a_failed_walk_the_next_sets_its_limits() {
        for every in [None, EVERY] {
            let mut walks = Walks::default();
            walks.walked(millis(1_000), WALK, true, every);
            walks.ask();
            walks.failed(millis(1_100));
            assert_eq!(walks.wake_at(), Some(millis(2_100)));
            walks.ask();
            assert_eq!(walks.wake_at(), Some(millis(2_100)), "failures are not hurried");
            walks.walked(millis(2_100), WALK, true, every);
            assert_eq!(walks.wake_at(), every.map(|every| millis(2_100) + every));
        }
    }

    #[test]
    fn walks_become_rarer_while_the_kernel_undoes_nothing() {
        let mut walks = Walks::default();
        let at = |changed, walks: &mut Walks| {
            let now = walks.wake_at().unwrap_or(millis(1_000));
            walks.walked(now, WALK, changed, EVERY);
            walks.wake_at().unwrap() - now
        };
        let mut intervals = [false; 6].map(|changed| at(changed, &mut walks).as_millis());
        assert_eq!(intervals, [100, 200, 400, 800, 800, 800]);
        intervals =
            [true, false, false, true, false, true].map(|changed| at(changed, &mut walks).as_millis());
        assert_eq!(intervals, [100, 200, 400, 100, 200, 100]);
        let now = walks.wake_at().unwrap();
        walks.walked(now, WALK, false, None);
        assert_eq!(walks.wake_at(), None, "nothing is set any more");
    }
}
