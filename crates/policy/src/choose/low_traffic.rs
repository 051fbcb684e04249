//! Low-traffic connections use the lowest-latency link. The others are their backups.
//!
//! A connection that requests a few kilobytes now and then gains nothing from a second link. It would wait
//! for the slowest link that its sender happens to choose. Once it moves more than 96 KiB in a second, it
//! uses all links.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the subflow with the shortest queue is
//!   chosen. If nothing is queued, any of them may be chosen, whatever its round-trip time.
//! - RFC 8684 §3.3.8: MP_PRIO changes roles on a live connection.
//!
//! # Where we differ, and why
//! 1. The criterion is the round-trip time including the present queue, smoothed: a link that is quick only
//!    while idle does not count as quick.
//! 2. Out-of-order bytes count as moved, and while there are many of them traffic is not low: a download
//!    whose sender waits for a timeout receives nothing in order for a second.
//!
//! 3. Limit: a download over links that each carry less than 0.8 Mb/s moves as little as a low-traffic
//!    connection. It keeps to the quickest link, including its present queue. A client has no reliable sign
//!    of the difference: either the link or the application may pace so slow a subflow.
//!
//! # Checked by
//! `known::traffic::tests`; `window-request` in the benchmarks.

use crate::choose::rank::{Use, Want};
use crate::io::reason::Choice;
use crate::io::{ConnId, LinkId, Verb};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// What this connection wants while its traffic is low: one link in use, the others as backups.
pub(crate) fn on_quickest(now: Instant, state: &mut State, id: ConnId, wants: &[Want]) -> Option<Vec<Want>> {
    let conn = state.conns.get(&id)?;
    let mut traffic = conn.traffic;
    let held = conn.sample.held;
    let moved = conn.sample.bytes_received + conn.sample.bytes_acked + held;
    let chosen = traffic.look(now, moved, held).then(|| {
        let delays: Vec<(LinkId, Duration)> = conn
            .subflows
            .iter()
            .filter(|subflow| subflow.draining.is_none() && is_active(wants, subflow.link))
            .filter_map(|subflow| Some((subflow.link, state.paths.get(&subflow.link)?.delay())))
            .collect();
        traffic.choose(&delays)
    });
    let before = conn.traffic.over;
    state.conns.get_mut(&id)?.traffic = traffic;
    let over = chosen.flatten()?;
    let latency = state.paths.get(&over).map(Path::delay);
    if let Some(latency) = latency.filter(|_| before != Some(over)) {
        report(state, id, (over, latency), wants);
    }
    let latency = latency.unwrap_or_default();
    let mut wants = wants.to_vec();
    for want in wants.iter_mut().filter(|want| want.purpose == Use::Active) {
        want.because = reason(want.link, (over, latency));
        if want.link != over {
            want.purpose = Use::Warm;
        }
    }
    Some(wants)
}

/// Reports each change once for each link concerned. [`role`] says which of them still hold.
fn report(state: &mut State, id: ConnId, chosen: (LinkId, Duration), wants: &[Want]) {
    for want in wants.iter().filter(|want| want.purpose == Use::Active) {
        let because = reason(want.link, chosen);
        state.remark(Some(id), Some(want.link), verb(want.link, chosen.0), because);
    }
}

/// Why a low-traffic connection uses a link, or has it as a backup.
fn reason(link: LinkId, (over, latency): (LinkId, Duration)) -> Choice {
    let quickest = (link != over).then_some(over);
    Choice::LowTraffic { quickest, latency }
}

fn verb(link: LinkId, over: LinkId) -> Verb {
    if link == over { Verb::Use } else { Verb::Demote }
}

/// The state of a link that would otherwise be in use, if all connections over it have low traffic.
pub(crate) fn role(state: &State, link: LinkId) -> Option<(Verb, Choice)> {
    let mut over = None;
    for conn in state.conns.values().filter(|conn| conn.has(link)) {
        let chosen = conn.traffic.over?;
        if over != Some(link) {
            over = Some(chosen);
        }
    }
    let over = over?;
    let latency = state.paths.get(&over)?.delay();
    Some((verb(link, over), reason(link, (over, latency))))
}

fn is_active(wants: &[Want], link: LinkId) -> bool {
    wants
        .iter()
        .any(|want| want.link == link && want.purpose == Use::Active)
}
