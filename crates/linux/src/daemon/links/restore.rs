//! When to look whether somebody else has removed our routes and rules, as network managers do that sweep what they do not know.

use std::time::Duration;
use units::Instant;

/// Our own changes, and what the kernel takes away with a link, are over by then.
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// Whoever removes them again and again gets them back ever more rarely, at least this often.
const RAREST_LOOK: Duration = Duration::from_secs(30);
/// After so long without another loss, a new one is not the same quarrel.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// What somebody may have removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rules, or their place before `main`.
    Rules,
    /// Routes of our tables.
    Routes,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    at: Option<Instant>,
    /// How often each kind was removed in the present series.
    losses: [u32; 2],
    last: Option<Instant>,
}

impl Restore {
    /// Something of ours may have been removed.
    pub(crate) fn look_soon(&mut self, now: Instant) {
        if self.at.is_none() {
            let rounds = self.losses[0].max(self.losses[1]).min(10);
            let wait = FIRST_LOOK.saturating_mul(1 << rounds);
            self.at = Some(now + wait.min(RAREST_LOOK));
        }
    }

    /// Whether the time to look has come.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        self.at.take_if(|at| *at <= now).is_some()
    }

    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.at
    }

    /// Something had been removed and is back. Whether that is worth reporting: of a long quarrel ever fewer rounds are.
    pub(crate) fn restored(&mut self, now: Instant, kind: Kind) -> bool {
        if self.last.is_none_or(|last| now - last >= FORGET_AFTER) {
            self.losses = [0; 2];
        }
        self.last = Some(now);
        let losses = &mut self.losses[kind as usize];
        *losses = losses.saturating_add(1);
        losses.is_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarrel_is_reported_and_looked_at_ever_more_rarely() {
        let mut restore = Restore::default();
        let mut now = Instant::from_secs(1);
        let mut waits = Vec::new();
        let mut reports = 0;
        for _ in 0..12 {
            restore.look_soon(now);
            let at = restore.wake_at().unwrap();
            assert!(!restore.is_due(now));
            waits.push(at - now);
            now = at;
            assert!(restore.is_due(now));
            reports += usize::from(restore.restored(now, Kind::Rules));
        }
        assert_eq!(
            (waits[0], waits[1], waits[11]),
            (FIRST_LOOK, FIRST_LOOK * 2, RAREST_LOOK)
        );
        assert_eq!(reports, 4, "rounds 1, 2, 4 and 8 of 12");
        assert!(restore.restored(now, Kind::Routes), "of another kind");
        assert!(
            restore.restored(now + FORGET_AFTER, Kind::Rules),
            "another quarrel"
        );
    }
}
