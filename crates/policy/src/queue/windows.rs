//! Caps the receive window of each connection.
//!
//! [`Window`](crate::window::Window) decides. This module feeds it the connection, and requests what it
//! decides.
//!
//! # Checked by
//! `tests::bounds`; `window-…` in the benchmarks.

use super::tuning::TELLING_SEGMENTS;
use super::unsent;
use crate::choose::rank::{is_sinking, shown};
use crate::estimate::tuning::BUSY_SEGMENTS;
use crate::estimate::tuning::LATELY;
use crate::io::reason::Queue;
use crate::io::{Action, ConnId, LinkKind, Verb};
use crate::known::conn::is_queued;
use crate::known::state::State;
use crate::window::Need;
use units::{Bitrate, Bytes, Duration, Instant};

/// As [`bound`], between its ticks, while slow start may have found more or links lose.
pub(crate) fn bound_growing(now: Instant, state: &mut State, id: ConnId) {
    if state.conns.get(&id).is_some_and(|conn| conn.window.is_due(now)) {
        bound(now, state, id);
    }
}

/// Caps how much the peer, and this host, may queue.
pub(crate) fn bound(now: Instant, state: &mut State, id: ConnId) {
    unsent::bound(state, id);
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
        let why = Queue::Window {
            window: ahead.usual(),
            loses: conn.window.loses(),
            rate: conn.window.capacity(),
            rtt: need.rtt,
        };
        conn.window_reason = Some(why);
        state.note(None, Some(id), Verb::Window, why);
    }
    state.push(Action::Window(id, Some(ahead)));
}

/// Updates what the connection's links carry, as far as their subflows have shown it.
fn believe(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    // A backup receives nothing, which says nothing about what its link carries.
    for subflow in conn.subflows.iter_mut().filter(|subflow| !subflow.backup) {
        let path = state.paths.get(&subflow.link);
        let tells = subflow.arrivals.recent_segments(now) >= TELLING_SEGMENTS;
        let best = subflow.arrivals.best_rate(now);
        let loses = tells && subflow.losses.are_frequent(now);
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
    let (mut links, mut queued) = (0, false);
    let (mut goodput, mut under_way) = (Bitrate::ZERO, Bytes::ZERO);
    for subflow in in_use {
        let path = state.paths.get(&subflow.link)?;
        let carries = shown(now, subflow, path).max(subflow.carries.rate());
        // A radio that takes turns holds back a round trip by up to its cycle.
        let round = path.rtt() + path.cycle;
        let (_, lately) = subflow.arrivals.lately(now, round.max(LATELY));
        rate = rate + carries;
        goodput = goodput + carries.max(lately);
        under_way += carries.max(lately) * round;
        rtt = rtt.max(round);
        links += 1;
        queued |= subflow.arrivals.recent_segments(now) >= BUSY_SEGMENTS && is_queued(subflow, path);
        wired &= path.spec.kind == LinkKind::Cable;
        // Radios repeat what they lose, until their signal is too weak. Then little should be out of order.
        if path.spec.kind == LinkKind::Cable {
            let missed = subflow.losses.repair(now);
            repair = repair.max(missed.unwrap_or_default());
        }
        sinking |= is_sinking(path);
        doubted |= !path.is_alive();
    }
    Some(Need {
        rate,
        goodput,
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
        doubted,
    })
}
