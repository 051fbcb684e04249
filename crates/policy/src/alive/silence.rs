//! Which links have silently died: silence raises a doubt, and only probes that stay unanswered settle it.
//!
//! A subflow that brought something and stops is doubted after a few milliseconds if it was busy, later if
//! its traffic was thin. A doubt costs a few small packets. Anything that arrives over the link ends it: a
//! segment, an answer, any packet that the interface counts. So an idle, application-limited or slow path is
//! never taken for a dead one: it answers.
//!
//! # Sources
//! - Readings of a link cut silently under a download (the project's kernel notes): arrivals stop within 2 ms
//!   of the cut; gaps of a healthy busy subflow are up to 35 ms under Reno.
//! - RFC 8684 §3.3.6 and §3.4.2: the peer learns by REMOVE_ADDR, over any living subflow.
//!
//! # Where we differ, and why
//! 1. No silence alone is proof, however busy the path was: beside much slower links, and on a shared air, a
//!    healthy subflow is silent for longer than a dead one needs to be found.
//! 2. Probes leave while the silence is still short, so that asking costs no time.
//! 3. The time given to an answer is that of an empty queue: were the queue full, what is in it would arrive,
//!    or be acknowledged, and end the doubt. Only where little came before the silence, the loaded round-trip
//!    time is given: then the queue may be another's.
//! 4. A doubt does not ripen while nobody looks, or this host does not run ([`crate::known::doubt`]).
//! 5. No arming after slow start: a subflow that is silent between the bursts of its slow start is asked like
//!    any other, and answers. What arming would prevent, a path given up for a silence alone, never happens:
//!    without unanswered probes nothing is given up. Six bursts over links of 20, 30 and 50 ms cost 20 small
//!    packets in all, 9 over one link at most, and no link.
//!
//! 6. A backup that brings nothing is not asked here, since it brings nothing while others carry:
//!    [`crate::alive::reserves`] asks it. What we sent over it and is not acknowledged is missed as on any
//!    other.
//! 7. A link over which a look has found something is not doubted for what the same look has found of one of
//!    its subflows, which may wait for a time-out of its own.
//! 8. Links that are silent together have one cause, which is rarely their death: the peer, its host or what
//!    all of them pass stands still for a moment. So while no link is known to live, none is given up until
//!    the last of them must have answered. Nothing is lost by that, as there is nowhere to go.
//!
//! # Checked by
//! `tests::loss`, `tests::looks`; `stall-drop`, `stall-backup` and `wrong-removals` in the benchmarks.

use crate::alive::idle;
use crate::io::{ConnId, LinkId, LinkKind, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::doubt::{Doubt, STOPPED};
use crate::known::path::{Health, Path};
use crate::known::state::State;
use alloc::format;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Segments in the last 300 ms that make a subflow busy.
const BUSY_SEGMENTS: u64 = 30;
/// Silence after which a busy subflow is asked.
const BUSY_SILENCE: Duration = Duration::from_millis(20);
/// The same over a cable, where nothing waits for its turn on the air: the first reading of the counters that
/// finds nothing new. With so little for WiFi, too, `fade` had gaps of 84 ms (median) and 220 ms: each
/// question wakes a link that is kept warm.
const BUSY_CABLE_SILENCE: Duration = Duration::from_millis(8);
/// Silence after which any other subflow is asked.
const THIN_SILENCE: Duration = Duration::from_millis(150);
/// Data under way for this much longer than its round trip should take is a doubt.
const ACK_SLACK: Duration = Duration::from_millis(30);
/// After an answer, the same silence is questioned again only after this, and another one only when it is
/// twice as long.
const CLEARED_FOR: Duration = Duration::from_millis(500);
/// Data that came within this time tells how long a queue stands.
const LATELY: Duration = Duration::from_secs(1);
/// What a thin subflow shows as a round trip may have its sender's pauses in it: no more than this is
/// believed.
const LONGEST_ROUND: Duration = Duration::from_millis(150);

/// Looks at one subflow whose counters were just read; raises a doubt about its link if it should be bringing
/// something, and then says so.
pub(crate) fn inspect(now: Instant, state: &mut State, conn_id: ConnId, subflow_id: SubflowId) -> bool {
    let Some(conn) = state.conns.get(&conn_id) else {
        return false;
    };
    let Some(subflow) = conn.subflows.iter().find(|subflow| subflow.id == subflow_id) else {
        return false;
    };
    let link = subflow.link;
    let unheard = |path: &&Path| path.heard != Some(now);
    let Some(kind) = state.paths.get(&link).filter(unheard).map(|path| path.spec.kind) else {
        return false;
    };
    let Some(silence) = suspicious(now, conn, subflow, kind) else {
        return false;
    };
    let loaded = match is_busy(now, subflow) {
        true => Duration::ZERO,
        false => subflow.loaded_rtt().max(arriving_rtt(now, state, link)),
    };
    doubt(now, state, link, conn_id, silence, loaded)
}

/// Raises a doubt about a link that has been silent for so long, and asks it; not if something is known of it
/// already. An answer is given at least this `loaded` round trip.
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
    let wait = path.rtt().max(loaded) + path.gap.patience(now, path.spec.kind);
    let doubt = Doubt::new(now, conn, silence, wait);
    path.health = Health::Doubted(doubt);
    let why = format!(
        "nothing has come over it for {} ms: it is asked whether it is alive",
        silence.as_millis()
    );
    state.remark(None, link, Verb::Suspect, why);
    ask(now, state, link);
    true
}

