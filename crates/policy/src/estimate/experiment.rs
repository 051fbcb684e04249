//! An experiment on live connections: a change is tried, judged by goodput, and kept or taken back.
//!
//! An experiment that fails costs goodput for a moment, and would fail again soon after. So the pause until
//! the next one is twice as long after each failure.
//!
//! | time since the change | goodput, of that before | verdict |
//! |---|---|---|
//! | up to 0.5 s | | none: the queues of the links follow the change |
//! | from 1 s | at least 5/4 | keep it |
//! | | under 3/4 | take it back |
//! | 3 s | at least the goal | keep it |
//! | | less | take it back |
//!
//! # Checked by
//! `tests` below; `slow::tests` and `wifi::steer::tests` by what the experiments find.

use super::tuning::{EARLY, LOST_PERCENT, MOST, SETTLE, WON_PERCENT};
use units::{Bitrate, Duration, Instant};

/// A change that is being tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Experiment<S> {
    /// What is tried.
    pub(crate) subject: S,
    /// Goodput before the change.
    pub(crate) before: Bitrate,
    since: Instant,
    looked: Instant,
    mean: Mean,
}

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Mean goodput with the change.
    pub(crate) with: Bitrate,
    pub(crate) kept: bool,
}

impl<S> Experiment<S> {
    /// The change is made now.
    pub(crate) const fn begin(now: Instant, subject: S, before: Bitrate) -> Self {
        Self {
            subject,
            before,
            since: now,
            looked: now,
            mean: Mean { sum: 0, span: 0 },
        }
    }

    /// Takes in the present goodput. Returns the verdict, once there is one. `goal`: the goodput that pays
    /// for the change.
    pub(crate) fn judge(&mut self, now: Instant, goodput: Bitrate, goal: Bitrate) -> Option<Verdict> {
        let passed = now - core::mem::replace(&mut self.looked, now);
        let age = now - self.since;
        if age > SETTLE {
            self.mean.add(passed, goodput);
        }
        let with = self.mean.get()?;
        let kept = match age {
            _ if age >= MOST => with >= goal,
            _ if age < EARLY => return None,
            _ if with >= self.before.percent(WON_PERCENT) => true,
            _ if with < self.before.percent(LOST_PERCENT) => false,
            _ => return None,
        };
        Some(Verdict { with, kept })
    }
}

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

/// A mean over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mean {
    sum: u128,
    span: u128,
}

impl Mean {
    fn add(&mut self, passed: Duration, value: Bitrate) {
        let passed = passed.as_nanos();
        self.sum = self
            .sum
            .saturating_add(passed.saturating_mul(value.as_bps().into()));
        self.span += passed;
    }

    fn get(&self) -> Option<Bitrate> {
        let mean = u64::try_from(self.sum.checked_div(self.span)?);
        mean.ok().map(Bitrate::from_bps)
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

    /// The verdict on this goodput, told every 50 ms, and when it came.
    fn verdict(goodput: impl Fn(u64) -> u64, goal: u64) -> (Verdict, u64) {
        let mbps = Bitrate::from_mbps;
        let begin = Instant::from_secs(7);
        let mut trial = Experiment::begin(begin, (), mbps(100));
        for ms in (50..).step_by(50) {
            let now = begin + Duration::from_millis(ms);
            if let Some(verdict) = trial.judge(now, mbps(goodput(ms)), mbps(goal)) {
                return (verdict, ms);
            }
        }
        unreachable!("it ends after three seconds")
    }

    #[test]
    fn clear_results_end_it_early_and_others_meet_the_goal_or_not() {
        let ended = |goodput: u64, goal| {
            let (verdict, ms) = verdict(|_| goodput, goal);
            assert_eq!(verdict.with, Bitrate::from_mbps(goodput));
            (verdict.kept, ms)
        };
        assert_eq!(ended(125, 150), (true, 1_000));
        assert_eq!(ended(74, 50), (false, 1_000));
        assert_eq!(ended(104, 104), (true, 3_000));
        assert_eq!(ended(104, 105), (false, 3_000));
    }

    #[test]
    fn the_first_half_second_does_not_count() {
        let (verdict, _) = verdict(|ms| if ms <= 500 { 1 } else { 110 }, 110);
        assert_eq!((verdict.kept, verdict.with), (true, Bitrate::from_mbps(110)));
    }
}
