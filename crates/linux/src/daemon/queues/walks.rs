//! When a lever's sockets are walked: soon after something was set, and, where the kernel undoes it, from time to time.
//!
//! # Where we differ, and why
//! A walk looks at every TCP socket of the namespace and costs milliseconds, however few of them are ours. So many changes share one walk,
//! and while nothing had to be set again they become rarer. Walks of up to 4 ms take a fiftieth of a processor at most; slower ones more, since
//! no change waits longer than the longest pause: one of 30 ms an eighth. What is hasty, and over soon, may take a sixth while walks take up to 40 ms.
//!
//! # Checked by
//! `tests` below; `window-cost` in the benchmarks.

use units::{Duration, Instant};

/// Walks no sooner after the last: many subflows join in the same moment.
const LEAST_PAUSE: Duration = Duration::from_millis(20);
/// A pause is so many times as long as the walk before it, up to the longest pause.
const PAUSE_PER_WALK: u32 = 50;
const HASTY_PAUSE_PER_WALK: u32 = 5;
/// No pause is longer, however slow a walk was: a raised window is waited for.
const MOST_PAUSE: Duration = Duration::from_millis(200);
/// Until a walk that failed is tried again: every failure is told.
pub(crate) const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Where nothing had to be set again, so many times the first interval at most. Autotuning was seen to lift a clamp within 2.5 s.
const RAREST: u32 = 8;

/// The walks of one lever.
#[derive(Debug)]
pub(crate) struct Walks {
    pause_per_walk: u32,
    asked: bool,
    not_before: Instant,
    /// The interval at which they are repeated now, and the next time.
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
    /// For what must be soon, and happens seldom.
    pub(crate) fn hasty() -> Self {
        Self {
            pause_per_walk: HASTY_PAUSE_PER_WALK,
            ..Self::default()
        }
    }

    /// Something was set.
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

    /// One walk has just ended, took so long and changed something or nothing; `every`: how often the kernel may undo it.
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

    /// One walk has just failed: what was set is still to be done, and so is what the kernel may undo.
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
    fn what_is_set_in_one_moment_shares_one_walk() {
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
    fn slow_walks_are_rare_and_a_change_is_not_kept_waiting_for_long() {
        let mut walks = Walks::default();
        walks.walked(millis(1_000), Duration::from_millis(3), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_150)));
        walks.walked(millis(1_150), Duration::from_millis(30), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_350)));
    }

    #[test]
    fn what_is_hasty_waits_for_a_tenth_of_that() {
        let mut walks = Walks::hasty();
        walks.walked(millis(1_000), Duration::from_millis(6), true, None);
        walks.ask();
        assert_eq!(walks.wake_at(), Some(millis(1_030)));
    }

    #[test]
    fn what_a_failed_walk_should_have_done_is_done_by_the_next() {
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
    fn while_nothing_is_undone_walks_become_rarer() {
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
