//! Assigns each flow that cannot use several links to one link when it starts.
//!
//! # Sources
//! - juggler §3.1 (a flow stays on the network on which it started: the application's choice, otherwise the
//!   active one), §6.2.3 (peers are spread evenly over the networks).
//!
//! # Where we differ, and why
//! 1. If there is no network for a flow, it is held, up to [`MOST_HELD`] flows. juggler holds packets and
//!    does not say how many.
//! 2. When a network loses its address or is proven dead, its flows are ended at once: their peers know them
//!    by that address. The same holds for a network that is held out, such as behind a captive portal. If
//!    every network with an address is dead or held out, all flows continue: there is no other.
//! 3. A flow that has become silent moves if its server replies over another link
//!    ([`crate::alive::flows`]), unless it may use only one. It also moves if the user says so.
//! 4. A flow that may use only one link waits while that has no address ([`Wish::Only`]).
//!
//! # Checked by
//! `tests/engine_flows.rs`; `tests::portal`; [`crate::flow`]'s own tests.

use crate::alive::flows::{Doubts, Leaves};
use crate::alive::idle;
use crate::flow::{AssignError, FlowId, MOST, PeerId, Peers, Pins};
use crate::io::reason::Assigned;
use crate::io::{Action, FlowEvent, LinkId, Reason, Verb, Wish};
use crate::known::path::Path;
use crate::known::state::State;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use units::Instant;

/// The most flows that wait for a network. Further ones are ended.
const MOST_HELD: usize = 1_024;

/// Flows and their networks.
#[derive(Debug, Default)]
pub(crate) struct Assignments {
    pins: Pins,
    peers: Peers,
    /// The peer of each flow that has one.
    peer_of: BTreeMap<FlowId, PeerId>,
    held: Vec<(FlowId, Wish)>,
    /// Links that may carry flows, in order.
    configured: Vec<LinkId>,
    lost: Vec<FlowId>,
    doubts: Doubts,
    /// Flows that may use only one link.
    bound: BTreeSet<FlowId>,
}

impl Assignments {
    /// Handles an event of a flow.
    pub(crate) fn about(&mut self, now: Instant, state: &mut State, flow: FlowId, event: FlowEvent) {
        let on = self.pins.of(flow);
        match event {
            FlowEvent::Began(wish) => {
                if matches!(wish, Wish::Only(_)) && self.bound.len() < MOST {
                    self.bound.insert(flow);
                }
                self.refresh(state);
                self.assign(state, flow, wish);
            }
            FlowEvent::Ended => {
                self.pins.closed(flow);
                self.doubts.ended(flow);
                self.bound.remove(&flow);
                self.held.retain(|(held, _)| *held != flow);
                self.leave_peer(flow);
            }
            FlowEvent::Answered(host) => {
                if let Some(link) = on {
                    self.doubts.answered(now, state, flow, (link, host));
                }
            }
            FlowEvent::Silent { host, silence, usual } => {
                if let Some(link) = on {
                    self.doubts.silent(now, flow, (link, host), (silence, usual));
                    self.look(now, state);
                }
            }
            FlowEvent::Wanted(link) => {
                self.refresh(state);
                let waits = self.held.iter().any(|(held, _)| *held == flow);
                let may_move = waits || on.is_some_and(|on| on != link);
                if may_move && self.configured.contains(&link) {
                    self.held.retain(|(held, _)| *held != flow);
                    self.move_to(state, flow, link, Assigned::Moved);
                }
            }
        }
    }

    /// Moves the flows that leave a link which drops everything. One that may use only this link stays.
    fn look(&mut self, now: Instant, state: &mut State) {
        for leaves in self.doubts.look(now, state) {
            let Leaves {
                flow, to, silence, ..
            } = leaves;
            if self.bound.contains(&flow) {
                self.doubts.left(flow);
                if leaves.proven {
                    idle::suspect(now, state, leaves.from, leaves.host);
                }
            } else if leaves.proven {
                self.move_to(state, flow, to, Assigned::RepliesHere { silence });
                idle::suspect(now, state, leaves.from, leaves.host);
            } else {
                self.move_to(state, flow, to, Assigned::Unanswered { silence });
            }
        }
    }

    fn move_to(&mut self, state: &mut State, flow: FlowId, link: LinkId, assigned: Assigned) {
        self.doubts.left(flow);
        self.pins.moved(flow, link);
        state.push(Action::Move(flow, link));
        state.remark(None, Some(link), Verb::Assign, Reason::Flow(flow, assigned));
    }

    /// This host did not run for a while.
    pub(crate) fn resumed(&mut self) {
        self.doubts.begin_anew();
    }

