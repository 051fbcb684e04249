//! Leaves access points that have faded, to free their interface for another one.
//!
//! # Where we differ, and why
//! 1. An access point is left only if nothing is joined over it any longer and another one of its channel is
//!    in use. Without another one, its association may still be the quickest way back.
//! 2. Only an association that the engine has requested ends. The user's own stays.
//!
//! # Checked by
//! `tests/engine_departures.rs`.

use super::rank::is_faded;
use super::tuning::LEAVE_AFTER;
use crate::io::LinkId;
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::Instant;

/// Since when each access point has faded and carries nothing.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    since: BTreeMap<LinkId, Instant>,
}

impl Departures {
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) {
        let idle = |link: LinkId| {
            let mut conns = state.conns.values();
            conns.all(|conn| {
                conn.over(link).next().is_none() && conn.joining.iter().all(|join| join.link != link)
            })
        };
        let is_over = |(&link, path): (&LinkId, &Path)| {
            path.asked.is_some() && path.carrier && is_faded(path) && idle(link)
        };
        let over = state.paths.iter().filter(|&(link, path)| is_over((link, path)));
        let over: Vec<LinkId> = over
            .filter(|(link, path)| has_another(state, **link, path))
            .map(|(&link, _)| link)
            .collect();
        self.since.retain(|link, _| over.contains(link));
        for link in over {
            let since = *self.since.entry(link).or_insert(now);
            if now - since >= LEAVE_AFTER {
                state.leave(link);
            }
        }
    }
}

/// Whether another access point of the channel carries data, and is not about to fade.
fn has_another(state: &State, link: LinkId, path: &Path) -> bool {
    let mut others = state.paths.iter().filter(|(other, _)| **other != link);
    others.any(|(_, other)| {
        let is_beside = other.is_wifi() && path.spec.channel.is_some_and(|on| other.spec.channel == Some(on));
        is_beside && other.is_alive() && other.is_candidate() && !is_faded(other) && other.tally.joined
    })
}
