//! Slows down the slow start of an upload that ignores marks: for eight round trips, at most two seconds, it
//! sends less than is acknowledged.
//!
//! A controller that paces and probes for the rate itself (BBR) ignores marks and losses in its startup. It
//! stops when three round trips have raised the rate by less than a quarter. By then twice what fills the
//! link is in flight. What overflows the queue is retransmitted a round trip later, and all bytes from other
//! links wait for it. So the rate is held to 70 % of the acknowledged rate from the first sign of a queue.
//! The same three round trips then show the controller that there is no more.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`: `bbr_check_full_bw_reached`, pacing and window gain of 2.89 until
//!   then; `net/core/sock.c`, `SO_MAX_PACING_RATE`.
//! - Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016: how far startup
//!   overshoots.
//!
//! # Where we differ, and why
//! 1. Once per subflow, over cables only: over radio, the air changes the round trip. The sign is that of
//!    [`crate::queue::aqm`], but in the subflow's own round trips. Another peer may be nearer, and a queue
//!    that exists when it begins is not its own.
//! 2. Not beside a subflow that is past its start and moves much over the same link: the queue may be that
//!    one's.
//! 3. The rate is taken as at least half of what is in flight per round trip. In a start, that is about the
//!    true rate. If a sample came before a burst of acknowledgements, or behind a hole, this keeps the cap
//!    from being a small fraction of the rate.
//! 4. A subflow that had moved much when first seen does not count: its start was not seen.
//!
//! # Checked by
//! `tests::pacing`; `window-upload` in the benchmarks.

use super::tuning::{HELD_PERCENT, LONGEST, ROUNDS};
use crate::estimate::tuning::BUSY_SEGMENTS;
use crate::io::reason::Queue;
use crate::io::{Action, ConnId, LinkId, LinkKind, SubflowId, Verb};
use crate::known::conn::Subflow;
use crate::known::path::Path;
use crate::known::state::State;
use crate::queue::aqm::begins_to_fill;
use crate::queue::queues::{is_young, sends_much};
use alloc::collections::BTreeMap;
use units::{Bitrate, Duration, Instant};

/// Checks a subflow whose counters were read.
pub(crate) fn look(now: Instant, state: &mut State, conn: ConnId, id: SubflowId) {
    let starting = state
        .conns
        .get(&conn)
        .and_then(|conn| conn.find(id))
        .filter(|subflow| is_starting(now, subflow, &state.paths));
    let Some(link) = starting.map(|subflow| subflow.link) else {
        return;
    };
    if is_crowded(now, state, link, id) {
        return;
    }
    let Some(subflow) = subflow_mut(state, conn, id) else {
        return;
    };
    subflow.held_back = true;
    let rtt = subflow.sample.srtt;
    let rate = arrives_with(subflow).percent(HELD_PERCENT);
    let lasts = (rtt * ROUNDS).min(LONGEST);
    state.push(Action::CapPacing {
        subflow: id,
        rate,
        lasts,
    });
    // A note of this connection, and over in a moment: it does not describe the link.
    state.remark(
        Some(conn),
        Some(link),
        Verb::Pace,
        Queue::SlowStart { rate, lasts, rtt },
    );
}

fn subflow_mut(state: &mut State, conn: ConnId, id: SubflowId) -> Option<&mut Subflow> {
    let subflows = &mut state.conns.get_mut(&conn)?.subflows;
    subflows.iter_mut().find(|subflow| subflow.id == id)
}

/// Whether its slow start begins to fill a queue on a cable for the first time.
fn is_starting(now: Instant, subflow: &Subflow, paths: &BTreeMap<LinkId, Path>) -> bool {
    let least = subflow.sample.min_rtt;
    let starts =
        !subflow.held_back && subflow.acked.seen_from_start() && is_young(now - subflow.since, least);
    let fills = sends_much(subflow) && least > Duration::ZERO && begins_to_fill(least, subflow.sample.srtt);
    let is_cable = |path: &Path| path.spec.kind == LinkKind::Cable;
    starts && fills && paths.get(&subflow.link).is_some_and(is_cable)
}

/// Whether another subflow is past its start and moves much over the same link.
fn is_crowded(now: Instant, state: &State, link: LinkId, id: SubflowId) -> bool {
    let settled = |of: &Subflow| !is_young(now - of.since, of.sample.min_rtt);
    let moves_much = |of: &Subflow| sends_much(of) || of.arrivals.recent_segments(now) >= BUSY_SEGMENTS;
    let mut others = state.conns.values().flat_map(|conn| conn.over(link));
    others.any(|of| of.id != id && settled(of) && moves_much(of))
}

fn arrives_with(subflow: &Subflow) -> Bitrate {
    let least = subflow.sends().percent(50);
    subflow.acked.rate().max(least)
}