    /// When [`Assignments::settle`] next has work.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.doubts.wake_at()
    }

    /// Drops a peer with its last flow.
    fn leave_peer(&mut self, flow: FlowId) {
        if let Some(peer) = self.peer_of.remove(&flow)
            && !self.peer_of.values().any(|other| *other == peer)
        {
            self.peers.left(peer);
        }
    }

    /// Updates the links: ends the flows of links that are gone, and assigns waiting flows.
    pub(crate) fn settle(&mut self, now: Instant, state: &mut State) {
        if self.pins.is_empty() && self.held.is_empty() {
            return;
        }
        self.look(now, state);
        self.refresh(state);
        for flow in self.lost.drain(..) {
            state.push(Action::EndFlow(flow));
            report(state, flow, Assigned::NetworkGone);
        }
        if self.configured.is_empty() {
            return;
        }
        let waits = |(_, wish): &(FlowId, Wish)| match wish {
            Wish::Only(link) => !self.configured.contains(link),
            Wish::Active | Wish::Network(_) | Wish::Peer(_) => false,
        };
        let (waiting, ready): (Vec<_>, Vec<_>) = core::mem::take(&mut self.held).into_iter().partition(waits);
        self.held = waiting;
        for (flow, wish) in ready {
            self.assign(state, flow, wish);
        }
    }

    /// Compares the links with the earlier ones.
    fn refresh(&mut self, state: &State) {
        let carries = carries(state);
        let Self {
            pins,
            peers,
            configured,
            lost,
            ..
        } = self;
        configured.retain(|link| {
            let there = state.paths.get(link).is_some_and(carries);
            if !there {
                pins.gone(*link, lost);
                peers.went(*link);
            }
            there
        });
        for (&link, _) in state.paths.iter().filter(|(_, path)| carries(path)) {
            if let Err(at) = configured.binary_search(&link) {
                configured.insert(at, link);
                peers.came(link);
            }
        }
    }

    /// The link of a flow's peer. A peer has at most as many flows as there are pins.
    fn place(&mut self, flow: FlowId, peer: PeerId) -> Option<LinkId> {
        if self.peer_of.len() < MOST {
            self.peer_of.insert(flow, peer);
        }
        self.peer_of.get(&flow).and_then(|&peer| self.peers.link(peer))
    }

    /// Lets a flow begin on a link, without watching it: there are too many.
    fn leave_alone(&self, state: &mut State, flow: FlowId, link: Option<LinkId>) {
        let link = link.filter(|link| self.configured.contains(link));
        match link.or(self.configured.first().copied()) {
            Some(link) => {
                state.push(Action::Assign(flow, link));
                let because = Reason::Flow(flow, Assigned::TooMany);
                state.remark(None, Some(link), Verb::Assign, because);
            }
            None => {
                state.push(Action::EndFlow(flow));
                report(state, flow, Assigned::NetworkGone);
            }
        }
    }

    fn assign(&mut self, state: &mut State, flow: FlowId, wish: Wish) {
        let active = state.route().or_else(|| self.configured.first().copied());
        let (wish_for, active) = match wish {
            Wish::Active => (None, active),
            Wish::Network(link) => (Some(link), active),
            Wish::Only(link) => (Some(link), None),
            Wish::Peer(peer) => (self.place(flow, peer), active),
        };
        match self.pins.network(flow, wish_for, active, &self.configured) {
            Ok(link) => {
                state.push(Action::Assign(flow, link));
                let because = Reason::Flow(flow, granted(wish, link));
                state.remark(None, Some(link), Verb::Assign, because);
            }
            Err(AssignError::NoNetwork) if self.held.len() < MOST_HELD => {
                self.held.retain(|(held, _)| *held != flow);
                self.held.push((flow, wish));
                state.push(Action::Hold(flow));
                report(state, flow, Assigned::Waits);
            }
            Err(AssignError::TooMany) if !matches!(wish, Wish::Only(_)) => {
                self.leave_alone(state, flow, wish_for.or(active));
            }
            Err(_) => {
                state.push(Action::EndFlow(flow));
                report(state, flow, Assigned::NetworkGone);
            }
        }
    }
}

/// What a link must be to carry flows: as good as the best ones are.
fn carries(state: &State) -> fn(&Path) -> bool {
    let has_address = |path: &Path| path.is_usable() && path.is_allowed();
    let any = |is: fn(&Path) -> bool| state.paths.values().any(is);
    match (any(Path::is_candidate), any(Path::is_sound)) {
        (true, _) => Path::is_candidate,
        (_, true) => Path::is_sound,
        _ => has_address,
    }
}

/// The links that may carry flows, in order.
pub(crate) fn carrying(state: &State) -> impl Iterator<Item = LinkId> + Clone {
    let carries = carries(state);
    let carrying = state.paths.iter().filter(move |(_, path)| carries(path));
    carrying.map(|(&link, _)| link)
}

/// Why a flow is assigned to this link.
const fn granted(wish: Wish, link: LinkId) -> Assigned {
    match wish {
        Wish::Active => Assigned::Active,
        Wish::Network(wanted) if wanted.0 == link.0 => Assigned::Requested,
        Wish::Only(_) => Assigned::Requested,
        Wish::Network(_) => Assigned::RequestedHasNoAddress,
        Wish::Peer(_) => Assigned::Spread,
    }
}

fn report(state: &mut State, flow: FlowId, assigned: Assigned) {
    state.remark(None, None, Verb::Assign, Reason::Flow(flow, assigned));
}
