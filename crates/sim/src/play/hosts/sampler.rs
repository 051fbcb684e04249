//! When counters are sampled: often while data moves, rarely while it does not. The periods are those of
//! `linux`'s `daemon::hear::pace`.

use units::{Duration, Instant};

/// Sample period while data moves.
const BUSY: Duration = Duration::from_millis(10);
/// Sample period while a link is suspect or a subflow unproven.
const KEEN: Duration = Duration::from_millis(5);
/// Sample period while nothing moves.
const IDLE: Duration = Duration::from_millis(100);

/// The sampling schedule.
#[derive(Debug)]
pub(super) struct Sampler {
    next: Option<Instant>,
    next_idle: Instant,
}

/// Which connections to sample now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// Connections in which data moves.
    Busy,
    /// All connections.
    All,
}

/// What there is to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// No connection.
    Nothing,
    /// Connections in which nothing moves.
    Idle,
    /// A connection in which data moves.
    Busy,
    /// A suspect link, or an unproven subflow.
    Doubtful,
}

impl Sampler {
    pub(super) const fn new() -> Self {
        Self {
            next: None,
            next_idle: Instant::ZERO,
        }
    }

    /// When [`Sampler::due`] next returns connections to sample.
    pub(super) const fn wake_at(&self) -> Option<Instant> {
        self.next
    }

    /// Which connections to sample now, if any.
    pub(super) fn due(&self, now: Instant) -> Option<Whom> {
        self.next.filter(|next| *next <= now)?;
        Some(if self.next_idle <= now {
            Whom::All
        } else {
            Whom::Busy
        })
    }

    /// Plans the next sample after one.
    pub(super) fn sampled(&mut self, now: Instant, whom: Whom, watched: Watched) {
        if whom == Whom::All {
            self.next_idle = now + IDLE;
        }
        self.next = self.planned(now, watched);
    }

    /// Plans the next sample anew: an event may have made it more urgent.
    pub(super) fn stir(&mut self, now: Instant, watched: Watched) {
        let planned = self.planned(now, watched);
        self.next = planned.map(|at| self.next.map_or(at, |next| next.min(at)));
    }

    fn planned(&self, now: Instant, watched: Watched) -> Option<Instant> {
        match watched {
            Watched::Nothing => None,
            Watched::Idle => Some(self.next_idle.max(now)),
            Watched::Busy => Some(now + BUSY),
            Watched::Doubtful => Some(now + KEEN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_depends_on_what_moves_and_calm_does_not_delay_a_sample() {
        let at = |ms| Some(Instant::from_millis(ms));
        let mut sampler = Sampler::new();
        sampler.stir(Instant::from_millis(1), Watched::Nothing);
        assert_eq!(sampler.wake_at(), None);
        sampler.stir(Instant::from_millis(100), Watched::Idle);
        assert_eq!(sampler.due(Instant::from_millis(100)), Some(Whom::All));
        sampler.sampled(Instant::from_millis(100), Whom::All, Watched::Busy);
        assert_eq!(sampler.wake_at(), at(110));
        assert_eq!(sampler.due(Instant::from_millis(110)), Some(Whom::Busy));
        sampler.stir(Instant::from_millis(101), Watched::Doubtful);
        assert_eq!(sampler.wake_at(), at(106));
        sampler.stir(Instant::from_millis(102), Watched::Busy);
        assert_eq!(sampler.wake_at(), at(106));
        sampler.sampled(Instant::from_millis(106), Whom::Busy, Watched::Idle);
        assert_eq!(sampler.wake_at(), at(200));
    }
}
