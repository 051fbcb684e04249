//! Which subflows a connection has. It joins missing ones, closes lost ones, and never closes the last path
//! because it is dead.
//!
//! # Sources
//! - RFC 8684 §3.2 (joining), §3.3.8 (MP_PRIO), §3.4.2 (REMOVE_ADDR).
//! - A stock Linux peer accepts two added subflows beside the first. A place is freed when it receives
//!   REMOVE_ADDR.
//!
//! # Where we differ, and why
//! 1. From Linux, whose path manager never repeats a refused join: a peer's limit may change, so a join is
//!    retried every two minutes. It is retried sooner only while a place may be free:
//! - at once when one was freed, then after 0.5 s, 1 s and 2 s, since REMOVE_ADDR may be slower than the join
//! - when the link has another address
//! - ever more rarely, while the connection has nothing else left, since the peer removes dead subflows by
//!   itself eventually
//! 2. From RFC 8684 §3.4.2, which sends it once: REMOVE_ADDR is repeated after 150 ms, since nothing
//!    acknowledges it, and a lost one keeps a place taken. If another join over its link is pending, it is
//!    repeated when that has failed.
//! 3. From Linux, which closes a subflow after its own retransmission timeouts: it is closed as soon as its
//!    link is proven dead. That happens before REMOVE_ADDR is sent, so that it cannot leave on the dead path.
//!    Empty subflows are closed later, when that costs no burst ([`farewell`]).
//! 4. From RFC 8684 §3.3.8, which leaves roles to both ends: MP_PRIO is sent only over a path without a
//!    doubt, since it travels on the subflow that it is about. REMOVE_ADDR is sent first.
//! 5. From RFC 8684 §3.4.1, in which any announced address is joined: a subflow is closed to make room for a
//!    join, but not for one to an announced address that has failed ([`crate::known::remotes`]).
//! 6. The last path is never closed, however dead: a connection without a subflow ends after a minute
//!    (`net.mptcp.close_timeout`). Only a forbidden link is left at once ([`crate::choose::cost`]).
//!
//! # Checked by
//! `tests`.

use super::tuning::{DRAIN_LIMIT, EMPTY_AFTER, JOIN_TIMEOUT, REPEAT_AFTER};
use crate::choose::rank::{Use, Want, is_faded};
use crate::io::reason::Replaced;
use crate::io::{ConnEvent, ConnId, Input, JoinFailure, LinkId, SubflowId, Verb};
use crate::known::conn::{Conn, Subflow};
use crate::known::path::{Health, Path};
use crate::known::state::State;
use crate::subflow::farewell;
use alloc::vec::Vec;
use units::Instant;

/// Whether this subflow can no longer carry anything: its link is gone, dead, or has another address since.
pub(crate) fn is_lost(path: Option<&Path>, subflow: &Subflow) -> bool {
    let Some(path) = path else { return true };
    let readdressed = path.usable_since.is_some_and(|since| subflow.since < since);
    !path.is_usable() || readdressed || matches!(path.health, Health::Dead { .. })
}

pub(crate) fn is_sound(state: &State, subflow: &Subflow) -> bool {
    subflow.draining.is_none() && delivers(state, subflow)
}

/// Whether a signal to the peer may be sent on it: no doubt about its link is open.
fn delivers(state: &State, subflow: &Subflow) -> bool {
    state
        .paths
        .get(&subflow.link)
        .is_some_and(|path| path.is_alive() && !is_lost(Some(path), subflow))
}

/// Closes the lost subflows of a connection that has a sound one. Without one, waits.
pub(crate) fn drop_lost(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let lost: Vec<SubflowId> = conn
        .subflows
        .iter()
        .filter(|subflow| is_lost(state.paths.get(&subflow.link), subflow))
        .filter(|subflow| !farewell::is_empty(now, subflow))
        .map(|subflow| subflow.id)
        .collect();
    let sound = conn.subflows.iter().any(|subflow| is_sound(state, subflow));
    if sound {
        state.give_up(now, id, &lost);
    }
    state.withdraw_again(now, id, REPEAT_AFTER);
}

