//! Gives an untested link without a known signal a place for a few seconds, where all places are taken.
//!
//! A peer has few places. Links without a signal are ranked by the goodput they have shown. A link without a
//! place shows none, so the fastest one could stay outside forever. It is tried once for each address that it
//! gets, in place of the worst link that has a place. Then the goodput of both decides.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/pm.c`: a stock peer takes two added subflows (`subflows` limit).
//!
//! # Where we differ, and why
//! 1. From bandits and probing schedules: one trial per address, and never another. Moving a place costs a
//!    drain and a slow start, and the goodput that a link has shown is remembered.
//! 2. No trial takes place without demand, or while a link is suspect or about to be too weak. It would show
//!    nothing, or cost what is needed now.
//!
//! # Checked by
//! `tests::slots`.

use super::tuning::{BUSY_FOR, BUSY_PERCENT, LIMIT, PAUSE, SHOWS};
use crate::choose::rank::{Use, Want, is_sinking};
use crate::io::reason::Choice;
use crate::io::{LinkId, Role, Verb};
use crate::known::conn::Conn;
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Bitrate, Instant};

/// Which link is being tried, and which have been.
#[derive(Debug, Default)]
pub(crate) struct Audition {
    trial: Option<Trial>,
    /// Since when the links in use have been in demand.
    busy: Option<Instant>,
    /// Earliest time of the next trial.
    next: Instant,
    /// Links that were tried, and since when they had the address they were tried with.
    tried: BTreeMap<LinkId, Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Trial {
    link: LinkId,
    began: Instant,
    joined: Option<Instant>,
}

impl Audition {
    /// Puts the link under trial, or the next one to try, before all others.
    pub(crate) fn look(&mut self, now: Instant, state: &mut State, wants: &mut Vec<Want>) {
        let busy = are_busy(state);
        self.busy = self.busy.filter(|_| busy).or(busy.then_some(now));
        self.tried.retain(|link, _| state.paths.contains_key(link));
        self.end_if_done(now, state);
        if self.trial.is_none() {
            self.begin(now, state, wants);
        }
        if let Some(trial) = self.trial
            && let Some(at) = wants.iter().position(|want| want.link == trial.link)
        {
            let tried = wants.remove(at);
            let because = Choice::Trial;
            wants.insert(0, Want { because, ..tried });
        }
    }

    /// Ends a trial that is complete or in the way.
    fn end_if_done(&mut self, now: Instant, state: &State) {
        let Some(trial) = &mut self.trial else { return };
        let path = state.paths.get(&trial.link).filter(|path| may_be_tried(path));
        if path.is_some_and(|path| path.tally.joined) {
            trial.joined.get_or_insert(now);
        }
        let shown = trial.joined.is_some_and(|since| now - since >= SHOWS);
        if path.is_none() || shown || now - trial.began >= LIMIT || is_unsettled(state) {
            self.trial = None;
            self.next = now + PAUSE;
        }
    }

    fn begin(&mut self, now: Instant, state: &mut State, wants: &[Want]) {
        let demanded = self.busy.is_some_and(|since| now - since >= BUSY_FOR);
        let doubted = || state.paths.values().any(|path| path.doubt().is_some());
        if !demanded || now < self.next || doubted() || is_unsettled(state) {
            return;
        }
        let active = wants.iter().filter(|want| want.purpose == Use::Active);
        let Some(link) = active
            .map(|want| want.link)
            .find(|&link| self.is_due(state, link))
        else {
            return;
        };
        let since = state.paths.get(&link).and_then(|path| path.usable_since);
        self.tried.insert(link, since.unwrap_or(now));
        self.trial = Some(Trial {
            link,
            began: now,
            joined: None,
        });
        state.note(Some(link), None, Verb::Use, Choice::Trial);
    }

    /// Whether this link has shown nothing, was not tried with its present address, and finds every place
    /// taken.
    fn is_due(&self, state: &State, link: LinkId) -> bool {
        let Some(path) = state.paths.get(&link).filter(|path| may_be_tried(path)) else {
            return false;
        };
        let unknown = !path.tally.joined && path.worth == Bitrate::ZERO;
        unknown && self.tried.get(&link) != path.usable_since.as_ref() && has_no_place(state, link)
    }
}

/// Whether the joined links carry a large part of their known capacity.
fn are_busy(state: &State) -> bool {
    let joined = || state.paths.values().filter(|path| path.tally.joined);
    let worth: Bitrate = joined().map(|path| path.worth).sum();
    let carried: Bitrate = joined().map(|path| path.tally.rate).sum();
    carried > Bitrate::ZERO && carried >= worth.percent(BUSY_PERCENT)
}

/// Whether it is a link without a known signal that may be used like any other.
fn may_be_tried(path: &Path) -> bool {
    path.is_alive()
        && path.is_allowed()
        && !path.is_heard()
        && path.spec.role == Role::Primary
        && !path.cost.is_metered()
}

fn has_no_place(state: &State, link: LinkId) -> bool {
    let is_full = |conn: &&Conn| conn.places_taken() >= conn.peer_subflows.max(1);
    let mut full = state.conns.values().filter(is_full);
    full.any(|conn| conn.over(link).next().is_none())
}

/// Whether a link that carries traffic is dead, gone, or about to be too weak.
fn is_unsettled(state: &State) -> bool {
    let mut joined = state.paths.values().filter(|path| path.tally.joined);
    joined.any(|path| !path.is_candidate() || is_sinking(path))
}
