//! After a link dies: replaces the surviving slow subflow if its backlog would delay the retransmissions.
//!
//! When a link dies, a stock peer reinjects the lost bytes behind the backlog of the remaining subflows. It
//! also resends everything that it does not know has arrived. On a slow link, both take seconds: the peer
//! assigns 64 KiB at a time, and its ACKs for the dead link's last round trip are missing.
//!
//! A second subflow over the same link starts with an empty queue, and its first segments acknowledge at the
//! data level everything received. Once the peer has accepted it, the first is closed. The peer then assigns
//! that one's remaining bytes again, starting at the first missing byte.
//!
//! | the surviving link | is replaced |
//! |---|---|
//! | in use; its backlog takes over three round trips and 100 ms; bytes are missing | at once |
//! | a backup; resending what the peer has no ACK for takes as long | at once |
//! | in use as above; two round trips without in-order data, though data arrives or is missing | within 1 s |
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`: `mptcp_subflow_get_send` (up to 64 KiB at a time),
//!   `__mptcp_retransmit_pending_data` (when a subflow closes, everything unacknowledged is resent in order).
//! - `bpf/window.bpf.c`: why a backup does not acknowledge at the data level.
//! - RFC 8684 §3.2: a join names an address. Two subflows may have the same addresses.
//!
//! # Where we differ, and why
//! 1. From RFC 8684, in which a second subflow is another path: here it is another queue.
//! 2. The new subflow is joined before the old one is closed, and only if the peer is thought to have a free
//!    place. A join that is refused or lost costs only the place, for as long as it is pending.
//! 3. Only over the link that would deliver the missing bytes first: one remaining link with a short queue is
//!    enough.
//! 4. Not while the dying link is only suspect: nearly all doubts end with a reply, and each would cost a
//!    join.
//!
//! # Checked by
//! `tests::renewal`; `window-mixes` in the benchmarks.

use super::tuning::{BLOCKED_ROUNDS, FEW_SEGMENTS, FRESH, LATE, ROUNDS, WORTH};
use crate::io::reason::Replaced;
use crate::io::{ConnId, LinkId, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::renewals::{Renewal, Renewals};
use crate::known::state::State;
use crate::sched::BURST;
use crate::subflow::membership;
use units::{Bitrate, Bytes, Duration, Instant};

/// Subflows that were closed while data was lost with them.
#[derive(Debug, Clone, Copy)]
struct Loss {
    /// When the last of them was.
    at: Instant,
    /// Bytes that arrived over them and that the peer may have no ACK for.
    unheard: Bytes,
}

/// The subflow over which the missing bytes would arrive first.
struct First {
    id: SubflowId,
    link: LinkId,
    rtt: Duration,
    /// Time to transmit the bytes ahead of them.
    queue: Duration,
    /// Whether it was a backup until a moment ago.
    takes_over: bool,
    /// Whether data arrives over it now.
    comes: bool,
}

/// Starts a replacement if it is worth it, and closes what has been replaced.
pub(crate) fn look(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    match conn.renewals.open {
        Some(renewal) => finish(now, state, id, renewal),
        None => begin(now, state, id),
    }
}

fn finish(now: Instant, state: &mut State, id: ConnId, renewal: Renewal) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let is_fresh = |subflow: &Subflow| subflow.id != renewal.old && subflow.since >= renewal.since;
    let fresh = conn.over(renewal.link).any(is_fresh);
    let is_there = conn.find(renewal.old).is_some();
    if is_there && !fresh && now - renewal.since < LATE {
        return;
    }
    conn.renewals.open = None;
    // This holds even if the lost bytes have arrived meanwhile. The end of either subflow makes the peer
    // resend everything without an ACK. Only behind the new one's empty queue is that in order at once.
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
    let is_blocked = match now == loss.at {
        true => missed || first.takes_over,
        false => (missed || first.comes) && now - conn.advanced >= first.rtt * BLOCKED_ROUNDS,
    };
    if is_blocked && first.queue >= first.rtt * ROUNDS + WORTH {
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
        open: Some(renewal),
        last: Some(now),
    };
    let lasts = first.queue;
    let why = match first.takes_over {
        true => Replaced::Reinjection { lasts },
        false => Replaced::Backlog { lasts },
    };
    state.remark(Some(id), Some(first.link), Verb::Renew, why);
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

    /// Time that all links together take for what the peer has sent ahead. The scheduler divides it so that
    /// it takes each link the same time.
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
    // A subflow joined after the loss has no queue from before it.
    if is_scarce || subflow.since >= loss.at {
        return None;
    }
    let least = state.paths.get(&subflow.link)?.rtt();
    let takes_over = is_new_to_use(subflow);
    Some(First {
        id: subflow.id,
        link: subflow.link,
        // The delay of data from before it became a backup is out of date.
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

/// The number of links that want a place. A first subflow's place is lost once it closes, so it is kept if
/// there are more such links than places.
fn wanted_places(state: &State) -> usize {
    let paths = state.paths.values();
    paths.filter(|path| path.is_usable() && path.is_allowed()).count()
}

/// Whether it was a backup until a moment ago. Over such a subflow the peer has no ACKs for what arrived over
/// others, and resends that.
const fn is_new_to_use(subflow: &Subflow) -> bool {
    subflow.sample.backup && !subflow.backup
}

/// Time to transmit the bytes ahead of the missing ones over this subflow, as far as its rate is known.
fn queue(now: Instant, conn: &Conn, subflow: &Subflow, unheard: Bytes) -> Duration {
    if is_new_to_use(subflow) {
        return subflow.carries.rate().time_for(unheard).unwrap_or_default();
    }
    let burst = subflow.arrivals.rate(now).time_for(BURST);
    burst.unwrap_or_default().max(conn.ahead())
}
