//! Which links have silently died. Silence raises a doubt, and only unanswered probes decide it.
//!
//! A busy subflow that stops is doubted after a few milliseconds, one with little traffic later. A doubt
//! costs a few small packets. Anything that arrives over the link ends it: a segment, a reply, or any packet
//! that the interface counts. So an idle, application-limited or slow path is never mistaken for a dead one:
//! it replies.
//!
//! # Sources
//! - Measurements of a link cut silently under a download (the project's kernel notes): arrivals stop within
//!   2 ms of the cut. Gaps of a healthy busy subflow are up to 35 ms under Reno.
//! - RFC 8684 §3.3.6 and §3.4.2: the peer is notified by REMOVE_ADDR, over any living subflow.
//!
//! # Where we differ, and why
//! 1. Silence alone is never proof, however busy the path was. Beside much slower links, or in shared air, a
//!    healthy subflow may be silent for longer than the detection of a dead one may take.
//! 2. Probes are sent while the silence is still short, so that probing costs no time.
//! 3. A reply is given the time of an empty queue: if the queue were full, its packets would arrive or be
//!    acknowledged, and so end the doubt. Only if little arrived before the silence, the loaded round-trip
//!    time is given, because the queue may be another host's.
//! 4. A doubt makes no progress while nobody polls or this host does not run ([`crate::known::doubt`]).
//! 5. No special rule for slow start: a subflow that is silent between the bursts of its slow start is probed
//!    like any other, and replies. Such a rule would prevent a removal for silence alone, which never
//!    happens: nothing is removed without unanswered probes. Six bursts over links of 20, 30 and 50 ms cost
//!    20 small packets in all, at most 9 over one link, and no link was lost.
//!
//! 6. A silent backup is not probed here, since it receives nothing while others carry data:
//!    [`crate::alive::reserves`] probes it. What we sent over it and is not acknowledged is missed as on any
//!    other.
//! 7. A poll that finds new data on a link raises no doubt for one of its silent subflows. That subflow may
//!    wait for a timeout of its own.
//! 8. Links that fall silent together have one cause, which is rarely their death: the peer, its host or a
//!    shared part of the path pauses for a moment. So while no link is known to be alive, none is removed
//!    until the replies of all are overdue. Nothing is lost by waiting, as there is no other link to use.
//! 9. A radio that takes turns hears nothing of a link while it listens to others. It may have received all
//!    that was waiting long before it left. So its cycle is added to every limit.
//!
//! # Checked by
//! `tests::loss`, `tests::looks`; `tests/engine_slots.rs` (9); `stall-drop`, `stall-backup` and
//! `wrong-removals` in the benchmarks.

