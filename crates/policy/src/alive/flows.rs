//! When a flow leaves its link although that is not proven dead.
//!
//! A flow without MPTCP stalls until its link is condemned, which takes seconds of proof
//! ([`crate::alive::idle`]). Moving one flow needs less, since it costs one deleted entry of connection
//! tracking and can be undone. The flow must have had replies at short intervals, and be silent for longer
//! than usual. Then its server is probed over its own link and up to two others.
//!
//! | the server replied to a probe | the flow |
//! |---|---|
//! | over its link | stays: the link works, and the server's program is silent |
//! | over another link, and over its own it did earlier, and is overdue | moves there |
//! | nowhere, and never over its own | moves after a longer silence, if nothing was heard over the link |
//! | otherwise | stays until the link is proven dead |
//!
//! # Sources
//! - RFC 4787 §4.1: to the server, the move looks like a NAT whose mapping has changed. RFC 9000 §9 and
//!   WireGuard (§2.1 of its paper) carry on.
//!
//! # Where we differ, and why
//! 1. A flow that never had a reply does not move by itself: its silence shows nothing, and it would move
//!    again and again. So a move after which there is no reply is the last one.
//! 2. Each move without a reply to a probe doubles the silence that the flow's next such move needs.
//! 3. A host counts as overdue only where it has replied before. So it is probed once, gently, as soon as a
//!    flow has replies from it.
//! 4. Probes of a doubt are repeated every [`FLOW_ROUND`]: on a link that loses a fifth of its packets, one
//!    lost probe proves nothing.
//!
//! # Checked by
//! `tests::flows`; `networks-silent` in the benchmarks.

use super::idle;
use super::tuning::{
    ALONE, FLOW_LASTS, FLOW_LONGEST, FLOW_MOST_OTHERS, FLOW_MOST_ROUNDS, FLOW_ROUND, FLOW_STEP,
    MOST_DOUBLINGS, USUALLY,
};
use crate::io::{FlowId, HostId, LinkId};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A flow that has become silent.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    link: LinkId,
    host: HostId,
    /// When the first probes were sent.
    since: Instant,
    /// How long the flow was silent by then.
    silence: Duration,
    /// The silence that is needed without any reply.
    needed: Duration,
    rounds: u32,
    /// When to look again.
    next: Instant,
}

/// A flow that is to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaves {
    pub(crate) flow: FlowId,
    pub(crate) from: LinkId,
    pub(crate) to: LinkId,
    pub(crate) host: HostId,
    pub(crate) silence: Duration,
    /// Whether its server has replied over the other link.
    pub(crate) proven: bool,
}

/// Flows that have become silent.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    open: BTreeMap<FlowId, Doubt>,
    /// Moves of each flow without a reply to a probe.
    unproven: BTreeMap<FlowId, u32>,
}

impl Doubts {
    /// The flow has replies. If its server never replied to a probe over this link, that is tried once.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        state: &mut State,
        flow: FlowId,
        (link, host): (LinkId, HostId),
    ) {
        if let Some(doubt) = self.open.remove(&flow).filter(|doubt| doubt.link == link) {
            survived(now, state, doubt);
        }
        if state.liveness.hosts.is_untried(link, host) && !idle::others(state, link).is_empty() {
            state.liveness.hosts.missed(link, host);
            idle::ask(state, link, host);
        }
    }

    /// The flow has had no reply for `silence`, and usually none for at most `usual`.
    pub(crate) fn silent(
        &mut self,
        now: Instant,
        flow: FlowId,
        (link, host): (LinkId, HostId),
        (silence, usual): (Duration, Duration),
    ) {
        let (silence, usual) = (silence.min(FLOW_LONGEST), usual.min(FLOW_LONGEST));
        let doublings = self.unproven.get(&flow).copied().unwrap_or_default();
        let doubt = Doubt {
            link,
            host,
            since: now,
            silence,
            needed: (usual * USUALLY).max(ALONE * (1 << doublings.min(MOST_DOUBLINGS))),
            rounds: 0,
            next: now,
        };
        self.open.entry(flow).or_insert(doubt);
    }

    /// The flow has left its link.
    pub(crate) fn left(&mut self, flow: FlowId) {
        self.open.remove(&flow);
    }

    /// The flow is over.
    pub(crate) fn ended(&mut self, flow: FlowId) {
        self.open.remove(&flow);
        self.unproven.remove(&flow);
    }

    /// This host did not run: nothing that was silent meanwhile proves anything.
    pub(crate) fn begin_anew(&mut self) {
        self.open.clear();
    }

    /// Sends the probes that are due. Returns the flows that are to move.
    pub(crate) fn look(&mut self, now: Instant, state: &mut State) -> Vec<Leaves> {
        let due = self.open.iter().filter(|(_, doubt)| doubt.next <= now);
        let due = Vec::from_iter(due.map(|(&flow, &doubt)| (flow, doubt)));
        let mut leaves = Vec::new();
        for (flow, doubt) in due {
            match verdict(now, state, doubt) {
                Verdict::Stays => {
                    self.open.remove(&flow);
                }
                Verdict::Open(next) => {
                    let doubt = asked(now, state, doubt);
                    let next = next.min(doubt.next);
                    self.open.insert(flow, Doubt { next, ..doubt });
                }
                Verdict::Moves { to, proven } => {
                    self.open.remove(&flow);
                    if !proven {
                        *self.unproven.entry(flow).or_default() += 1;
                    }
                    let Doubt { link: from, host, .. } = doubt;
                    let silence = doubt.silence + (now - doubt.since);
                    leaves.push(Leaves {
                        flow,
                        from,
                        to,
                        host,
                        silence,
                        proven,
                    });
                }
            }
        }
        leaves
    }

    /// When [`Doubts::look`] next has work.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.open.values().map(|doubt| doubt.next).min()
    }
}

