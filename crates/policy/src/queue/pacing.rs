//! An upload's slow start that hears no mark: for eight round trips, two seconds at most, it is to send less
//! than arrives.
//!
//! A controller that paces and looks for the rate itself (BBR) answers neither marks nor losses while it
//! starts: it stops when three round trips have brought no quarter more, and by then twice what fills the
//! link is under way. What does not fit into the queue is sent again a round trip later, and all that came
//! over other links waits for it. Held to 70 % of what arrives from the first sign of a queue on, it finds in
//! the same three round trips that there is no more.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`: `bbr_check_full_bw_reached`, pacing and window gain of 2.89 until
//!   then; `net/core/sock.c`, `SO_MAX_PACING_RATE`.
//! - Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016: what startup
//!   overshoots.
//!
//! # Where we differ, and why
//! 1. Once for each subflow, over cables: what the round trip shows over radio comes from the air. The sign
//!    is that of [`crate::queue::aqm`], but in the subflow's own round trips: another peer may be nearer, and
//!    a queue that stands when it begins is not its own.
//! 2. Not beside one that is past its start and moves much over the same link: it may be its queue.
//! 3. Half of what is under way in a round trip is the least that is believed to arrive. In a start it is
//!    about what does; where one reading came before a burst of acknowledgements, or behind a hole, it keeps
//!    the cap from being a small part of the rate.
//! 4. One that has moved much when it is first seen was not seen to begin.
//!
//! # Checked by
//! `tests::pacing`; `window-upload` in the benchmarks.

use crate::io::{Action, ConnId, LinkId, LinkKind, Note, SubflowId, Verb};
use crate::known::conn::Subflow;
use crate::known::path::Path;
use crate::known::state::State;
use crate::queue::aqm::begins_to_fill;
use crate::queue::queues::{BUSY_SEGMENTS, is_young, sends_much};
use alloc::collections::BTreeMap;
use alloc::format;
use units::{Bitrate, Duration, Instant};

/// What was sent until the sign came is more than fills the link, and has to drain: so much of what arrives.
const HELD_PERCENT: u64 = 70;
/// For so many round trips. The controller looks at three whole ones, and they become longer as the queue
/// does. BBR forgets after ten what it saw without the cap.
const ROUNDS: u32 = 8;
/// No longer, whatever a round trip takes.
const LONGEST: Duration = Duration::from_secs(2);

/// A subflow's counters were read.
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
    let [rtt, time] = [rtt, lasts].map(|time| time.as_millis());
    let why = format!(
        "{rate} for {time} ms, if it paces: its slow start has begun to fill a queue, round trips take {rtt} ms"
    );
    // Of this connection, and over in a moment: not how the link stands.
    state.push(Action::Note(Note {
        link: Some(link),
        conn: Some(conn),
        verb: Verb::Pace,
        why,
    }));
}

fn subflow_mut(state: &mut State, conn: ConnId, id: SubflowId) -> Option<&mut Subflow> {
    let subflows = &mut state.conns.get_mut(&conn)?.subflows;
    subflows.iter_mut().find(|subflow| subflow.id == id)
}

/// Whether its slow start begins to fill a queue before a cable for the first time.
fn is_starting(now: Instant, subflow: &Subflow, paths: &BTreeMap<LinkId, Path>) -> bool {
    let least = subflow.sample.min_rtt;
    let starts =
        !subflow.held_back && subflow.acked.seen_from_start() && is_young(now - subflow.since, least);
    let fills = sends_much(subflow) && least > Duration::ZERO && begins_to_fill(least, subflow.sample.srtt);
    let is_cable = |path: &Path| path.spec.kind == LinkKind::Cable;
    starts && fills && paths.get(&subflow.link).is_some_and(is_cable)
}

/// Whether another one is past its start and moves much over the same link.
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
