//! Closes subflows that carry nothing, without disturbing those that carry data.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `__mptcp_close_ssk`: whichever subflow a sender closes, it reinjects
//!   everything that is not acknowledged at the data level, whether it was on that subflow or not.
//! - RFC 8684 §3.3.1: the window belongs to the connection, and its right edge does not move back.
//!
//! # Where we differ, and why
//! 1. From RFC 8684, which lets an address be withdrawn at any time: the reinjected bytes come in one burst.
//!    In `fading`, 390 kB that were already in flight over two healthy links overflowed an access point's
//!    queue and cost 200 to 235 ms. An empty subflow can wait. So the window is narrowed first, and RM_ADDR
//!    is sent when little is in flight.
//! 2. A subflow that may still have data in flight is not closed here: its reinjected bytes are the missing
//!    ones.
//!
//! # Checked by
//! `tests::loss`; `fade` in the benchmarks.

use super::tuning::{EMPTY_AFTER, FLOWING};
use crate::io::reason::Queue;
use crate::io::{Action, ConnId, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::state::State;
use units::{Bytes, Instant};

/// Whether nothing can be in flight on it: it has been a backup for some time and receives nothing.
pub(crate) fn is_empty(now: Instant, subflow: &Subflow) -> bool {
    subflow.sample.backup && is_quiet(now, subflow)
}

/// Whether it received nothing for some time and has no data of ours.
pub(crate) fn is_quiet(now: Instant, subflow: &Subflow) -> bool {
    subflow.arrivals.silence(now) >= EMPTY_AFTER && subflow.sample.unacked == 0
}

/// Closes these empty subflows as soon as that costs little.
pub(crate) fn part(now: Instant, state: &mut State, id: ConnId, empty: &[SubflowId]) {
    let Some(conn) = state.conns.get_mut(&id).filter(|_| !empty.is_empty()) else {
        return;
    };
    match conn.window.narrowed(now) {
        Some(settled) if now < settled => {}
        None if carries_traffic(now, conn, empty) => narrow(now, state, id, empty),
        _ => state.give_up(now, id, empty),
    }
}

fn carries_traffic(now: Instant, conn: &Conn, empty: &[SubflowId]) -> bool {
    conn.subflows
        .iter()
        .any(|subflow| !empty.contains(&subflow.id) && subflow.arrivals.silence(now) < FLOWING)
}

fn narrow(now: Instant, state: &mut State, id: ConnId, empty: &[SubflowId]) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let Some(ahead) = conn.window.narrow(now) else {
        return state.give_up(now, id, empty);
    };
    let why = Queue::Narrowed {
        window: ahead.usual(),
        loses: ahead.missed > Bytes::ZERO,
    };
    conn.window_reason = Some(why);
    state.note(None, Some(id), Verb::Window, why);
    state.push(Action::Window(id, Some(ahead)));
}
