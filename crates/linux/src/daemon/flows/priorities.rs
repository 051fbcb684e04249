//! Changes of a subflow's priority that the kernel has refused for now.
//!
//! For a moment after a join the kernel returns EINVAL: its own half of the subflow is not on the
//! connection's list yet. If the subflow's link has become suspect meanwhile, the change waits until that is
//! settled: MP_PRIO is sent only over links that still deliver.

use policy::SubflowId;
use std::time::Duration;
use units::Instant;

const AGAIN: Duration = Duration::from_millis(20);
/// Half a second. A join that is not complete by then never will be.
const TRIES: u32 = 25;

/// A change to be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) subflow: SubflowId,
    pub(crate) backup: bool,
    tries: u32,
    at: Instant,
}

/// All changes to be retried, at most one per subflow.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    waiting: Vec<Wanted>,
}

impl Priorities {
    /// Drops the pending change of this subflow.
    pub(crate) fn forget(&mut self, subflow: SubflowId) {
        self.waiting.retain(|wanted| wanted.subflow != subflow);
    }

    /// Schedules a retry after the first refusal.
    pub(crate) fn later(&mut self, now: Instant, subflow: SubflowId, backup: bool) {
        self.forget(subflow);
        self.waiting.push(Wanted {
            subflow,
            backup,
            tries: 1,
            at: now + AGAIN,
        });
    }

    /// Schedules a retry after another refusal. Returns false if that was the last try.
    pub(crate) fn again(&mut self, now: Instant, wanted: Wanted) -> bool {
        let again = wanted.tries < TRIES;
        if again {
            self.waiting.push(Wanted {
                tries: wanted.tries + 1,
                at: now + AGAIN,
                ..wanted
            });
        }
        again
    }

    /// Schedules a retry of a change that must not be made now. It does not count as a try.
    pub(crate) fn put_off(&mut self, now: Instant, wanted: Wanted) {
        self.waiting.push(Wanted {
            at: now + AGAIN,
            ..wanted
        });
    }

    /// Removes a change that is due.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Wanted> {
        let at = self.waiting.iter().position(|wanted| wanted.at <= now)?;
        Some(self.waiting.remove(at))
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.waiting.iter().map(|wanted| wanted.at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_change_is_retried_for_half_a_second() {
        let mut priorities = Priorities::default();
        let mut now = Instant::ZERO;
        priorities.later(now, SubflowId(1), true);
        let mut tries = 1;
        while let Some(at) = priorities.wake_at() {
            now = at;
            let wanted = priorities.due(now).unwrap();
            tries += 1;
            priorities.again(now, wanted);
        }
        assert_eq!((tries, now), (TRIES + 1, Instant::from_millis(500)));
    }

    #[test]
    fn a_newer_change_replaces_an_older() {
        let mut priorities = Priorities::default();
        priorities.later(Instant::ZERO, SubflowId(1), true);
        priorities.later(Instant::ZERO, SubflowId(1), false);
        assert!(!priorities.due(Instant::from_secs(1)).unwrap().backup);
        assert_eq!(priorities.due(Instant::from_secs(1)), None);
    }
}
