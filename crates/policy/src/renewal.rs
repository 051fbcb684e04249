//! A fresh subflow over a slow link that is left, where what the peer had given that link would hold up what another one took with it.
//!
//! When a link dies, a stock peer sends again what was lost at the end of the queues of the subflows that are left. Before a slow link that queue is
//! of seconds: the peer assigns up to 64 KiB at a time. A second subflow over the same link begins with an empty one; as soon as the peer has taken it,
//! the first is ended, and all that it still had is assigned anew, from the first byte that is missing on.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`: `mptcp_subflow_get_send` (up to 64 KiB at a time), `__mptcp_retransmit_pending_data` (a subflow that
//!   ends makes all that is not acknowledged be sent again, in order).
//! - RFC 8684 §3.2: a join names an address; nothing keeps two subflows from having the same ones.
//!
//! # Where we differ, and why
//! 1. From RFC 8684, in which a second subflow is another path: here it is another queue.
//! 2. Made before the first one is broken, and only where the peer is known to have a place: a join that is refused or lost costs nothing.
//!
//! # Checked by
//! `tests::renewal`; `window-mixes` in the benchmarks.

use crate::conn::{Conn, Subflow};
use crate::io::{ConnId, LinkId, SubflowId, Verb};
use crate::membership;
use crate::state::State;
use alloc::format;
use units::{Bytes, Duration, Instant};

/// So much a stock peer assigns to a subflow at a time.
const BURST: Bytes = Bytes::from_kib(64);
/// Round trips until what is missing comes over a fresh subflow: the join, its proof, the end of the first one.
const ROUNDS: u32 = 3;
/// What is gained must be worth a join.
const WORTH: Duration = Duration::from_millis(100);

/// A subflow that is about to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renewal {
    old: SubflowId,
    link: LinkId,
}

/// Begins where it is worth it, ends what has been replaced.
pub(crate) fn look(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    match conn.renewal {
        Some(renewal) => go_on(now, state, id, renewal),
        None => begin(now, state, id),
    }
}

fn go_on(now: Instant, state: &mut State, id: ConnId, renewal: Renewal) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let waits = conn.joining.iter().any(|join| join.link == renewal.link);
    let old = conn.find(renewal.old).is_some();
    if waits && old {
        return;
    }
    conn.renewal = None;
    let fresh = conn.over(renewal.link).find(|subflow| subflow.id != renewal.old);
    let Some(fresh) = fresh.filter(|_| old).map(|fresh| fresh.id) else {
        return;
    };
    // What was lost has come meanwhile: then the first one is the one to keep, whose sender knows the link.
    let needless = conn.sample.held == Bytes::ZERO;
    state.replaced(now, id, if needless { fresh } else { renewal.old });
}

fn begin(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let lost = conn.withdrawn.iter().any(|withdrawn| withdrawn.at == now);
    let has_place = conn.places_taken() < conn.peer_subflows;
    if !lost || !has_place || conn.sample.held == Bytes::ZERO {
        return;
    }
    let Some((queue, old, link)) = quickest(now, state, conn) else {
        return;
    };
    conn_renews(state, id, Renewal { old, link });
    let why = format!(
        "what the peer had given it holds up what was lost for {} ms and more: another subflow over it begins with an empty queue",
        queue.as_millis()
    );
    state.remark(link, Verb::Renew, why);
    state.join(now, id, link, false);
}

fn conn_renews(state: &mut State, id: ConnId, renewal: Renewal) {
    if let Some(conn) = state.conns.get_mut(&id) {
        conn.renewal = Some(renewal);
    }
}

/// The link over which what is missing would come soonest, if a fresh subflow over it brought it clearly sooner.
fn quickest(now: Instant, state: &State, conn: &Conn) -> Option<(Duration, SubflowId, LinkId)> {
    let everywhere = waits(conn);
    let sound = conn
        .subflows
        .iter()
        .filter(|subflow| membership::is_sound(state, subflow));
    let (queue, subflow) = sound
        .map(|subflow| (queue(now, subflow, everywhere), subflow))
        .min_by_key(|(queue, subflow)| (*queue, subflow.id))?;
    let rtt = state.paths.get(&subflow.link)?.rtt().max(subflow.sample.data_rtt);
    (queue >= rtt * ROUNDS + WORTH).then_some((queue, subflow.id, subflow.link))
}

/// How long what the peer had given all links would have taken them: it is divided so that it takes each the same.
fn waits(conn: &Conn) -> Duration {
    let given = conn
        .window
        .bound()
        .unwrap_or(Bytes::ZERO)
        .saturating_sub(conn.sample.held);
    conn.window.capacity().time_for(given).unwrap_or(Duration::ZERO)
}

/// How long what the peer has given this one takes, at least; a backup has nothing.
fn queue(now: Instant, subflow: &Subflow, everywhere: Duration) -> Duration {
    if subflow.backup {
        return Duration::ZERO;
    }
    let burst = subflow
        .arrivals
        .rate(now)
        .time_for(BURST)
        .unwrap_or(Duration::ZERO);
    burst.max(everywhere)
}
