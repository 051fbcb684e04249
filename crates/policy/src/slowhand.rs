//! The strategy that this project exists for: every link at once, the good ones used, the others warm, the dead ones found.
//!
//! # Sources
//! - mobiarch11 §2.1 (make before break, every link at once), nsdi15 §4–§6 (one channel's access points), RFC 8684 §3.3.8 (MP_PRIO).
//!
//! # Where we differ, and why
//! 1. nsdi15 leaves the choice of access points to the sender and marks; here selection and the closed loop of [`crate::steer`] decide, and the
//!    window bounds what a wrong choice can cost.
//!
//! # Checked by
//! `tests`; `tests/engine_steering.rs`, `tests/engine_properties.rs`; the scenarios.

use crate::detect;
use crate::estimate::signal::EDGE;
use crate::io::{Action, ConnId, LinkId, LinkKind, Role, SubflowId, Verb};
use crate::membership;
use crate::overflow::Overflow;
use crate::path::Path;
use crate::select::{Selection, Use, Want, is_fading, is_sinking, prospect};
use crate::state::State;
use crate::steering::{Channels, Way};
use crate::window::Need;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Db, Duration, Instant};

/// How often everything is looked at anew while nothing happens.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);
/// More than this waiting at this host is worth bounding.
const BACKLOG_WORTH_BOUNDING: Bytes = Bytes::from_kib(256);
/// What is left waiting on the subflows: enough for a burst, too little to matter when a path dies.
const UNSENT_LIMIT: Bytes = Bytes::from_kib(64);

/// What the strategy remembers beside the state.
#[derive(Debug)]
pub(crate) struct Slowhand {
    selection: Selection,
    overflow: Overflow,
    channels: Channels,
    purposes: BTreeMap<LinkId, Use>,
    bounds_window: bool,
}

impl Slowhand {
    pub(crate) fn new(bounds_window: bool) -> Self {
        Self {
            selection: Selection::default(),
            overflow: Overflow::default(),
            channels: Channels::new(Way::ClosedLoop),
            purposes: BTreeMap::new(),
            bounds_window,
        }
    }

    /// A subflow's counters were read; whether that put its link in doubt.
    pub(crate) fn sampled(
        &mut self,
        now: Instant,
        state: &mut State,
        conn: ConnId,
        subflow: SubflowId,
    ) -> bool {
        detect::inspect(now, state, conn, subflow)
    }

    pub(crate) fn decide(&mut self, now: Instant, state: &mut State) {
        detect::settle(now, state);
        detect::retry(now, state);
        associate_all(now, state);
        let mut wants = self.selection.wants(now, &state.paths);
        self.overflow.apply(now, state, &mut wants);
        self.channels.look(now, state);
        self.channels.apply(state, &mut wants);
        self.record(state, &wants);
        route(state, &wants);
        let conns: Vec<ConnId> = state.conns.keys().copied().collect();
        for conn in conns {
            membership::fit(now, state, conn, &wants);
            if self.bounds_window {
                bound(now, state, conn);
            }
        }
    }

    fn record(&mut self, state: &mut State, wants: &[Want]) {
        self.purposes
            .retain(|link, _| wants.iter().any(|want| want.link == *link));
        for want in wants {
            if self.purposes.insert(want.link, want.purpose) != Some(want.purpose) {
                let steered = self.channels.why(want.link);
                let why = steered.unwrap_or_else(|| reason(&state.paths[&want.link], want.purpose));
                let verb = if want.purpose == Use::Active {
                    Verb::Use
                } else {
                    Verb::Demote
                };
                state.note(Some(want.link), None, verb, why);
            }
        }
    }
}

fn reason(path: &Path, purpose: Use) -> String {
    let signal = path.signal.mean().filter(|_| path.is_wifi());
    match (purpose, signal) {
        (Use::Active, Some(signal)) => format!(
            "the best access point of its channel: {signal}, about {} to expect",
            prospect(path)
        ),
        (Use::Active, None) => String::from("it is up and nothing speaks against it"),
        (Use::Warm, _) if path.spec.role != Role::Primary => String::from("the user wants it as a reserve"),
        (Use::Warm, Some(signal)) if is_fading(path) => {
            format!(
                "its signal is fading: {signal}, {:.1} dB/s",
                path.signal.slope_db_per_s()
            )
        }
        (Use::Warm, _) => {
            String::from("another access point of its channel is better, and two would share one air")
        }
    }
}

/// Joins every access point that can be heard well enough to talk to.
fn associate_all(now: Instant, state: &mut State) {
    let audible = |path: &Path| {
        path.beacons.count(now) >= 3
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

/// New connections begin on the link that is likely to stay longest: a stock peer never gives the place of a connection's first
/// subflow to another, so the first one should not be on an access point that is passed in a minute.
fn route(state: &mut State, wants: &[Want]) {
    if state.route().is_some_and(|link| {
        wants
            .iter()
            .any(|want| want.link == link && want.purpose == Use::Active)
    }) {
        return;
    }
    let steadiness = |want: &&Want| match state.paths[&want.link].spec.kind {
        LinkKind::Cable => 0,
        LinkKind::Cellular => 1,
        LinkKind::Wifi => 2,
    };
    let best = wants
        .iter()
        .filter(|want| want.purpose == Use::Active)
        .min_by_key(steadiness);
    if let Some(link) = best.map(|want| want.link) {
        state.default_route(link);
    }
}

/// Bounds how far ahead the peer, and this host, may queue.
fn bound(now: Instant, state: &mut State, id: ConnId) {
    bound_unsent(state, id);
    let Some(need) = need(now, state, id) else { return };
    let Some(window) = state
        .conns
        .get_mut(&id)
        .and_then(|conn| conn.window.update(now, need))
    else {
        return;
    };
    let why = format!(
        "{window} of window for {} over {} ms",
        need.rate,
        need.rtt.as_millis()
    );
    state.push(Action::Window(id, Some(window)));
    state.note(None, Some(id), Verb::Window, why);
}

fn bound_unsent(state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let unsent: Bytes = conn.subflows.iter().map(|subflow| subflow.sample.unsent).sum();
    if !conn.unsent_limited && unsent > BACKLOG_WORTH_BOUNDING {
        conn.unsent_limited = true;
        state.push(Action::Unsent(id, Some(UNSENT_LIMIT)));
    }
}

fn need(now: Instant, state: &State, id: ConnId) -> Option<Need> {
    let conn = state.conns.get(&id)?;
    let in_use = conn
        .subflows
        .iter()
        .filter(|subflow| !subflow.backup && subflow.draining.is_none());
    let (mut rate, mut rtt, mut sinking) = (Bitrate::ZERO, Duration::ZERO, false);
    for subflow in in_use {
        let path = state.paths.get(&subflow.link)?;
        let promised = if path.is_wifi() {
            prospect(path)
        } else {
            Bitrate::ZERO
        };
        rate = rate + subflow.arrivals.best_rate(now).max(promised);
        rtt = rtt.max(path.rtt());
        sinking |= is_sinking(path);
    }
    Some(Need {
        rate,
        rtt,
        received: conn.sample.bytes_received,
        sinking,
    })
}
