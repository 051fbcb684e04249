//! What bounds a connection's queues: its window, the role of its slow link, and what waits unsent on its subflows.
//!
//! [`Window`](crate::window::Window) and [`Slow`](crate::slow::Slow) decide; here they are shown the connection, and what they decide is asked for.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: a subflow is given up to 64 KiB at a time, once what it has unsent is under its limit.
//!
//! # Where we differ, and why
//! 1. The limit of what waits unsent is one burst on each subflow (the scheduler then adds one at most), whatever the links: a quarter of that brought 1 % less on `window-upload`, more is only sent again when a link dies. Like the
//!    window it is bounded only where it matters, once more than a quarter of a megabyte waits; and it then stays, since nothing is gained by lifting it.
//!
//! # Checked by
//! `tests::bounds`; `window-…` in the benchmarks.

use crate::choose::rank::{Use, Want, is_sinking, prospect};
use crate::estimate::arrivals::LATELY;
use crate::io::{Action, ConnId, LinkId, LinkKind, Note, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::path::Path;
use crate::known::state::State;
use crate::queue::queues::BUSY_SEGMENTS;
use crate::slow::{Look, View};
use crate::window::Need;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Duration, Instant};

/// More than this waiting at this host is worth bounding.
const BACKLOG_WORTH_BOUNDING: Bytes = Bytes::from_kib(256);
/// What is left waiting on the subflows: enough for a burst, too little to matter when a path dies.
const UNSENT_LIMIT: Bytes = Bytes::from_kib(64);
/// What a stock host lets its peer send ahead (the default `tcp_rmem`).
const STOCK: Bytes = Bytes::new(6_000_000);

/// What this connection wants, if that is not what all want: links of its own that are slow are better backups, as long as another is in use.
pub(crate) fn without_slow(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) -> Option<Vec<Want>> {
    watch_slow(now, state, id, wants);
    let slow = &state.conns.get(&id)?.slow;
    let is_spared = |want: &Want| slow.spares(want.link);
    let stays = |want: &Want| want.purpose != Use::Warm && !is_spared(want);
    if !wants.iter().any(is_spared) || !wants.iter().any(stays) {
        return None;
    }
    let mut wants = wants.to_vec();
    let spared = wants.iter_mut().filter(|want| is_spared(want));
    spared.for_each(|want| want.purpose = Use::Warm);
    Some(wants)
}

fn watch_slow(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) {
    let Some(conn) = state.conns.get(&id) else { return };
    let may_use = |link: LinkId| {
        wants
            .iter()
            .any(|want| want.link == link && want.purpose == Use::Active)
    };
    let sound = |subflow: &&Subflow| {
        subflow.draining.is_none()
            && may_use(subflow.link)
            && state.paths.get(&subflow.link).is_some_and(Path::is_candidate)
    };
    let mut views: Vec<View> = Vec::new();
    for subflow in conn.subflows.iter().filter(sound) {
        let path = &state.paths[&subflow.link];
        let view = View {
            link: subflow.link,
            best: shown(now, subflow, path),
            rate: subflow.arrivals.rate(now),
            queued: is_queued(subflow, path),
        };
        match views.iter_mut().find(|other| other.link == view.link) {
            // One of two is about to replace the other.
            Some(first) => first.add(view),
            None => views.push(view),
        }
    }
    let rtts = views.iter().map(|view| state.paths[&view.link].rtt());
    let look = Look {
        rtt: rtts.max().unwrap_or_default(),
        links: &views,
        held: conn.sample.held,
        window: conn.window.bound(),
        received: conn.sample.bytes_received,
    };
    let changed = state
        .conns
        .get_mut(&id)
        .and_then(|conn| conn.slow.look(now, &look));
    if let Some(changed) = changed {
        let verb = if changed.in_use { Verb::Use } else { Verb::Demote };
        // Of this connection, not of the link: what is so of the link is asked for in [`word`].
        state.push(Action::Note(Note {
            link: Some(changed.link),
            conn: Some(id),
            verb,
            why: changed.why,
        }));
    }
}

/// How a link stands that would be used, where each connection over it keeps it as a backup because it is slow, or tries it in use.
pub(crate) fn word(state: &State, link: LinkId) -> Option<(&'static str, String)> {
    let mut over = state.conns.values().filter(|conn| conn.has(link));
    let (verb, why) = over.next()?.slow.word(link)?;
    let is_so = |conn: &Conn| conn.slow.word(link).is_some_and(|(other, _)| other == verb);
    over.all(is_so).then(|| (verb.id(), why))
}

/// The most that a subflow has brought lately, or for WiFi what a known signal promises.
fn shown(now: Instant, subflow: &Subflow, path: &Path) -> Bitrate {
    let promised = if path.is_heard() {
        prospect(path)
    } else {
        Bitrate::ZERO
    };
    subflow.arrivals.best_rate(now).max(promised)
}

/// Whether a queue of half a base round trip stands before it, as of the last data.
pub(crate) fn is_queued(subflow: &Subflow, path: &Path) -> bool {
    subflow.sample.data_rtt >= path.rtt() * 3 / 2
}

/// As [`bound`], between its looks, while slow start may have found more or links lose.
pub(crate) fn bound_growing(now: Instant, state: &mut State, id: ConnId) {
    if state.conns.get(&id).is_some_and(|conn| conn.window.is_due(now)) {
        bound(now, state, id);
    }
}