/// The round trip that what comes over a link has shown lately, with every queue: by the subflow that shows
/// least, since one that brings little echoes time stamps of long ago.
fn arriving_rtt(now: Instant, state: &State, link: LinkId) -> Duration {
    let over = state.conns.values().flat_map(|conn| conn.over(link));
    let lately = over.filter(|subflow| subflow.arrivals.silence(now) < LATELY);
    let shown = lately.map(|subflow| subflow.sample.data_rtt);
    let least = shown.filter(|rtt| *rtt > Duration::ZERO).min();
    least.unwrap_or_default().min(LONGEST_ROUND)
}

/// How long this subflow has been silent, if that is worth a question.
fn suspicious(now: Instant, conn: &Conn, subflow: &Subflow, kind: LinkKind) -> Option<Duration> {
    let cleared = subflow.cleared.filter(|&at| now - at < CLEARED_FOR);
    let worth = |silence: Duration, limit: Duration| match cleared {
        Some(at) => now - silence > at && silence >= limit * 2,
        None => silence >= limit,
    };
    let unanswered = subflow
        .waiting
        .map(|since| now - since)
        .filter(|&wait| worth(wait, ack_limit(subflow)));
    unanswered.or_else(|| {
        let limit = quiet_for(is_busy(now, subflow), kind);
        missing_data(now, conn, subflow).filter(|&silence| worth(silence, limit))
    })
}

/// The silence after which a subflow is asked.
const fn quiet_for(busy: bool, kind: LinkKind) -> Duration {
    match (busy, kind) {
        (true, LinkKind::Cable) => BUSY_CABLE_SILENCE,
        (true, LinkKind::Wifi | LinkKind::Cellular) => BUSY_SILENCE,
        (false, _) => THIN_SILENCE,
    }
}

/// Whether much came before the silence, be it data or acknowledgements of ours.
fn is_busy(now: Instant, subflow: &Subflow) -> bool {
    subflow.arrivals.recent_segments(now) >= BUSY_SEGMENTS
}

fn ack_limit(subflow: &Subflow) -> Duration {
    subflow.sample.srtt.max(subflow.sample.min_rtt) * 5 / 4 + ACK_SLACK
}

/// Silence of a subflow from which data was coming.
fn missing_data(now: Instant, conn: &Conn, subflow: &Subflow) -> Option<Duration> {
    let last = subflow.arrivals.last()?;
    let silence = now - last;
    // One question per silence, unless the connection goes on elsewhere while this part of it is missing.
    let asked = subflow.cleared.is_some_and(|at| at > last);
    let others = conn
        .subflows
        .iter()
        .any(|other| other.id != subflow.id && other.arrivals.silence(now) < BUSY_SILENCE);
    (!subflow.sample.backup && (!asked || others)).then_some(silence)
}

/// The world did not call for so long: answers may lie unread.
pub(crate) fn overslept(now: Instant, state: &mut State, late: Duration) {
    if late >= STOPPED {
        state.liveness.begin_anew();
    }
    doubts(state).for_each(|doubt| doubt.stood_still(now, late));
}

/// This host was suspended, in which time stood still.
pub(crate) fn resumed(now: Instant, state: &mut State) {
    state.liveness.begin_anew();
    doubts(state).for_each(|doubt| doubt.begin_anew(now));
}

fn doubts(state: &mut State) -> impl Iterator<Item = &mut Doubt> {
    state
        .paths
        .values_mut()
        .filter_map(|path| match &mut path.health {
            Health::Doubted(doubt) => Some(doubt),
            Health::Alive | Health::Dead { .. } => None,
        })
}

/// Settles the doubts that are proven. Only once everything is told that has been read: links that died
/// together are given up together, and an answer counts wherever it stands among what was read.
pub(crate) fn settle(now: Instant, state: &mut State) {
    let held = is_held(state);
    for (link, doubt) in doubted(state, |doubt| doubt.is_proven() && !held) {
        condemn(now, state, link, doubt);
    }
    doubts(state).for_each(|doubt| doubt.pass(now));
}

/// Whether what is proven has to wait for the others: no link is known to live, and not all of them must have
/// answered yet.
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
    let why = format!(
        "nothing has come over it for {} ms and {} probes stayed unanswered for {} ms",
        silent.as_millis(),
        doubt.probes,
        (now - doubt.since).as_millis()
    );
    if let Some(path) = state.paths.get_mut(&link) {
        path.health = Health::Dead {
            next_try: now + Duration::from_millis(100),
            tries: 0,
        };
    }
    state.note(Some(link), None, Verb::Remove, why);
}

/// Asks the dead links whose time has come whether they are back, each more rarely the longer it has been
/// dead.
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
