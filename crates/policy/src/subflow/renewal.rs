//! A fresh subflow over a slow link that is left, where what the peer had given that link would hold up what
//! another one took with it.
//!
//! When a link dies, a stock peer sends again what was lost at the end of the queues of the subflows that are
//! left, and all of it that it does not know has come. Before a slow link both are of seconds: the peer
//! assigns 64 KiB at a time, and has not heard what the dead link brought in its last round trip. A second
//! subflow over the same link begins with an empty queue, and its first segments say how far everything has
//! come; as soon as the peer has taken it, the first is ended, and what that still had is assigned anew, from
//! the first byte that is missing on.
//!
//! | what is left | then it is replaced |
//! |---|---|
//! | a link in use, before which what the peer has given it takes longer than three round trips and 100 ms, and something is missing | at once |
//! | a backup, which what the peer has not heard will take so long | at once |
//! | a link in use like the first, while for two round trips nothing comes in order, though something does or is missing | within a second of the loss |
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`: `mptcp_subflow_get_send` (up to 64 KiB at a time),
//!   `__mptcp_retransmit_pending_data` (a subflow that ends makes all that is not acknowledged be sent again,
//!   in order).
//! - `bpf/window.bpf.c`: why a backup does not say how far everything has come.
//! - RFC 8684 §3.2: a join names an address; nothing keeps two subflows from having the same ones.
//!
//! # Where we differ, and why
//! 1. From RFC 8684, in which a second subflow is another path: here it is another queue.
//! 2. Made before the first one is broken, and only where the peer is thought to have a place: a join that is
//!    refused or lost costs no more than that it takes the place while it is waited for.
//! 3. Only over the link that would bring what is missing first: of several that are left one with a short
//!    queue is enough.
//! 4. Not sooner, while the link that dies is only in doubt: nearly all doubts are answered, and each would
//!    cost a join.
//!
//! # Checked by
//! `tests::renewal`; `window-mixes` in the benchmarks.

use crate::io::{ConnId, LinkId, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::renewals::{Renewal, Renewals};
use crate::known::state::State;
use crate::sched::BURST;
use crate::subflow::membership;
use alloc::format;
use units::{Bitrate, Bytes, Duration, Instant};

/// Round trips until what is missing comes over a fresh subflow: the join, its proof, the end of the first
/// one.
const ROUNDS: u32 = 3;
/// What is gained must be worth a join.
const WORTH: Duration = Duration::from_millis(100);
/// After so many round trips in which nothing has come in order, what is missing is not on its way.
const BLOCKED_ROUNDS: u32 = 2;
/// For so long after a loss nothing comes in order because of it.
const FRESH: Duration = Duration::from_secs(1);
/// A join that was given up may still be made within that time.
const LATE: Duration = Duration::from_secs(10);
/// More segments of ours under way are an upload, whose peer's queue is not what is waited for.
const FEW_SEGMENTS: u32 = 8;

/// Subflows that were given up, and something was lost with them.
#[derive(Debug, Clone, Copy)]
struct Loss {
    /// When the last one was.
    at: Instant,
    /// What came over them, of which the peer may not have heard.
    unheard: Bytes,
}

/// The subflow over which what is missing would come first.
struct First {
    id: SubflowId,
    link: LinkId,
    rtt: Duration,
    /// How long what comes before it takes.
    queue: Duration,
    /// It was a backup until a moment ago.
    takes_over: bool,
    /// Whether data come over it now.
    comes: bool,
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
    let is_fresh = |subflow: &Subflow| subflow.id != renewal.old && subflow.since >= renewal.since;
    let fresh = conn.over(renewal.link).any(is_fresh);
    let is_there = conn.find(renewal.old).is_some();
    if is_there && !fresh && now - renewal.since < LATE {
        return;
    }
    conn.renewals.going_on = None;
    // Also where what was lost has come meanwhile: the end of either makes the peer send all again that it
    // has not heard of, and only behind the fresh one's empty queue that is in order at once.
    if is_there && fresh {
        state.replaced(now, id, renewal.link, renewal.old);
    }
}

fn begin(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let Some(loss) = conn.lost(now) else { return };
    let has_place = conn.places_taken() < conn.peer_subflows;
    let Some(first) = first(now, state, conn, loss).filter(|_| has_place && !conn.uploads()) else {
        return;
    };
    let missed = conn.sample.held > Bytes::ZERO;
    let stands = match now == loss.at {
        true => missed || first.takes_over,
        false => (missed || first.comes) && now - conn.advanced >= first.rtt * BLOCKED_ROUNDS,
    };
    if stands && first.queue >= first.rtt * ROUNDS + WORTH {
        replace(now, state, id, &first);
    }
}

fn replace(now: Instant, state: &mut State, id: ConnId, first: &First) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let renewal = Renewal {
        old: first.id,
        link: first.link,
        since: now,
    };
    conn.renewals = Renewals {
        going_on: Some(renewal),
        last: Some(now),
    };
    let ms = first.queue.as_millis();
    let why = match first.takes_over {
        true => format!(
            "the peer would first send again what it has not heard of, {ms} ms of it: another subflow over it tells"
        ),
        false => format!(
            "what was lost would wait {ms} ms behind what the peer had given it: another subflow over it has no queue yet"
        ),
    };
    state.remark(Some(id), first.link, Verb::Renew, why);
    state.join(now, id, first.link, false);
}

impl Conn {
    /// What was lost in the last second, if nothing was replaced since.
    fn lost(&self, now: Instant) -> Option<Loss> {
        let last = self.renewals.last;
        let lost = || {
            let of_use = self.withdrawn.iter().filter(|gone| gone.unheard > Bytes::ZERO);
            of_use.filter(|gone| now - gone.at < FRESH && last.is_none_or(|last| gone.at > last))
        };
        let at = lost().map(|gone| gone.at).max()?;
        let unheard = lost().map(|gone| gone.unheard).sum();
        Some(Loss { at, unheard })
    }

    fn uploads(&self) -> bool {
        let much =
            |subflow: &Subflow| subflow.sample.unacked >= FEW_SEGMENTS || subflow.sample.unsent > Bytes::ZERO;
        self.subflows.iter().any(much)
    }

    /// How long what the peer has sent ahead takes all links together; it is divided so that it takes each
    /// the same.
    fn ahead(&self) -> Duration {
        let window = self.window.bound().unwrap_or(Bytes::ZERO);
        let ahead = window.saturating_sub(self.sample.held);
        self.window.capacity().time_for(ahead).unwrap_or(Duration::ZERO)
    }
}

fn first(now: Instant, state: &State, conn: &Conn, loss: Loss) -> Option<First> {
    let used = |subflow: &&Subflow| !subflow.backup && membership::is_sound(state, subflow);
    let queued = conn.subflows.iter().filter(used);
    let (queue, subflow) = queued
        .map(|subflow| (queue(now, conn, subflow, loss.unheard), subflow))
        .min_by_key(|(queue, subflow)| (*queue, subflow.id))?;
    let is_scarce = subflow.initial && wanted_places(state) > conn.peer_subflows;
    // One that was joined after the loss has no queue of before it.
    if is_scarce || subflow.since >= loss.at {
        return None;
    }
    let least = state.paths.get(&subflow.link)?.rtt();
    let takes_over = is_new_to_use(subflow);
    Some(First {
        id: subflow.id,
        link: subflow.link,
        // What data met before it became a backup is of long ago.
        rtt: if takes_over {
            least
        } else {
            least.max(subflow.sample.data_rtt)
        },
        queue,
        takes_over,
        comes: subflow.arrivals.rate(now) > Bitrate::ZERO,
    })
}

/// The place of a connection's first subflow is nobody else's once that has ended: with more links than the
/// peer has places it is worth more.
fn wanted_places(state: &State) -> usize {
    let paths = state.paths.values();
    paths.filter(|path| path.is_usable() && path.is_allowed()).count()
}

/// A backup until a moment ago: the peer has not heard over it of what has come over others, and sends that
/// again.
const fn is_new_to_use(subflow: &Subflow) -> bool {
    subflow.sample.backup && !subflow.backup
}

/// How long what comes before the missing takes this one, as far as it is known what it carries.
fn queue(now: Instant, conn: &Conn, subflow: &Subflow, unheard: Bytes) -> Duration {
    if is_new_to_use(subflow) {
        return subflow.carries.rate().time_for(unheard).unwrap_or_default();
    }
    let burst = subflow.arrivals.rate(now).time_for(BURST);
    burst.unwrap_or_default().max(conn.ahead())
}
