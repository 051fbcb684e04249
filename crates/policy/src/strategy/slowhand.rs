//! The strategy of this project: joins every link, uses the good ones, keeps the others as backups, and finds
//! the dead ones.
//!
//! # Sources
//! - mobiarch11 §2.1 (make before break, every link at once), nsdi15 §4–§6 (one channel's access points), RFC
//!   8684 §3.3.8 (MP_PRIO).
//!
//! # Where we differ, and why
//! 1. nsdi15 leaves the choice of access points to the sender, and marks. Here selection and the closed loop
//!    of [`crate::steer`] decide, and the window limits the cost of a wrong choice.
//!
//! # Checked by
//! `tests`; `tests/engine_steering.rs`, `tests/engine_properties.rs`; the scenarios.

use crate::alive::idle;
use crate::alive::portal;
use crate::alive::reserves::Reserves;
use crate::alive::silence;
use crate::choose::departures::Departures;
use crate::choose::rank::{Selection, Use, Want};
use crate::choose::routes::Routes;
use crate::estimate::signal::EDGE;
use crate::io::{ConnId, LinkId, SubflowId};
use crate::known::path::Path;
use crate::known::state::State;
use crate::queue::pacing;
use crate::queue::queues::Queues;
use crate::queue::windows;
use crate::strategy::amendments::{self, Amendments};
use crate::subflow::membership;
use crate::subflow::renewal;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Db, Duration, Instant};

/// Interval of decisions while nothing happens.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The strategy's own state.
#[derive(Debug)]
pub(crate) struct Slowhand {
    selection: Selection,
    amendments: Amendments,
    queues: Queues,
    reserves: Reserves,
    departures: Departures,
    routes: Routes,
    purposes: BTreeMap<LinkId, Use>,
    bounds_window: bool,
}

impl Slowhand {
    pub(crate) fn new(bounds_window: bool) -> Self {
        Self {
            selection: Selection::default(),
            amendments: Amendments::of_slowhand(),
            queues: Queues::default(),
            reserves: Reserves::default(),
            departures: Departures::default(),
            routes: Routes::default(),
            purposes: BTreeMap::new(),
            bounds_window,
        }
    }

    /// Whether queues are limited, for which marks are needed.
    pub(crate) const fn bounds_queues(&self) -> bool {
        self.bounds_window
    }

    /// Checks a subflow whose counters were read. Returns whether that made its link suspect. Slow starts and
    /// their queues grow too fast for the interval of decisions.
    pub(crate) fn sampled(
        &mut self,
        now: Instant,
        state: &mut State,
        conn: ConnId,
        subflow: SubflowId,
    ) -> bool {
        if self.bounds_window {
            self.queues.look(now, state);
            pacing::look(now, state, conn, subflow);
        }
        silence::inspect(now, state, conn, subflow)
    }

    /// Handles the counters of a connection, which are read after those of its subflows.
    pub(crate) fn read(&self, now: Instant, state: &mut State, conn: ConnId) {
        if self.bounds_window {
            windows::bound_growing(now, state, conn);
        }
    }

    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        silence::ask_again(now, state);
        silence::retry(now, state);
        idle::look(now, state);
        portal::look(now, state);
        self.reserves.look(now, state);
        associate_all(now, state);
        self.departures.look(now, state);
        let mut wants = self.selection.wants(now, &state.paths);
        self.amendments.apply(now, state, &mut wants);
        if self.bounds_window {
            self.queues.look(now, state);
        }
        self.record(state, &wants);
        self.routes.look(now, state, &wants);
        let conns: Vec<ConnId> = state.conns.keys().copied().collect();
        for conn in conns {
            if !self.bounds_window {
                membership::fit(now, state, conn, &wants);
                continue;
            }
            let own = amendments::for_one(now, state, conn, &wants);
            membership::fit(now, state, conn, own.as_ref().unwrap_or(&wants));
            renewal::look(now, state, conn);
            windows::bound(now, state, conn);
        }
    }

    /// Reports each change of purpose once, with the reason of whichever amendment decided it.
    fn record(&mut self, state: &mut State, wants: &[Want]) {
        self.purposes
            .retain(|link, _| wants.iter().any(|want| want.link == *link));
        for want in wants {
            let is_new = self.purposes.insert(want.link, want.purpose) != Some(want.purpose);
            if is_new || state.paths[&want.link].note.is_none() {
                state.note(Some(want.link), None, want.verb(), want.because);
            }
        }
    }
}

/// Associates with every access point whose signal is strong enough for traffic.
fn associate_all(now: Instant, state: &mut State) {
    let audible = |path: &Path| {
        state.hears(now, path)
            && path
                .signal
                .mean()
                .is_some_and(|signal| signal - EDGE >= Db::from_db(1))
    };
    let links: Vec<LinkId> = state
        .paths
        .iter()
        .filter(|(_, path)| path.is_wifi() && !path.carrier && path.is_allowed() && audible(path))
        .map(|(&link, _)| link)
        .collect();
    for link in links {
        state.associate(now, link);
    }
}
