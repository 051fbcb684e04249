//! Changes of a subflow's priority that the kernel would not take yet.
//!
//! For a moment after a join the kernel answers EINVAL: its own half of the subflow is not on the connection's list yet. A subflow whose link has
//! fallen into doubt meanwhile waits until the doubt is settled: words about priority go only where something is still delivered.

use policy::SubflowId;
use std::time::Duration;
use units::Instant;

const AGAIN: Duration = Duration::from_millis(20);
/// Half a second: a join that is not complete by then never will be.
const TRIES: u32 = 25;

/// A change that is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) subflow: SubflowId,
    pub(crate) backup: bool,
    tries: u32,
    at: Instant,
}

/// All of them, at most one for each subflow.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    waiting: Vec<Wanted>,
}

impl Priorities {
    /// Whatever was wanted of this subflow before is void.
    pub(crate) fn forget(&mut self, subflow: SubflowId) {
        self.waiting.retain(|wanted| wanted.subflow != subflow);
    }

    /// The first refusal.
    pub(crate) fn later(&mut self, now: Instant, subflow: SubflowId, backup: bool) {
        self.forget(subflow);
        self.waiting.push(Wanted {
            subflow,
            backup,
            tries: 1,
            at: now + AGAIN,
        });
    }

    /// Another refusal; false when it was the last.
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

    /// It must not be tried now; that counts as no refusal.
    pub(crate) fn put_off(&mut self, now: Instant, wanted: Wanted) {
        self.waiting.push(Wanted {
            at: now + AGAIN,
            ..wanted
        });
    }

    /// One that is to be tried now.
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
    fn a_change_is_tried_for_half_a_second() {
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
    fn a_newer_wish_replaces_an_older() {
        let mut priorities = Priorities::default();
        priorities.later(Instant::ZERO, SubflowId(1), true);
        priorities.later(Instant::ZERO, SubflowId(1), false);
        assert!(!priorities.due(Instant::from_secs(1)).unwrap().backup);
        assert_eq!(priorities.due(Instant::from_secs(1)), None);
    }
}
