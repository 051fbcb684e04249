//! Connections whose link the engine assigns. It hears of each before that is opened, and its answers are
//! kept here for the threads of the applications.
//!
//! # Sources
//! - `policy::flow`: a peer's connection stays on its link, and is ended when that is gone.
//!
//! # Checked by
//! `tests`; `tests/blocks.rs` of the lab.

use linux::daemon::{Allotment, InletSender};
use policy::flow::{FlowId, PeerId};
use policy::{FlowEvent, Input, LinkId, Wish};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a flow's connection may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// The engine has not said yet.
    Unknown,
    /// On this link.
    On(LinkId),
    /// Nowhere any more.
    Nowhere,
}

/// The answers of the engine so far.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    flows: Arc<Mutex<BTreeMap<FlowId, Where>>>,
}

/// Asks the engine for links, and knows what it answered.
#[derive(Debug, Clone)]
pub struct Assigned {
    answers: Answers,
    inlet: InletSender,
}

impl Answers {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<FlowId, Where>> {
        // Whoever panicked left a map that is still correct.
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an answer. `false`: no application asked about this flow.
    pub(crate) fn take(&self, flow: FlowId, allotment: Allotment) -> bool {
        let mut flows = self.lock();
        let Some(place) = flows.get_mut(&flow) else {
            return false;
        };
        *place = match allotment {
            Allotment::To(link) => Where::On(link),
            Allotment::Held => Where::Unknown,
            Allotment::Ended => Where::Nowhere,
        };
        true
    }

    /// A number for another flow.
    fn begin(&self) -> FlowId {
        let mut flows = self.lock();
        let next = flows.last_key_value().map_or(0, |(last, _)| last.0 + 1);
        flows.insert(FlowId(next), Where::Unknown);
        FlowId(next)
    }

    fn of(&self, flow: FlowId) -> Where {
        self.lock().get(&flow).copied().unwrap_or(Where::Nowhere)
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

    /// Where it may be.
    pub(super) fn of(&self, flow: FlowId) -> Where {
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
        assert_eq!(answers.of(first), Where::Unknown);
        assert!(answers.take(second, Allotment::To(LinkId(1))));
        assert!(answers.take(first, Allotment::Held));
        assert_eq!(
            (answers.of(first), answers.of(second)),
            (Where::Unknown, Where::On(LinkId(1)))
        );
        assert!(answers.take(second, Allotment::Ended));
        assert_eq!(answers.of(second), Where::Nowhere);
        assert!(!answers.take(FlowId(9), Allotment::Ended), "nobody asked");
    }
}
