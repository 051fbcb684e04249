//! Parts with subflows that carry nothing any more without a jolt for those that do.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `__mptcp_close_ssk`: whichever subflow a sender closes, it sends
//!   everything again that is not acknowledged at the data level, whether any of it was on that subflow or
//!   not.
//! - RFC 8684 §3.3.1: the window is of the connection; its right edge does not move back.
//!
//! # Where we differ, and why
//! 1. From RFC 8684, which lets an address be withdrawn at any time: what is sent again comes in one burst.
//!    In `fading`, 390 kB that were already under way over two healthy links overflowed an access point's
//!    queue and cost 200 to 235 ms. An empty subflow can wait, so the window is narrowed first, and the peer
//!    is told when little is under way.
//! 2. A subflow that may still have something under way is not parted with here: there, what is sent again is
//!    what is missing.
//!
//! # Checked by
//! `tests::loss`; `fade` in the benchmarks.

use crate::io::{Action, ConnId, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::state::State;
use alloc::format;
use units::{Bytes, Duration, Instant};

/// A subflow that is not to be used and brings nothing for this long is empty.
pub(crate) const EMPTY_AFTER: Duration = Duration::from_millis(120);
/// A subflow that brought something within this time carries traffic.
const FLOWING: Duration = Duration::from_millis(100);

/// Whether nothing can be under way on it: it has been a backup for some time and brings nothing.
pub(crate) fn is_empty(now: Instant, subflow: &Subflow) -> bool {
    subflow.sample.backup && is_quiet(now, subflow)
}

/// Whether it has brought nothing for some time and has nothing of ours.
pub(crate) fn is_quiet(now: Instant, subflow: &Subflow) -> bool {
    subflow.arrivals.silence(now) >= EMPTY_AFTER && subflow.sample.unacked == 0
}

/// Gives these empty subflows up, as soon as that costs little.
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
    let usual = ahead.usual();
    let missed = match ahead.missed {
        Bytes::ZERO => "",
        _ => ", and what waits for lost bytes,",
    };
    let why = format!("{usual} of window{missed} for a moment: an empty subflow is about to be ended");
    conn.why = Some(why.clone());
    state.note(None, Some(id), Verb::Window, why);
    state.push(Action::Window(id, Some(ahead)));
}
