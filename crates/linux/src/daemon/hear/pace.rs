//! How often counters are read: often while data moves, seldom while nothing does, never more than a bounded share of a core.
//!
//! # Where we differ, and why
//! 1. A fixed period would cost 30 times more with 100 connections than with one. The period stretches with what the last
//!    reading cost ([`SHARE`]), so the cost is bounded and few connections are watched as closely as the detection of a dead
//!    link needs (its shortest rule is the first reading that finds nothing new). With many, a doubt is ripe before the next reading: then the
//!    interface alone is read when the engine asks to be woken (`Daemon::look_at_doubted`).
//! 2. What was costly once stretches nothing: a thread that has just set up a connection's levers has not read too often. With that counted, the
//!    second reading of the first connection came 100 ms after the first, and so did the news that its joins had been accepted.
//!
//! # Checked by
//! `hear::pace::tests`; bench `window-cost`.

use std::time::Duration;
use units::Instant;

/// While data moves.
const BUSY: Duration = Duration::from_millis(10);
/// While a link is in doubt or a subflow unproven.
const KEEN: Duration = Duration::from_millis(5);
/// While nothing moves.
const IDLE: Duration = Duration::from_millis(100);
/// A reading may cost one in so many parts of the time until the next.
const SHARE: u32 = 50;

/// The pace of one daemon.
#[derive(Debug)]
pub(crate) struct Pace {
    next: Option<Instant>,
    next_idle: Instant,
    /// What the last two readings cost, the later first.
    costs: [Duration; 2],
}

/// Which connections are to be read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Those in which data moves.
    Busy,
    /// All.
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

    /// Whom to read now, if anyone.
    pub(crate) fn due(&self, now: Instant) -> Option<Whom> {
        self.next.filter(|next| *next <= now)?;
        Some(if self.next_idle <= now {
            Whom::All
        } else {
            Whom::Busy
        })
    }

    /// A reading was done, and this is what there is to read now.
    pub(crate) fn read(&mut self, now: Instant, whom: Whom, cost: Duration, state: Watched) {
        self.costs = [cost, self.costs[0]];
        if whom == Whom::All {
            self.next_idle = now + self.stretched(IDLE);
        }
        self.plan(now, state);
    }

    /// Something changed outside of a reading: the next one may have to be sooner.
    pub(crate) fn stir(&mut self, now: Instant, state: Watched) {
        let planned = self.next;
        self.plan(now, state);
        self.next = self
            .next
            .map(|next| planned.map_or(next, |planned| next.min(planned)));
    }

    /// When [`Pace::due`] has something.
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

/// What there is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watched {
    /// No connection.
    Nothing,
    /// Connections in which nothing moves.
    Idle,
    /// Data moves.
    Busy,
    /// A link is in doubt, or a subflow unproven.
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
    fn nothing_to_watch_is_never_due() {
        let mut pace = Pace::new();
        pace.stir(ms(1), Watched::Nothing);
        assert_eq!((pace.wake_at(), pace.due(ms(1_000))), (None, None));
    }

    #[test]
    fn the_period_follows_what_moves() {
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
    fn a_costly_reading_is_done_less_often() {
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
    fn one_costly_reading_delays_nothing() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Busy);
        for cost_us in [5_000, 50, 5_000, 50] {
            let now = pace.wake_at().expect("planned");
            read(&mut pace, now, cost_us, Watched::Busy);
            assert_eq!(pace.wake_at(), Some(now + BUSY));
        }
    }

    #[test]
    fn doubt_hurries_and_calm_does_not_delay() {
        let mut pace = Pace::new();
        pace.stir(ms(100), Watched::Busy);
        pace.stir(ms(101), Watched::Doubtful);
        assert_eq!(pace.wake_at(), Some(ms(106)));
        pace.stir(ms(102), Watched::Busy);
        assert_eq!(pace.wake_at(), Some(ms(106)));
    }
}
