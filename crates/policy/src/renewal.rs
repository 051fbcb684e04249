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
/// After so many round trips in which nothing has come in order, what is missing is not on its way.
const BLOCKED_ROUNDS: u32 = 2;

/// What is replaced in one connection, and when the last time was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Renewals {
    going_on: Option<Renewal>,
    last: Option<Instant>,
}

/// A subflow that is about to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Renewal {
    old: SubflowId,
    link: LinkId,
    rtt: Duration,
}

/// The subflow over which what is missing would come first.
struct First {
    renewal: Renewal,
    /// How long what comes before it takes.
    queue: Duration,
    comes: Comes,
}

/// What comes over a subflow now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// What has come over others, which the peer has not heard.
    Unheard,
    Something,
    Nothing,
}

/// Begins where it is worth it, ends what has been replaced.
pub(crate) fn look(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    match conn.renewals.going_on {
        Some(renewal) => go_on(now, state, id, renewal),
        None => begin(now, state, id),
    }
}

fn go_on(now: Instant, state: &mut State, id: ConnId, renewal: Renewal) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let waits = conn.joining.iter().any(|join| join.link == renewal.link);
    let is_there = conn.find(renewal.old).is_some();
    if waits && is_there {
        return;
    }
    conn.renewals.going_on = None;
    let fresh = conn.over(renewal.link).find(|subflow| subflow.id != renewal.old);
    let Some(fresh) = fresh.filter(|_| is_there).map(|fresh| fresh.id) else {
        return;
    };
    // What was lost has come meanwhile: then the first one is the one to keep, whose sender knows the link.
    let needless = conn.sample.held == Bytes::ZERO && now - conn.advanced < renewal.rtt;
    state.replaced(now, id, if needless { fresh } else { renewal.old });
}

fn begin(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let has_place = conn.places_taken() < conn.peer_subflows;
    let Some((lost_at, unheard)) = conn.lost().filter(|_| has_place) else {
        return;
    };
    let Some(first) = first(now, state, conn, unheard) else {
        return;
    };
    let rtt = first.renewal.rtt;
    let missed = conn.sample.held > Bytes::ZERO;
    let stands = match first.comes {
        Comes::Unheard if now == lost_at => true,
        _ if now == lost_at => missed,
        comes => (missed || comes == Comes::Something) && now - conn.advanced >= rtt * BLOCKED_ROUNDS,
    };
    if stands && first.queue >= rtt * ROUNDS + WORTH {
        replace(now, state, id, first);
    }
}

fn replace(now: Instant, state: &mut State, id: ConnId, First { renewal, queue, .. }: First) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    conn.renewals = Renewals {
        going_on: Some(renewal),
        last: Some(now),
    };
    let why = format!(
        "what was lost would wait {} ms behind what the peer had given it: another subflow over it has no queue yet",
        queue.as_millis()
    );
    state.remark(renewal.link, Verb::Renew, why);
    state.join(now, id, renewal.link, false);
}

impl Conn {
    /// When the last subflow was given up with which something was lost, if that was a moment ago and nothing was replaced since; and what came over
    /// those, of which the peer may not have heard.
    fn lost(&self) -> Option<(Instant, Bytes)> {
        let last = self.renewals.last;
        let lost = || {
            let of_use = self.withdrawn.iter().filter(|gone| gone.unheard > Bytes::ZERO);
            of_use.filter(|gone| last.is_none_or(|last| gone.at > last))
        };
        let at = lost().map(|gone| gone.at).max()?;
        Some((at, lost().map(|gone| gone.unheard).sum()))
    }

    /// How long what the peer has sent ahead takes all links together; it is divided so that it takes each the same.
    fn ahead(&self) -> Duration {
        let window = self.window.bound().unwrap_or(Bytes::ZERO);
        let ahead = window.saturating_sub(self.sample.held);
        self.window.capacity().time_for(ahead).unwrap_or(Duration::ZERO)
    }
}

fn first(now: Instant, state: &State, conn: &Conn, unheard: Bytes) -> Option<First> {
    let used = |subflow: &&Subflow| !subflow.backup && membership::is_sound(state, subflow);
    let queued = conn.subflows.iter().filter(used);
    let (queue, subflow) = queued
        .map(|subflow| (queue(now, conn, subflow, unheard), subflow))
        .min_by_key(|(queue, subflow)| (*queue, subflow.id))?;
    let (old, link) = (subflow.id, subflow.link);
    let rtt = state.paths.get(&link)?.rtt().max(subflow.sample.data_rtt);
    let comes = match subflow.arrivals.silence(now) < rtt {
        _ if is_new_to_use(subflow) => Comes::Unheard,
        true => Comes::Something,
        false => Comes::Nothing,
    };
    Some(First {
        renewal: Renewal { old, link, rtt },
        queue,
        comes,
    })
}

/// A backup until a moment ago: the peer has not heard over it of what has come over others, and sends that again.
const fn is_new_to_use(subflow: &Subflow) -> bool {
    subflow.sample.backup && !subflow.backup
}

/// How long what comes before the missing takes this one; nothing where it is not known what it carries.
fn queue(now: Instant, conn: &Conn, subflow: &Subflow, unheard: Bytes) -> Duration {
    if is_new_to_use(subflow) {
        return subflow.carries.rate().time_for(unheard).unwrap_or_default();
    }
    let burst = subflow.arrivals.rate(now).time_for(BURST);
    burst.unwrap_or_default().max(conn.ahead())
}
