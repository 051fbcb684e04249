//! Which links are so slow that a connection is better off with them as backups.
//!
//! [`Slow`](crate::slow::Slow) decides. This module feeds it the connection, and requests what it decides.
//!
//! # Checked by
//! `tests::slow`, `tests::bounds`; `window-thin` and `window-mixes` in the benchmarks.

use super::rank::{Use, Want, shown};
use crate::io::reason::Choice;
use crate::io::{ConnId, LinkId, Verb};
use crate::known::conn::{Conn, Subflow, is_queued};
use crate::known::path::Path;
use crate::known::state::State;
use crate::slow::{Look, View};
use alloc::vec::Vec;
use units::Instant;

/// What this connection wants, if that differs from what all want: slow links become backups, as long as
/// another is in use.
pub(crate) fn without_slow(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) -> Option<Vec<Want>> {
    watch_slow(now, state, id, wants);
    let slow = &state.conns.get(&id)?.slow;
    let is_spared = |want: &Want| slow.spares(want.link);
    let stays = |want: &Want| want.purpose != Use::Warm && !is_spared(want);
    if !wants.iter().any(is_spared) || !wants.iter().any(stays) {
        return None;
    }
    let mut wants = wants.to_vec();
    for want in &mut wants {
        if let Some((Verb::Demote, because)) = slow.role(want.link) {
            *want = Want {
                purpose: Use::Warm,
                because,
                ..*want
            };
        }
    }
    Some(wants)
}

fn watch_slow(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) {
    let Some(conn) = state.conns.get(&id) else { return };
    let may_use = |link: LinkId| {
        wants
            .iter()
            .any(|want| want.link == link && want.purpose == Use::Active)
    };
    let sound = |subflow: &&Subflow| {
        subflow.draining.is_none()
            && may_use(subflow.link)
            && state.paths.get(&subflow.link).is_some_and(Path::is_candidate)
    };
    let mut views: Vec<View> = Vec::new();
    for subflow in conn.subflows.iter().filter(sound) {
        let path = &state.paths[&subflow.link];
        let view = View {
            link: subflow.link,
            best: shown(now, subflow, path),
            rate: subflow.arrivals.rate(now),
            queued: is_queued(subflow, path),
            loses: subflow.losses.are_frequent(now),
        };
        match views.iter_mut().find(|other| other.link == view.link) {
            // One of two is about to replace the other.
            Some(first) => first.add(view),
            None => views.push(view),
        }
    }
    let rtts = views.iter().map(|view| state.paths[&view.link].rtt());
    let look = Look {
        rtt: rtts.max().unwrap_or_default(),
        links: &views,
        held: conn.sample.held,
        window: conn.window.bound(),
        received: conn.sample.bytes_received,
    };
    let changed = state
        .conns
        .get_mut(&id)
        .and_then(|conn| conn.slow.look(now, &look));
    if let Some(changed) = changed {
        let verb = if changed.in_use { Verb::Use } else { Verb::Demote };
        // A note of this connection, not of the link: [`role`] gives the state of the link.
        let because = Choice::Slow(changed.because);
        state.remark(Some(id), Some(changed.link), verb, because);
    }
}

/// The state of a link that would otherwise be in use: each connection over it has demoted it as slow, or has
/// it on trial.
pub(crate) fn role(state: &State, link: LinkId) -> Option<(Verb, Choice)> {
    let mut over = state.conns.values().filter(|conn| conn.has(link));
    let (verb, because) = over.next()?.slow.role(link)?;
    let is_same = |conn: &Conn| conn.slow.role(link).is_some_and(|(other, _)| other == verb);
    over.all(is_same).then_some((verb, because))
}
