//! On which link new connections start, in each family.
//!
//! The default is the user's own order of routes. It is overridden only on evidence: while a link that it
//! would choose is dead, held out, fading, or has another role. It is restored once its links have been good
//! for a while.
//!
//! # Sources
//! - mobiarch11 §2.1 (the first path of a connection). RFC 8684 §3 (a stock peer never gives the place of a
//!   first subflow to another).
//!
//! # Where we differ, and why
//! 1. Among links that the user's routes rank equally, the one likely to stay longest comes first: the place
//!    of a first subflow is never freed. The order is cables, modems, access points.
//! 2. A better link takes over only by the user's ranking, not by kind: connections should not be spread over
//!    links without need.
//!
//! # Checked by
//! `tests::routes`; `crates/cli/tests/hosts`.

use super::tuning::{COMING_FOR, RETURN_AFTER};
use crate::choose::rank::{Use, Want};
use crate::io::{Family, LinkId, LinkKind, Uplink};
use crate::known::path::{Health, Path};
use crate::known::state::State;
use alloc::collections::BTreeMap;
use units::Instant;

/// Since when each link has been good for new connections.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    good: BTreeMap<LinkId, Instant>,
    /// Since when each link has a carrier without being usable.
    coming: BTreeMap<LinkId, Instant>,
}

impl Routes {
    /// Decides for both families. `wants` are the links worth having.
    pub(crate) fn look(&mut self, now: Instant, state: &mut State, wants: &[Want]) {
        self.judge(now, state, wants);
        for family in Family::ALL {
            if let Some(choice) = self.choose(now, state, family) {
                state.default_route(family, choice);
            }
        }
    }

    fn judge(&mut self, now: Instant, state: &State, wants: &[Want]) {
        let is_good = |link: &LinkId| {
            let active = |want: &Want| want.link == *link && want.purpose == Use::Active;
            let path = state.paths.get(link);
            wants.iter().any(active) && path.is_some_and(|path| !matches!(path.health, Health::Dead { .. }))
        };
        self.good.retain(|link, _| is_good(link));
        for want in wants.iter().filter(|want| is_good(&want.link)) {
            self.good.entry(want.link).or_insert(now);
        }
        let is_coming = |path: &Path| path.carrier && path.usable_since.is_none();
        self.coming
            .retain(|link, _| state.paths.get(link).is_some_and(is_coming));
        for (&link, _) in state.paths.iter().filter(|(_, path)| is_coming(path)) {
            self.coming.entry(link).or_insert(now);
        }
    }

    /// The link for new connections, or `Some(None)` for the user's own order. `None` if nothing should
    /// change.
    fn choose(&self, now: Instant, state: &State, family: Family) -> Option<Option<LinkId>> {
        let current = state.chosen(family);
        let is_settled = |link: &LinkId| {
            self.good
                .get(link)
                .is_some_and(|&since| now - since >= RETURN_AFTER)
        };
        // A link about to be usable is no reason to leave the user's order.
        let is_coming = |link: &LinkId| {
            self.coming
                .get(link)
                .is_some_and(|&since| now - since < COMING_FOR)
        };
        let may_stay = |link: &LinkId| self.good.contains_key(link) || is_coming(link);
        let first = first_choices(state, family);
        let takes_first = match current {
            None => first.iter().all(may_stay),
            Some(_) => first.iter().all(is_settled),
        };
        if takes_first && !first.is_empty() {
            return Some(None);
        }
        let leads_out = |link: &LinkId| {
            let path = state.paths.get(link);
            path.is_some_and(|path| path.uplink(family) != Uplink::None)
        };
        let good = || self.good.keys().copied().filter(leads_out);
        let rank = |link: LinkId| state.paths[&link].uplink(family);
        if let Some(current) = current.filter(|current| good().any(|link| link == *current)) {
            let better = good().filter(|link| rank(*link) < rank(current) && is_settled(link));
            let best = better.min_by_key(|&link| (rank(link), link));
            return Some(best.or(Some(current)));
        }
        let best = good().min_by_key(|&link| (rank(link), steadiness(&state.paths[&link]), link));
        // While no link is good, no other order is better than the present one.
        best.map(Some)
    }
}

/// The links that the user's routes would choose: several if the best metric is on several.
fn first_choices(state: &State, family: Family) -> alloc::vec::Vec<LinkId> {
    let ranked = || {
        state
            .paths
            .iter()
            .filter_map(|(&link, path)| match path.uplink(family) {
                Uplink::Metric(metric) => Some((link, metric)),
                Uplink::Declared | Uplink::None => None,
            })
    };
    let best = ranked().map(|(_, metric)| metric).min();
    ranked()
        .filter(|(_, metric)| Some(*metric) == best)
        .map(|(link, _)| link)
        .collect()
}

const fn steadiness(path: &Path) -> u8 {
    match path.spec.kind {
        LinkKind::Cable => 0,
        LinkKind::Cellular => 1,
        LinkKind::Wifi => 2,
    }
}
