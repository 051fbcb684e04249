//! Connections whose link the engine assigns. A flow asks before it connects, and the answers are stored here
//! for its threads.
//!
//! # Sources
//! - `policy::flow`: a peer's connection stays on its link, and is ended when that is gone.
//!
//! # Checked by
//! `tests`; `tests/blocks.rs` of the lab.

use linux::daemon::{Assignment, InletSender};
use policy::flow::{FlowId, PeerId};
use policy::{FlowEvent, Input, LinkId, Wish};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the engine has answered about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing yet.
    Pending,
    /// It belongs on this link.
    On(LinkId),
    /// It must end.
    Ended,
}

/// The answers of the engine so far.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    flows: Arc<Mutex<BTreeMap<FlowId, Answer>>>,
}

/// Asks the engine for links, and knows what it answered.
#[derive(Debug, Clone)]
pub struct Assigned {
    answers: Answers,
    inlet: InletSender,
}

impl Answers {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<FlowId, Answer>> {
        // Whoever panicked left a map that is still correct.
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an answer. `false`: no application asked about this flow.
    pub(crate) fn take(&self, flow: FlowId, assignment: Assignment) -> bool {
        let mut flows = self.lock();
        let Some(place) = flows.get_mut(&flow) else {
            return false;
        };
        *place = match assignment {
            Assignment::To(link) => Answer::On(link),
            Assignment::Held => Answer::Pending,
            Assignment::Ended => Answer::Ended,
        };
        true
    }

    /// A number for another flow.
    fn begin(&self) -> FlowId {
        let mut flows = self.lock();
        let next = flows.last_key_value().map_or(0, |(last, _)| last.0 + 1);
        flows.insert(FlowId(next), Answer::Pending);
        FlowId(next)
    }

    fn of(&self, flow: FlowId) -> Answer {
        self.lock().get(&flow).copied().unwrap_or(Answer::Ended)
    }
}

impl Assigned {
    pub(crate) const fn new(answers: Answers, inlet: InletSender) -> Self {
        Self { answers, inlet }
    }

    /// Asks for a link of a connection to this peer.
    pub(super) fn begin(&self, peer: PeerId) -> FlowId {
        let flow = self.answers.begin();
        self.tell(flow, FlowEvent::Began(Wish::Peer(peer)));
        flow
    }

    /// Answer it may be.
    pub(super) fn of(&self, flow: FlowId) -> Answer {
        self.answers.of(flow)
    }

    /// The connection is over.
    pub(super) fn end(&self, flow: FlowId) {
        self.tell(flow, FlowEvent::Ended);
    }

    fn tell(&self, flow: FlowId, event: FlowEvent) {
        // The daemon ends with the run, and its flows soon after it.
        let _ = self.inlet.send(Input::Flow(flow, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_by_flow() {
        let answers = Answers::default();
        let [first, second] = [answers.begin(), answers.begin()];
        assert_ne!(first, second);
        assert_eq!(answers.of(first), Answer::Pending);
        assert!(answers.take(second, Assignment::To(LinkId(1))));
        assert!(answers.take(first, Assignment::Held));
        assert_eq!(
            (answers.of(first), answers.of(second)),
            (Answer::Pending, Answer::On(LinkId(1)))
        );
        assert!(answers.take(second, Assignment::Ended));
        assert_eq!(answers.of(second), Answer::Ended);
        assert!(!answers.take(FlowId(9), Assignment::Ended), "nobody asked");
    }
}
