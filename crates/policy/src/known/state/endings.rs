//! How subflows are closed, and how the peer is notified.
//!
//! # Sources
//! - RFC 8684 §3.4.2 (REMOVE_ADDR). The rest is in [`crate::subflow::membership`] and
//!   [`crate::subflow::renewal`], which decide.
//!
//! # Checked by
//! `tests::loss`, `tests::peer`, `tests::renewal`.

use super::State;
use crate::io::{Action, ConnId, LinkId, SubflowId};
use crate::known::conn::{Subflow, Withdrawn};
use crate::known::path::Path;
use crate::known::tuning::LATELY;
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant};

impl State {
    /// Closes subflows here, then sends RM_ADDR for them. All are closed first, so that no RM_ADDR leaves on
    /// a dead path.
    ///
    /// RM_ADDRs sent a moment ago for other subflows may have left on one of these. They are sent again
    /// afterwards.
    pub(crate) fn give_up(&mut self, now: Instant, conn: ConnId, subflows: &[SubflowId]) {
        let Some(state) = self.conns.get_mut(&conn).filter(|_| !subflows.is_empty()) else {
            return;
        };
        let mut gone = Vec::new();
        state.subflows.retain(|subflow| {
            let doomed = subflows.contains(&subflow.id);
            if doomed {
                gone.push(Withdrawn {
                    subflow: subflow.id,
                    link: subflow.link,
                    at: now,
                    repeated: false,
                    unheard: unheard(now, subflow, self.paths.get(&subflow.link)),
                });
            }
            !doomed
        });
        self.actions
            .extend(gone.iter().map(|gone| Action::Destroy(gone.subflow)));
        self.actions
            .extend(gone.iter().map(|gone| Action::Withdraw(gone.subflow)));
        state.withdrawn.extend(gone);
        state.place_freed(now);
        for subflow in subflows {
            self.owners.remove(subflow);
        }
        self.repeat_withdrawals(conn, |withdrawn| withdrawn.at < now);
    }

    /// Closes a subflow that another over the same link has replaced. No RM_ADDR is sent: its address is
    /// still in use.
    pub(crate) fn replaced(&mut self, now: Instant, conn: ConnId, link: LinkId, subflow: SubflowId) {
        let Some(state) = self.conns.get_mut(&conn) else {
            return;
        };
        state.subflows.retain(|other| other.id != subflow);
        state.slow.begins_anew(link);
        state.place_freed(now);
        self.owners.remove(&subflow);
        self.actions.push_back(Action::Destroy(subflow));
    }

    /// Sends RM_ADDR once more, in case the first was lost. Joins refused meanwhile may then be retried.
    pub(crate) fn withdraw_again(&mut self, now: Instant, conn: ConnId, since: Duration) {
        let due = |withdrawn: &Withdrawn| !withdrawn.repeated && now - withdrawn.at >= since;
        let repeats = self.repeat_withdrawals(conn, due);
        let Some(state) = self.conns.get_mut(&conn) else {
            return;
        };
        if repeats {
            state.place_freed(now);
        }
        // While another join over its link is pending, RM_ADDR would apply to that one, too. It is sent when
        // that join has failed.
        let joins: Vec<LinkId> = state.joining.iter().map(|join| join.link).collect();
        let waits = |withdrawn: &Withdrawn| !withdrawn.repeated && joins.contains(&withdrawn.link);
        let repeated = state
            .withdrawn
            .iter_mut()
            .filter(|withdrawn| due(withdrawn) && !waits(withdrawn));
        repeated.for_each(|withdrawn| withdrawn.repeated = true);
        let young = |withdrawn: &Withdrawn| now - withdrawn.at < Duration::from_secs(1);
        state
            .withdrawn
            .retain(|withdrawn| young(withdrawn) || waits(withdrawn));
    }

    /// Sends RM_ADDR again for the picked subflows, except where the link was joined again. Returns whether
    /// any was sent.
    fn repeat_withdrawals(&mut self, conn: ConnId, pick: impl Fn(&Withdrawn) -> bool) -> bool {
        let Some(conn) = self.conns.get(&conn) else {
            return false;
        };
        let before = self.actions.len();
        let rejoined =
            |link| conn.over(link).next().is_some() || conn.joining.iter().any(|join| join.link == link);
        let picked = conn.withdrawn.iter().filter(|withdrawn| pick(withdrawn));
        let due = picked.filter(|withdrawn| !rejoined(withdrawn.link));
        self.actions
            .extend(due.map(|withdrawn| Action::Withdraw(withdrawn.subflow)));
        self.actions.len() > before
    }
}

/// What a subflow in use may receive in a round trip. Zero for one that received nothing lately.
fn unheard(now: Instant, subflow: &Subflow, path: Option<&Path>) -> Bytes {
    let carried = !subflow.backup && subflow.arrivals.silence(now) < LATELY;
    let rtt = path.map(Path::rtt).filter(|_| carried);
    subflow.arrivals.best_rate(now) * rtt.unwrap_or_default()
}
