//! Holds out links that lead to a captive portal, or only to the next hop.
//!
//! The world checks a link by requesting a known URL over it, or asks its network
//! ([`crate::Action::Check`]). While another link is usable, a link that is held out gets no new connection,
//! no default route and no join. Its existing subflows stay.
//!
//! | the check | verdict |
//! |---|---|
//! | has not passed yet, but had passed over another link before | held out: not checked yet |
//! | passes | none, or the link is used again |
//! | gets an unexpected reply, or the network says that it has a closed portal | held out: a portal |
//! | shows nothing (after a portal: twice in a row) | none: no other link reaches that host |
//! | gets no reply twice in a row, and passes over another link | held out: nothing beyond the next hop |
//!
//! # Sources
//! - juggler §6.1: the quality of an access point is probed before it is used.
//! - RFC 8952 §2: a captive portal replies in place of the requested host.
//! - NetworkManager.conf(5), `[connectivity]`: a URI, an expected response, and an interval of 300 s.
//!
//! # Where we differ, and why
//! 1. From NetworkManager: a link that is held out is checked every 30 s, since a user who has logged in
//!    waits for it.
//! 2. A link is never held out if no other is usable: then all links count as open. A URL that no longer
//!    gives the expected reply must not take a host offline.
//! 3. A link that has the default route of a family does not wait for its first pass: the route would move
//!    away, and back.
//! 4. A metered link is checked once, when new connections first use it, and while it is held out.
//!
//! # Checked by
//! `tests::portal`; `daemon::tests::portal` on a real kernel.

use super::tuning::{OVERDUE, PORTAL_FRESH};
use crate::io::reason::{Access, Held};
use crate::io::{Action, Checked, LinkId, Verb};
use crate::known::path::Path;
use crate::known::portals::{Door, Portals};
use crate::known::state::State;
use crate::known::tuning::LEAST_FAILURES;
use alloc::vec::Vec;
use units::Instant;

impl Door {
    fn has_passed_lately(&self, now: Instant) -> bool {
        matches!(self.last, Some((Checked::Passed, at)) if now - at < PORTAL_FRESH)
    }

    /// Whether a check had passed before this time.
    fn passed_before(&self, time: Instant) -> bool {
        self.first_passed.is_some_and(|at| at < time)
    }
}

impl Portals {
    /// The evidence against a link.
    fn held(&self, now: Instant, link: LinkId) -> Option<Held> {
        let door = self.doors.get(&link)?;
        let is_other = |(other, door): &(&LinkId, &Door)| **other != link && door.has_passed_lately(now);
        let mut others = self.doors.iter().filter(is_other);
        match door.last.map(|(checked, _)| checked) {
            Some(Checked::Passed | Checked::Unknown) => None,
            Some(Checked::Portal) => Some(Held::Portal),
            Some(Checked::Failed) if door.failures >= LEAST_FAILURES => {
                others.next().map(|(&other, _)| Held::NoReply(other))
            }
            Some(Checked::Failed) | None => {
                let first = door.first_asked.filter(|_| door.first_passed.is_none())?;
                let passed = others.find(|(_, door)| door.passed_before(first));
                passed.map(|(&other, _)| Held::Unchecked(other))
            }
        }
    }

    fn is_due(&self, now: Instant, link: LinkId, path: &Path, has_route: bool) -> bool {
        let Some(door) = self.doors.get(&link) else {
            return false;
        };
        let is_waiting = door.asked.is_some_and(|at| now - at < OVERDUE);
        let is_time = door.next.is_none_or(|at| now >= at);
        let is_open = matches!(door.last, Some((Checked::Passed | Checked::Unknown, _)));
        let waits = door.first_asked.is_some() && door.first_passed.is_none();
        let may_repeat = waits || door.last.is_some();
        let may_cost = !path.cost.is_metered() || (has_route || may_repeat) && !is_open;
        !is_waiting && is_time && may_cost
    }
}

/// Requests the checks that are due, and holds links out or releases them.
pub(crate) fn look(now: Instant, state: &mut State) {
    let usable = |path: &Path| path.is_usable() && path.is_allowed();
    let due: Vec<LinkId> = state
        .paths
        .iter()
        .filter(|(link, path)| {
            usable(path)
                && state
                    .portals
                    .is_due(now, **link, path, state.route() == Some(**link))
        })
        .map(|(&link, _)| link)
        .collect();
    for link in due {
        if let Some(door) = state.portals.doors.get_mut(&link) {
            door.asked = Some(now);
            door.first_asked.get_or_insert(now);
        }
        state.push(Action::Check(link));
    }
    let held: Vec<(LinkId, Option<Held>)> = state
        .paths
        .iter()
        .map(|(&link, path)| {
            let held = state.portals.held(now, link);
            // A route that a link has already does not go away and come back while it is checked.
            let stays = |held: &Held| matches!(held, Held::Unchecked(_)) && state.is_route(link);
            (link, held.filter(|held| usable(path) && !stays(held)))
        })
        .collect();
    let is_other_way = held
        .iter()
        .any(|(link, held)| held.is_none() && state.paths[link].is_sound());
    for (link, held) in held {
        hold(state, link, held.filter(|_| is_other_way));
    }
}

fn hold(state: &mut State, link: LinkId, held: Option<Held>) {
    let Some(path) = state.paths.get_mut(&link) else {
        return;
    };
    let before = core::mem::replace(&mut path.held, held);
    let is_told = |held: &Held| !matches!(held, Held::Unchecked(_));
    match (before.filter(is_told), held) {
        (None, Some(held)) if is_told(&held) => {
            state.note(Some(link), None, Verb::Refuse, Access::Held(held))
        }
        (Some(_), None) => {
            let last = state.portals.doors.get(&link).and_then(|door| door.last);
            let why = match last.map(|(checked, _)| checked) {
                Some(Checked::Passed) => Access::Passes,
                Some(Checked::Unknown) => Access::NotKnown,
                Some(Checked::Portal | Checked::Failed) | None => Access::NoAlternative,
            };
            state.note(Some(link), None, Verb::Retry, why);
        }
        _ => {}
    }
}
