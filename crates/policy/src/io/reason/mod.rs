//! Reasons: why the engine decided something, as values.
//!
//! A reason is made where the decision is made. It has the numbers of that moment with their units, and links
//! by identifier. [`crate::explain`] alone renders it as a sentence. Each reason has a stable identifier for
//! machines, which docs/decisions.md lists.
//!
//! Each file holds the reasons of one room.

mod access;
mod choice;
mod evidence;
mod flow;
mod queue;
mod radio;
mod steer;
mod subflow;

pub use access::{Access, Held, Refused};
pub use choice::{Choice, Energy, Handover, SlowLink};
pub use evidence::Evidence;
pub use flow::Assigned;
pub use queue::Queue;
pub use radio::{Cycle, Listens, Trend};
pub use steer::Steer;
pub use subflow::Replaced;

use super::connections::JoinFailure;
use super::ids::FlowId;

/// Why the engine decided something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Why a link is used, or is a backup.
    Choice(Choice),
    /// Why a link is suspect, dead, or alive again.
    Evidence(Evidence),
    /// Why a link must not be used, or may be used again.
    Access(Access),
    /// Why a link was not joined.
    Join(JoinFailure),
    /// Why a subflow is drained or replaced.
    Subflow(Replaced),
    /// Why a queue is limited or marked.
    Queue(Queue),
    /// How a signal changes.
    Trend(Trend),
    /// How a radio's time is divided.
    Cycle(Cycle),
    /// Why a flow has this network, waits, or ends.
    Flow(FlowId, Assigned),
}

impl Reason {
    /// The stable identifier in traces.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Choice(choice) => choice.id(),
            Self::Evidence(evidence) => evidence.id(),
            Self::Access(access) => access.id(),
            Self::Join(failure) => match failure {
                JoinFailure::Refused => "join-refused",
                JoinFailure::Timeout => "join-unanswered",
                JoinFailure::Local => "join-refused-here",
                JoinFailure::NoAddress => "no-address-of-family",
                JoinFailure::Elsewhere => "routed-elsewhere",
                JoinFailure::Untimely => "join-untimely",
            },
            Self::Subflow(replaced) => replaced.id(),
            Self::Queue(queue) => queue.id(),
            Self::Trend(trend) => trend.id(),
            Self::Cycle(cycle) => cycle.id(),
            Self::Flow(_, assigned) => assigned.id(),
        }
    }
}

macro_rules! reasons {
    ($($kind:ident($of:ty)),+) => {
        $(impl From<$of> for Reason {
            fn from(of: $of) -> Self {
                Self::$kind(of)
            }
        })+
    };
}

reasons!(
    Choice(Choice),
    Evidence(Evidence),
    Access(Access),
    Join(JoinFailure),
    Subflow(Replaced),
    Queue(Queue),
    Trend(Trend),
    Cycle(Cycle)
);