/// Fails joins without a result.
pub(crate) fn expire_joins(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let late: Vec<LinkId> = conn
        .joining
        .iter()
        .filter(|join| now - join.since >= JOIN_TIMEOUT)
        .map(|join| join.link)
        .collect();
    for link in late {
        state.learn(
            now,
            Input::Conn(
                id,
                ConnEvent::JoinFailed {
                    link,
                    reason: JoinFailure::Timeout,
                },
            ),
        );
    }
}

/// Moves a connection's subflows towards those wanted, best first, within the peer's places.
pub(crate) fn fit(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) {
    expire_joins(now, state, id);
    drop_lost(now, state, id);
    set_purposes(state, id, wants);
    drain(now, state, id);
    let Some(conn) = state.conns.get(&id).filter(|conn| conn.begun) else {
        return;
    };
    let is_missing = |want: &&Want| is_missing(now, state, conn, want);
    let kept = within_places(state, conn, wants);
    let missing: Vec<Want> = kept.iter().filter(is_missing).copied().collect();
    let doubtful = wants.iter().filter(|want| is_doubtful(state, conn, want));
    let tried: Vec<Want> = doubtful.filter(is_missing).copied().collect();
    if missing.is_empty() && tried.is_empty() {
        return;
    }
    make_room(now, state, id, &kept, missing.len());
    for want in missing.into_iter().chain(tried) {
        let free = state
            .conns
            .get(&id)
            .is_some_and(|conn| conn.places_taken() < conn.peer_subflows);
        if free {
            state.join(now, id, want.link, want.purpose == Use::Warm);
        }
    }
}

/// Whether a join over this link gets only a place that nobody else wants.
fn is_doubtful(state: &State, conn: &Conn, want: &Want) -> bool {
    let path = state.paths.get(&want.link).filter(|_| !conn.has(want.link));
    path.is_some_and(|path| conn.is_doubtful(want.link, conn.target(want.link, path)))
}

fn is_missing(now: Instant, state: &State, conn: &Conn, want: &Want) -> bool {
    let Some(path) = state.paths.get(&want.link) else {
        return false;
    };
    let joinable = path.is_alive() && !is_faded(path);
    // A lost subflow that cannot be closed yet, because it is the last, does not prevent its replacement.
    let has = conn.joining.iter().any(|join| join.link == want.link)
        || conn
            .over(want.link)
            .any(|subflow| !is_lost(state.paths.get(&want.link), subflow));
    let remote = conn.target(want.link, path).remote;
    joinable && !has && conn.may_join(now, want.link, remote, is_stranded(state, conn))
}

/// Whether no subflow is left that could carry anything. A doubt alone does not count.
fn is_stranded(state: &State, conn: &Conn) -> bool {
    let mut subflows = conn.subflows.iter();
    subflows.all(|subflow| is_lost(state.paths.get(&subflow.link), subflow))
}

/// The best wants that fit: the first subflow has a place of its own, and the peer gives the others. Doubtful
/// joins have none.
fn within_places(state: &State, conn: &Conn, wants: &[Want]) -> Vec<Want> {
    let initial = conn
        .subflows
        .iter()
        .find(|subflow| subflow.initial)
        .map(|subflow| subflow.link);
    let mut left = conn.peer_subflows;
    let mut fits = |want: &Want| {
        let free = Some(want.link) == initial;
        let fits = free || left > 0;
        left -= usize::from(fits && !free);
        fits
    };
    let sure = wants.iter().filter(|want| !is_doubtful(state, conn, want));
    sure.copied().filter(|want| fits(want)).collect()
}

/// Promotes wanted subflows first, and then demotes the others: one is in use at all times.
fn set_purposes(state: &mut State, id: ConnId, wants: &[Want]) {
    for purpose in [Use::Active, Use::Warm] {
        for want in wants.iter().filter(|want| want.purpose == purpose) {
            let Some(conn) = state.conns.get(&id) else { return };
            let heard: Vec<SubflowId> = conn
                .over(want.link)
                .filter(|subflow| is_sound(state, subflow))
                .map(|s| s.id)
                .collect();
            for subflow in heard {
                state.set_backup(id, subflow, purpose == Use::Warm);
            }
        }
    }
}

