//! Secondary links carry data while the primaries are full, and are demoted when they are not.
//!
//! # Sources
//! - The project's contract: secondaries carry data once the primaries' goodput has been ≥ 90 % of their
//!   capacity for 1 s. They are demoted after 5 s under 70 %.
//!
//! # Where we differ, and why
//! 1. Capacity is the best 300 ms mean of the last ten seconds, or for WiFi the goodput expected from the
//!    signal if that is more. A client sees no more of a link than it has carried.
//!
//! # Checked by
//! `tests`.

use super::tuning::{CALM_FOR, CALM_PERCENT, FULL_FOR, FULL_PERCENT};
use crate::choose::rank::{Use, Want, prospect};
use crate::io::Role;
use crate::io::reason::Choice;
use crate::known::path::Path;
use crate::known::state::State;
use units::{Bitrate, Instant};

/// Whether the secondaries are needed.
#[derive(Debug, Default)]
pub(crate) struct Overflow {
    /// The load at which the primaries were found full, while they are.
    full: Option<Load>,
    since: Option<Instant>,
}

/// The load of the primaries.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    goodput: Bitrate,
    capacity: Bitrate,
}

impl Overflow {
    /// Makes the secondaries active while the primaries are full.
    pub(crate) fn apply(&mut self, now: Instant, state: &State, wants: &mut [Want]) {
        let is_secondary = |want: &Want| state.paths[&want.link].spec.role == Role::Secondary;
        if !wants.iter().any(is_secondary) {
            return;
        }
        self.watch(now, load(now, state));
        let Some(Load { goodput, capacity }) = self.full else {
            return;
        };
        for want in wants.iter_mut().filter(|want| is_secondary(want)) {
            want.purpose = Use::Active;
            want.because = Choice::PrimariesFull { goodput, capacity };
        }
    }

    fn watch(&mut self, now: Instant, load: Load) {
        let Load { goodput, capacity } = load;
        let (crossed, hold) = if self.full.is_some() {
            (goodput < capacity.percent(CALM_PERCENT), CALM_FOR)
        } else {
            (
                goodput > Bitrate::ZERO && goodput >= capacity.percent(FULL_PERCENT),
                FULL_FOR,
            )
        };
        match self.since {
            _ if !crossed => self.since = None,
            None => self.since = Some(now),
            Some(since) if now - since >= hold => {
                self.full = match self.full {
                    Some(_) => None,
                    None => Some(load),
                };
                self.since = None;
            }
            Some(_) => {}
        }
    }
}

/// The present goodput of the primaries, and their capacity.
fn load(now: Instant, state: &State) -> Load {
    let primary = |link| {
        state
            .paths
            .get(&link)
            .filter(|path| path.spec.role == Role::Primary && path.is_alive())
    };
    let subflows = || state.conns.values().flat_map(|conn| conn.subflows.iter());
    let goodput = subflows()
        .filter(|subflow| primary(subflow.link).is_some())
        .map(|subflow| subflow.arrivals.rate(now))
        .sum();
    let in_use = |link| subflows().any(|subflow| subflow.link == link && !subflow.backup);
    let carries = |path: &Path| {
        if path.is_wifi() {
            prospect(path).min(path.shown)
        } else {
            path.shown
        }
    };
    let capacity = state
        .paths
        .keys()
        .filter(|&&link| in_use(link))
        .filter_map(|&link| primary(link))
        .map(carries)
        .sum();
    Load { goodput, capacity }
}
