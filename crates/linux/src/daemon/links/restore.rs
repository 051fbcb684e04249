//! When to check whether another program has removed our routes and rules. Some network managers remove
//! everything they do not know.

use std::time::Duration;
use units::Instant;

/// Wait before a check. By then our own changes, and the kernel's removals when a link goes down, are
/// complete.
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// Longest wait. If a program keeps removing them, they are restored ever more rarely, but at least this
/// often.
const RAREST_LOOK: Duration = Duration::from_secs(30);
/// Time without a loss after which a new one starts a new series.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// What another program may have removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rules, or their position before `main`.
    Rules,
    /// Routes in our tables.
    Routes,
}

/// The schedule of checks for removed routes and rules.
#[derive(Debug, Default)]
pub(crate) struct Restore {
    at: Option<Instant>,
    /// Losses of each kind in the current series.
    losses: [u32; 2],
    last: Option<Instant>,
}

impl Restore {
    /// Schedules a check: something of ours may have been removed.
    pub(crate) fn look_soon(&mut self, now: Instant) {
        if self.at.is_none() {
            let rounds = self.losses[0].max(self.losses[1]).min(10);
            let wait = FIRST_LOOK.saturating_mul(1 << rounds);
            self.at = Some(now + wait.min(RAREST_LOOK));
        }
    }

    /// Whether a check is due.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        self.at.take_if(|at| *at <= now).is_some()
    }

    pub(crate) const fn wake_at(&self) -> Option<Instant> {
        self.at
    }

    /// Records that something was restored. Returns whether to report it: in a long series ever fewer losses
    /// are reported.
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
    fn repeated_losses_are_checked_and_reported_ever_more_rarely() {
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