use super::tuning::{
    ACK_SLACK, BUSY_CABLE_SILENCE, BUSY_SILENCE, CLEARED_FOR, LATELY, LONGEST_ROUND, THIN_SILENCE,
};
use crate::alive::idle;
use crate::estimate::tuning::BUSY_SEGMENTS;
use crate::io::reason::Evidence;
use crate::io::{ConnId, LinkId, LinkKind, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::doubt::Doubt;
use crate::known::path::{Health, Path};
use crate::known::state::State;
use crate::known::tuning::STOPPED;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Checks a subflow whose counters were just read. If it should be receiving something, raises a doubt about
/// its link and returns true.
pub(crate) fn inspect(now: Instant, state: &mut State, conn_id: ConnId, subflow_id: SubflowId) -> bool {
    let Some(conn) = state.conns.get(&conn_id) else {
        return false;
    };
    let Some(subflow) = conn.subflows.iter().find(|subflow| subflow.id == subflow_id) else {
        return false;
    };
    let link = subflow.link;
    let unheard = |path: &&Path| path.heard != Some(now);
    let Some(path) = state.paths.get(&link).filter(unheard) else {
        return false;
    };
    let Some(silence) = suspicious(now, conn, subflow, path) else {
        return false;
    };
    let loaded = match is_busy(now, subflow) {
        true => Duration::ZERO,
        false => subflow.loaded_rtt().max(arriving_rtt(now, state, link)),
    };
    let usual = usual_pause(now, subflow, path);
    let is_new = doubt(now, state, link, conn_id, silence, loaded);
    if let Some(doubt) = state.paths.get_mut(&link).and_then(doubt_of).filter(|_| is_new) {
        doubt.expects(usual);
    }
    is_new
}

/// The longest silence that this subflow's sender explains. Waiting for acknowledgements, a sender sends in
/// bursts, and repeats the same pauses every round trip. A longer pause has another cause.
fn usual_pause(now: Instant, subflow: &Subflow, path: &Path) -> Duration {
    subflow.arrivals.longest_pause(now).min(path.rtt())
}

/// Raises a doubt about a link that has been silent for `silence`, and probes it. Does nothing if a doubt is
/// open or the link is known dead. A reply is given at least the `loaded` round-trip time.
pub(crate) fn doubt(
    now: Instant,
    state: &mut State,
    link: LinkId,
    conn: ConnId,
    silence: Duration,
    loaded: Duration,
) -> bool {
    let Some(path) = state.paths.get_mut(&link).filter(|path| path.is_alive()) else {
        return false;
    };
    let wait = path.rtt().max(loaded) + path.gap.patience(now, path.spec.kind) + path.cycle;
    let doubt = Doubt::new(now, conn, silence, wait);
    path.health = Health::Doubted(doubt);
    state.remark(None, Some(link), Verb::Suspect, Evidence::Silent { silence });
    ask(now, state, link);
    true
}

/// The recent round-trip time of data over a link, with every queue. The least of its subflows counts, since
/// a slow one echoes old timestamps.
fn arriving_rtt(now: Instant, state: &State, link: LinkId) -> Duration {
    let over = state.conns.values().flat_map(|conn| conn.over(link));
    let lately = over.filter(|subflow| subflow.arrivals.silence(now) < LATELY);
    let shown = lately.map(|subflow| subflow.sample.data_rtt);
    let least = shown.filter(|rtt| *rtt > Duration::ZERO).min();
    least.unwrap_or_default().min(LONGEST_ROUND)
}

/// How long this subflow has been silent, if that is worth a probe.
fn suspicious(now: Instant, conn: &Conn, subflow: &Subflow, path: &Path) -> Option<Duration> {
    let cleared = subflow.cleared.filter(|&at| now - at < CLEARED_FOR);
    let worth = |silence: Duration, limit: Duration| match cleared {
        Some(at) => now - silence > at && silence >= limit * 2,
        None => silence >= limit,
    };
    let unanswered = subflow
        .waiting
        .map(|since| now - since)
        .filter(|&wait| worth(wait, ack_limit(subflow) + path.cycle));
    unanswered.or_else(|| {
        let limit = quiet_for(is_busy(now, subflow), path.spec.kind) + path.cycle;
        missing_data(now, conn, subflow).filter(|&silence| worth(silence, limit))
    })
}

/// The silence after which a subflow is probed.
const fn quiet_for(busy: bool, kind: LinkKind) -> Duration {
    match (busy, kind) {
        (true, LinkKind::Cable) => BUSY_CABLE_SILENCE,
        (true, LinkKind::Wifi | LinkKind::Cellular) => BUSY_SILENCE,
        (false, _) => THIN_SILENCE,
    }
}

/// Whether much arrived before the silence: data, or acknowledgements of ours.
fn is_busy(now: Instant, subflow: &Subflow) -> bool {
    subflow.arrivals.recent_segments(now) >= BUSY_SEGMENTS
}

fn ack_limit(subflow: &Subflow) -> Duration {
    subflow.sample.srtt.max(subflow.sample.min_rtt) * 5 / 4 + ACK_SLACK
}

/// The silence of a subflow from which data was arriving.
fn missing_data(now: Instant, conn: &Conn, subflow: &Subflow) -> Option<Duration> {
    let last = subflow.arrivals.last()?;
    let silence = now - last;
    // One probe per silence, unless other subflows continue while the data of this one is missing.
    let asked = subflow.cleared.is_some_and(|at| at > last);
    let others = conn
        .subflows
        .iter()
        .any(|other| other.id != subflow.id && other.arrivals.silence(now) < BUSY_SILENCE);
    (!subflow.sample.backup && (!asked || others)).then_some(silence)
}

/// Handles a world that called `late`: replies may lie unread.
pub(crate) fn overslept(now: Instant, state: &mut State, late: Duration) {
    if late >= STOPPED {
        state.liveness.begin_anew();
    }
    doubts(state).for_each(|doubt| doubt.stood_still(now, late));
}

/// Handles a suspension of this host, during which time stood still.
pub(crate) fn resumed(now: Instant, state: &mut State) {
    state.liveness.begin_anew();
    doubts(state).for_each(|doubt| doubt.begin_anew(now));
}

fn doubts(state: &mut State) -> impl Iterator<Item = &mut Doubt> {
    state.paths.values_mut().filter_map(doubt_of)
}

fn doubt_of(path: &mut Path) -> Option<&mut Doubt> {
    match &mut path.health {
        Health::Doubted(doubt) => Some(doubt),
        Health::Alive | Health::Dead { .. } => None,
    }
}

/// Decides the doubts that are proven. It runs only after everything that was read is reported. So links that
/// died together are removed together, and a reply counts wherever it stands in what was read.
pub(crate) fn settle(now: Instant, state: &mut State) {
    let held = is_held(state);
    for (link, doubt) in doubted(state, |doubt| doubt.is_proven() && !held) {
        condemn(now, state, link, doubt);
    }
    doubts(state).for_each(|doubt| doubt.pass(now));
}

/// Whether proven doubts must wait: no link is known to be alive, and some replies are not yet overdue.
fn is_held(state: &State) -> bool {
    let paths = || state.paths.values();
    let mut usable = paths().filter(|path| path.is_usable() && path.is_allowed());
    let open = |path: &Path| path.doubt().is_some_and(|doubt| !doubt.is_proven());
    paths().any(open) && usable.all(|path| !path.is_alive())
}

/// Sends the probes that are due.
pub(crate) fn ask_again(now: Instant, state: &mut State) {
    for (link, _) in doubted(state, |doubt| doubt.is_due(now)) {
        ask(now, state, link);
    }
}

fn doubted(state: &State, pick: impl Fn(&Doubt) -> bool) -> Vec<(LinkId, Doubt)> {
    let paths = state.paths.iter();
    let doubted = paths.filter_map(|(&link, path)| Some((link, path.doubt()?)));
    doubted.filter(|(_, doubt)| pick(doubt)).collect()
}

fn ask(now: Instant, state: &mut State, link: LinkId) {
    let Some(path) = state.paths.get_mut(&link) else {
        return;
    };
    let Health::Doubted(doubt) = &mut path.health else {
        return;
    };
    doubt.asks(now);
    let conn = doubt.conn;
    state.probe(link, conn);
}

fn condemn(now: Instant, state: &mut State, link: LinkId, doubt: Doubt) {
    let silent = doubt.silence + (now - doubt.since);
    let proof = Evidence::Unanswered {
        silence: silent,
        probes: doubt.probes,
        waited: now - doubt.since,
    };
    if let Some(path) = state.paths.get_mut(&link) {
        path.health = Health::Dead {
            next_try: now + Duration::from_millis(100),
            tries: 0,
        };
    }
    state.note(Some(link), None, Verb::Remove, proof);
}

/// Probes the dead links that are due, each more rarely the longer it has been dead.
pub(crate) fn retry(now: Instant, state: &mut State) {
    let mut due = Vec::new();
    for (&link, path) in state.paths.iter_mut().filter(|(_, path)| path.is_usable()) {
        if let Health::Dead { next_try, tries } = &mut path.health
            && now >= *next_try
        {
            *tries = tries.saturating_add(1);
            *next_try = now + Duration::from_millis(100 << (*tries).min(6));
            due.push((link, *tries));
        }
    }
    let conn = state.conns.first_key_value().map(|(&conn, _)| conn);
    for (link, tries) in due {
        match conn.filter(|_| !state.liveness.has_lost(link)) {
            Some(conn) => state.probe(link, conn),
            None => idle::retry(now, state, link, tries),
        }
    }
}

/// The next time at which [`settle`], [`ask_again`] or [`retry`] has something to do.
pub(crate) fn wake_at(state: &State) -> Option<Instant> {
    let held = is_held(state);
    state
        .paths
        .values()
        .filter_map(|path| match path.health {
            Health::Alive => None,
            Health::Doubted(doubt) => Some(doubt.wake_at(held)),
            Health::Dead { next_try, .. } => Some(next_try).filter(|_| path.is_usable()),
        })
        .min()
}
