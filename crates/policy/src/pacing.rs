//! An upload's slow start that hears no mark: for a moment it is to send no faster than what it sends arrives.
//!
//! A controller that paces and looks for the rate itself (BBR) answers neither marks nor losses while it starts: it stops when three round trips have brought no
//! quarter more, and by then twice what fills the link is under way. What does not fit into the queue is sent again a round trip later, and all that came over other
//! links waits for it. Held to what arrives from the first sign of a queue on, it finds in the same three round trips that there is no more.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`: `bbr_check_full_bw_reached`, pacing and window gain of 2.89 until then; `net/core/sock.c`, `SO_MAX_PACING_RATE`.
//! - Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016: what startup overshoots.
//!
//! # Where we differ, and why
//! 1. Once for each subflow, over cables, at the sign that ends other slow starts by a mark ([`crate::aqm`]): what the round trip shows over radio comes from the air.
//! 2. Half of what is under way in a round trip is the least that is believed to arrive: one reading may have come before a burst of acknowledgements. Too low a rate for
//!    a moment costs little: the controller looks for more soon after.
//!
//! # Checked by
//! `tests::pacing`; `window-upload` in the benchmarks.

use crate::aqm::begins_to_fill;
use crate::conn::Subflow;
use crate::io::{Action, ConnId, LinkKind, Note, SubflowId, Verb};
use crate::queues::{is_young, sends_much};
use crate::state::State;
use alloc::format;
use units::{Bitrate, Duration, Instant};

/// What was sent until the sign came is more than fills the link, and has to drain: so much of what arrives.
const HELD_PERCENT: u64 = 70;
/// For so many round trips. The controller looks at three whole ones, and they become longer as the queue does.
const ROUNDS: u32 = 8;
/// No longer, whatever a round trip takes.
const LONGEST: Duration = Duration::from_secs(2);

/// A subflow's counters were read.
pub(crate) fn look(now: Instant, state: &mut State, conn: ConnId, id: SubflowId) {
    let Some(subflow) = starting(now, state, conn, id) else {
        return;
    };
    subflow.held_back = true;
    let (link, rtt) = (subflow.link, subflow.sample.srtt);
    let rate = arrives_with(subflow).percent(HELD_PERCENT);
    let lasts = (rtt * ROUNDS).min(LONGEST);
    state.push(Action::CapPacing {
        subflow: id,
        rate,
        lasts,
    });
    let [rtt, time] = [rtt, lasts].map(|time| time.as_millis());
    let why = format!(
        "{rate} for {time} ms, if its controller paces: its slow start has begun to fill a queue, round trips take {rtt} ms"
    );
    // Of this connection, and over in a moment: not how the link stands.
    state.push(Action::Note(Note {
        link: Some(link),
        conn: Some(conn),
        verb: Verb::Pace,
        why,
    }));
}

/// The subflow, if its slow start begins to fill a queue before a cable for the first time.
fn starting(now: Instant, state: &mut State, conn: ConnId, id: SubflowId) -> Option<&mut Subflow> {
    let conn = state.conns.get_mut(&conn)?;
    let subflow = conn.subflows.iter_mut().find(|subflow| subflow.id == id)?;
    let path = state.paths.get(&subflow.link)?;
    let base = path.base_rtt.filter(|_| path.spec.kind == LinkKind::Cable)?;
    let starts = !subflow.held_back && is_young(now - subflow.since, base);
    let fills = sends_much(subflow) && begins_to_fill(base, subflow.sample.srtt);
    (starts && fills).then_some(subflow)
}

fn arrives_with(subflow: &Subflow) -> Bitrate {
    let least = subflow.sends().percent(50);
    subflow.acked.rate().max(least)
}