enum Verdict {
    Stays,
    /// Undecided, to be judged again at this time.
    Open(Instant),
    Moves {
        to: LinkId,
        proven: bool,
    },
}

fn verdict(now: Instant, state: &mut State, doubt: Doubt) -> Verdict {
    let Doubt {
        link, host, since, ..
    } = doubt;
    let hosts = &state.liveness.hosts;
    let here = hosts.last_reply(link, host);
    if here.is_some_and(|(at, _)| at >= since) {
        survived(now, state, doubt);
        return Verdict::Stays;
    }
    let others = others(state, link);
    let Some((path, &first)) = state.paths.get(&link).zip(others.first()) else {
        return Verdict::Stays;
    };
    let replied = |other: &&LinkId| hosts.last_reply(**other, host).is_some_and(|(at, _)| at >= since);
    let expected = here.map_or(path.rtt(), |(_, rtt)| rtt) * 2;
    let overdue = since + expected + path.gap.patience(now, path.spec.kind);
    let unheard = path.heard.is_none_or(|at| at < since);
    match (here, others.iter().find(replied)) {
        (Some(_), Some(&to)) if now >= overdue => return Verdict::Moves { to, proven: true },
        (None, _) if unheard && doubt.silence + (now - since) >= doubt.needed => {
            return Verdict::Moves {
                to: first,
                proven: false,
            };
        }
        _ => {}
    }
    let alone = since + doubt.needed.saturating_sub(doubt.silence);
    if now >= overdue.max(alone) + FLOW_LASTS {
        return Verdict::Stays;
    }
    let decisive = if here.is_some() { overdue } else { alone };
    Verdict::Open(decisive.max(now + FLOW_STEP))
}

/// Sends the next round of probes, if it is due.
fn asked(now: Instant, state: &mut State, doubt: Doubt) -> Doubt {
    let due = doubt.since + FLOW_ROUND * doubt.rounds;
    if doubt.rounds == FLOW_MOST_ROUNDS {
        let next = now + FLOW_LASTS;
        return Doubt { next, ..doubt };
    }
    if now < due {
        return Doubt { next: due, ..doubt };
    }
    for link in core::iter::once(doubt.link).chain(others(state, doubt.link)) {
        let last = state.liveness.hosts.last_reply(link, doubt.host);
        if last.is_none_or(|(at, _)| at < doubt.since) {
            idle::ask(state, link, doubt.host);
        }
    }
    Doubt {
        rounds: doubt.rounds + 1,
        next: now + FLOW_ROUND,
        ..doubt
    }
}

/// The links to which a flow may move, that of new connections first.
fn others(state: &State, link: LinkId) -> Vec<LinkId> {
    let route = state.route();
    let mut others = idle::others(state, link);
    others.sort_by_key(|other| (Some(other.link) != route, other.metered, other.link));
    others.truncate(FLOW_MOST_OTHERS);
    others.into_iter().map(|other| other.link).collect()
}

/// The link has left a probe unanswered for this long, and lives.
fn survived(now: Instant, state: &mut State, doubt: Doubt) {
    let last = state.liveness.hosts.last_reply(doubt.link, doubt.host);
    let path: Option<&mut Path> = state.paths.get_mut(&doubt.link);
    if let Some((path, (_, rtt))) = path.zip(last) {
        path.gap.survived(now, (now - doubt.since).saturating_sub(rtt));
    }
}
