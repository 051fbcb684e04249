//! How often counters are sampled: often while data moves, rarely while it does not, and within a fixed share
//! of a core.
//!
//! # Where we differ, and why
//! 1. A fixed period would cost 30 times more with 100 connections than with one. The period grows with the
//!    cost of the last sample ([`SHARE`]), so the cost is bounded. Few connections are sampled as often as
//!    the detection of a dead link needs: its shortest rule is the first sample that shows nothing new. With
//!    many, the engine's deadline for a suspect link comes before the next sample. Then only the interface's
//!    counter is read when the engine asks to be woken (`Daemon::look_at_doubted`).
//! 2. A single costly sample does not stretch the period. Otherwise the setup of a connection's levers,
//!    counted as the cost of a sample, would delay the second sample by 100 ms. The proof that its joins were
//!    accepted would be as late.
//!
//! # Checked by
//! `hear::pace::tests`; bench `window-cost`.

use std::time::Duration;
use units::Instant;

/// Sample period while data moves.
const BUSY: Duration = Duration::from_millis(10);
/// Sample period while a link is suspect or a subflow unproven.
const KEEN: Duration = Duration::from_millis(5);
/// Sample period while nothing moves.
const IDLE: Duration = Duration::from_millis(100);
/// A sample may use at most 1/`SHARE` of the time until the next one.
const SHARE: u32 = 50;

/// The sampling schedule of one daemon.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Option<Instant>,
    next_idle: Instant,
    /// Cost of the last two samples, the later first.
    costs: [Duration; 2],
}

/// Which connections to sample now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Connections in which data moves.
    Busy,
    /// All connections.
    All,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Self {
            next: None,
            next_idle: Instant::ZERO,
            costs: [Duration::ZERO; 2],
        }
    }

    /// Which connections to sample now, if any.
    pub(crate) fn due(&self, now: Instant) -> Option<Whom> {
        self.next.filter(|next| *next <= now)?;
        Some(if self.next_idle <= now {
            Whom::All
        } else {
            Whom::Busy
        })
    }

    /// Records a sample and its cost, and schedules the next one for the current `state`.
    pub(crate) fn read(&mut self, now: Instant, whom: Whom, cost: Duration, state: Watched) {
        self.costs = [cost, self.costs[0]];
        if whom == Whom::All {
            self.next_idle = now + self.stretched(IDLE);
        }
        self.plan(now, state);
    }

    /// Reschedules the next sample if an event made it more urgent.
    pub(crate) fn stir(&mut self, now: Instant, state: Watched) {
        let planned = self.next;
        self.plan(now, state);
        self.next = self
            .next
            .map(|next| planned.map_or(next, |planned| next.min(planned)));
    }

    /// When [`Pace::due`] next returns something.
    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.next
    }

    fn plan(&mut self, now: Instant, state: Watched) {
        self.next = match state {
            Watched::Nothing => None,
            Watched::Idle => Some(self.next_idle.max(now)),
            Watched::Busy => Some(now + self.stretched(BUSY)),
            Watched::Doubtful => Some(now + self.stretched(KEEN)),
        };
    }

    fn stretched(&self, period: Duration) -> Duration {
        let [last, before] = self.costs;
        period.max(last.min(before).saturating_mul(SHARE)).min(IDLE)
    }
}

/// What there is to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watched {
    /// No connection.
    Nothing,
    /// Connections in which nothing moves.
    Idle,
    /// A connection in which data moves.
    Busy,
    /// A suspect link, or an unproven subflow.
    Doubtful,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn read(pace: &mut Pace, now: Instant, cost_us: u64, state: Watched) {
        let whom = pace.due(now).expect("due");
        pace.read(now, whom, Duration::from_micros(cost_us), state);
    }

    #[test]
    fn with_nothing_to_sample_nothing_is_due() {
        let mut pace = Pace::new();
        pace.stir(ms(1), Watched::Nothing);
        assert_eq!((pace.wake_at(), pace.due(ms(1_000))), (None, None));
    }

    #[test]
    fn the_period_depends_on_what_moves() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Idle);
        assert_eq!(pace.due(ms(100)), Some(Whom::All));
        read(&mut pace, ms(100), 50, Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(110)));
        assert_eq!(pace.due(ms(110)), Some(Whom::Busy));
        read(&mut pace, ms(110), 50, Watched::Doubtful);
        assert_eq!(pace.wake_at(), Some(ms(115)));
        read(&mut pace, ms(115), 50, Watched::Idle);
        assert_eq!(pace.wake_at(), Some(ms(200)));
        assert_eq!(pace.due(ms(200)), Some(Whom::All));
    }

    #[test]
    fn costly_samples_stretch_the_period() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Busy);
        read(&mut pace, ms(110), 1_000, Watched::Busy);
        read(&mut pace, ms(120), 1_000, Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(170)));
        read(&mut pace, ms(170), 50_000, Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(220)));
        read(&mut pace, ms(220), 50_000, Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(320)));
    }

    #[test]
    fn one_costly_sample_delays_nothing() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Busy);
        for cost_us in [5_000, 50, 5_000, 50] {
            let now = pace.wake_at().expect("planned");
            read(&mut pace, now, cost_us, Watched::Busy);
            assert_eq!(pace.wake_at(), Some(now + BUSY));
        }
    }

    #[test]
    fn doubt_brings_the_next_sample_forward_and_calm_does_not_delay_it() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Busy);
        pace.stir(ms(101), Watched::Doubtful);
        assert_eq!(pace.wake_at(), Some(ms(106)));
        pace.stir(ms(102), Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(106)));
    }
}