/// Bounds how far ahead the peer, and this host, may queue.
pub(crate) fn bound(now: Instant, state: &mut State, id: ConnId) {
    bound_unsent(state, id);
    believe(now, state, id);
    let Some(need) = need(now, state, id) else { return };
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let changed = conn.window.update(now, need);
    let Some(ahead) = changed.and_then(|_| conn.window.ahead()) else {
        return;
    };
    if conn.window.is_news() {
        let rate = conn.window.capacity();
        let why = sentence(ahead.usual(), conn.window.loses(), Need { rate, ..need });
        conn.why = Some(why.clone());
        state.note(None, Some(id), Verb::Window, why);
    }
    state.push(Action::Window(id, Some(ahead)));
}

/// "1.1 MB = 2.0 × 90 Mb/s × 50 ms; …", where links lose "1.1 MB = 2.0 × 90 Mb/s × 50 ms, and what waits for lost bytes; …"
fn sentence(window: Bytes, loses: bool, need: Need) -> String {
    let product = (need.rate * need.rtt).get().max(1);
    let tenths = window.get().saturating_mul(10).saturating_add(product / 2) / product;
    let cost = need.rate.time_for(STOCK).unwrap_or_default().as_millis() / 100;
    let missed = if loses {
        ", and what waits for lost bytes"
    } else {
        ""
    };
    format!(
        "{window} = {}.{} × {} × {} ms{missed}; {STOCK} queued at the server would cost {}.{} s",
        tenths / 10,
        tenths % 10,
        need.rate,
        need.rtt.as_millis(),
        cost / 10,
        cost % 10
    )
}

fn bound_unsent(state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let unsent: Bytes = conn.subflows.iter().map(|subflow| subflow.sample.unsent).sum();
    if conn.unsent_why.is_none() && unsent > BACKLOG_WORTH_BOUNDING {
        let why = unsent_sentence(unsent, conn.subflows.iter().map(Subflow::sends).sum());
        conn.unsent_why = Some(why.clone());
        state.push(Action::Unsent(id, Some(UNSENT_LIMIT)));
        state.note(None, Some(id), Verb::Unsent, why);
    }
}

/// "64 KiB on each path: 1.2 MB waited unsent, which would cost 0.4 s if a path died"
fn unsent_sentence(unsent: Bytes, sends: Bitrate) -> String {
    let cost = match sends.time_for(unsent) {
        Some(cost) => format!(
            "cost {}.{} s",
            cost.as_millis() / 1_000,
            cost.as_millis() / 100 % 10
        ),
        None => String::from("have to be assigned anew"),
    };
    let limit = UNSENT_LIMIT.get() / 1_024;
    format!("{limit} KiB on each path: {unsent} waited unsent, which would {cost} if a path died")
}

/// Fewer segments than that in the last 300 ms echo time stamps of long ago.
const TELLING_SEGMENTS: u64 = 8;

/// What the connection's links carry, as far as their subflows have shown it.
fn believe(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    // A backup brings nothing, which says nothing of what its link carries.
    for subflow in conn.subflows.iter_mut().filter(|subflow| !subflow.backup) {
        let path = state.paths.get(&subflow.link);
        let tells = subflow.arrivals.recent_segments(now) >= TELLING_SEGMENTS;
        let best = subflow.arrivals.best_rate(now);
        let loses = tells && subflow.losses.go_on(now);
        let gives_way = loses && subflow.carries.gives_way(best);
        let full =
            gives_way || path.is_none_or(|path| (tells && is_queued(subflow, path)) || is_sinking(path));
        subflow.carries.look(now, best, full);
    }
}

fn need(now: Instant, state: &State, id: ConnId) -> Option<Need> {
    let conn = state.conns.get(&id)?;
    let in_use = conn
        .subflows
        .iter()
        .filter(|subflow| !subflow.backup && subflow.draining.is_none());
    let (mut rate, mut rtt, mut sinking) = (Bitrate::ZERO, Duration::ZERO, false);
    let (mut repair, mut wired, mut doubted) = (Duration::ZERO, true, false);
    let (mut links, mut queued, mut trickles) = (0, false, false);
    let (mut brings, mut under_way) = (Bitrate::ZERO, Bytes::ZERO);
    for subflow in in_use {
        let path = state.paths.get(&subflow.link)?;
        let carries = shown(now, subflow, path).max(subflow.carries.rate());
        let (_, lately) = subflow.arrivals.lately(now, path.rtt().max(LATELY));
        rate = rate + carries;
        brings = brings + carries.max(lately);
        under_way += carries.max(lately) * path.rtt();
        rtt = rtt.max(path.rtt());
        links += 1;
        queued |= subflow.arrivals.recent_segments(now) >= BUSY_SEGMENTS && is_queued(subflow, path);
        wired &= path.spec.kind == LinkKind::Cable;
        trickles |= subflow.trickle.goes_on(now);
        // Radios repeat what they lose, until they are about to be too weak; then little is to be held.
        if path.spec.kind == LinkKind::Cable {
            let missed = subflow.losses.repair(now);
            repair = repair.max(missed.unwrap_or_default());
        }
        sinking |= is_sinking(path);
        doubted |= !path.is_alive();
    }
    Some(Need {
        rate,
        brings,
        under_way,
        links,
        queued,
        rtt,
        repair,
        received: conn.sample.bytes_received,
        sinking,
        held: conn.sample.held,
        wired,
        drains: conn.slow.drains(now),
        trickles,
        doubted,
    })
}