fn make_room(now: Instant, state: &mut State, id: ConnId, kept: &[Want], needed: usize) {
    let Some(conn) = state.conns.get_mut(&id) else {
        return;
    };
    let free = conn.peer_subflows.saturating_sub(conn.places_taken());
    let unwanted =
        |subflow: &&mut Subflow| !subflow.initial && !kept.iter().any(|want| want.link == subflow.link);
    let victims = conn.subflows.iter_mut().filter(unwanted);
    for victim in victims.take(needed.saturating_sub(free)) {
        victim.draining.get_or_insert(now);
    }
    drain(now, state, id);
}

/// Demotes subflows that drain, as soon as no doubt is open about the path of MP_PRIO.
fn demote_draining(state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let draining = conn.subflows.iter().filter(|subflow| subflow.draining.is_some());
    let demoted: Vec<SubflowId> = draining
        .filter(|subflow| delivers(state, subflow))
        .map(|subflow| subflow.id)
        .collect();
    for subflow in demoted {
        state.set_backup(id, subflow, true);
    }
}

/// Closes subflows with nothing left in flight. Starts to drain those whose link can hardly carry anything.
fn drain(now: Instant, state: &mut State, id: ConnId) {
    retire_faded(now, state, id);
    demote_draining(state, id);
    let Some(conn) = state.conns.get(&id) else { return };
    let empty: Vec<SubflowId> = conn
        .subflows
        .iter()
        .filter(|subflow| is_drained(now, subflow) || is_lost_empty(now, state, subflow))
        .map(|subflow| subflow.id)
        .collect();
    if conn.subflows.iter().any(|subflow| is_sound(state, subflow)) {
        farewell::part(now, state, id, &empty);
    }
}

fn is_lost_empty(now: Instant, state: &State, subflow: &Subflow) -> bool {
    is_lost(state.paths.get(&subflow.link), subflow) && farewell::is_empty(now, subflow)
}

fn is_drained(now: Instant, subflow: &Subflow) -> bool {
    let Some(since) = subflow.draining else {
        return false;
    };
    let quiet = farewell::is_quiet(now, subflow);
    (quiet && (now - since >= EMPTY_AFTER || subflow.sample.backup)) || now - since >= DRAIN_LIMIT
}

fn retire_faded(now: Instant, state: &mut State, id: ConnId) {
    let Some(conn) = state.conns.get(&id) else { return };
    let faded = |subflow: &&Subflow| {
        subflow.draining.is_none() && state.paths.get(&subflow.link).is_some_and(is_faded)
    };
    let retiring: Vec<SubflowId> = conn
        .subflows
        .iter()
        .filter(faded)
        .map(|subflow| subflow.id)
        .collect();
    let remain = conn
        .subflows
        .iter()
        .any(|subflow| is_sound(state, subflow) && !retiring.contains(&subflow.id));
    if !remain {
        return;
    }
    for subflow in retiring {
        report_retired(state, id, subflow);
        let conn = state
            .conns
            .get_mut(&id)
            .into_iter()
            .flat_map(|conn| conn.subflows.iter_mut());
        conn.filter(|other| other.id == subflow)
            .for_each(|subflow| subflow.draining = Some(now));
    }
}

fn report_retired(state: &mut State, id: ConnId, subflow: SubflowId) {
    let conn = state.conns.get(&id);
    let link = conn.and_then(|conn| conn.subflows.iter().find(|other| other.id == subflow));
    let Some(link) = link.map(|subflow| subflow.link) else {
        return;
    };
    let signal = state.paths.get(&link).and_then(|path| path.signal.mean());
    if let Some(signal) = signal {
        state.note(Some(link), Some(id), Verb::Retire, Replaced::TooWeak { signal });
    }
}
