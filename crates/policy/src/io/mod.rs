//! Inputs and actions of the engine. After the README, read this folder.
//!
//! It holds values only: an [`Input`] goes in, an [`Action`] comes out. A decision comes with its [`Reason`].
//! Each file holds the values of one theme.
//!
//! A *link* is a way out of the host: one association with an access point, one modem, one cable. A
//! *connection* is an MPTCP connection of an application. A *subflow* is one connection's part over one link.
//! A *radio* may have to serve several links in turns. A *flow* stays on one network from start to end, where
//! a peer does not speak MPTCP. Worlds identify them by small numbers.
//!
//! Three questions do not pass here, because a data plane asks them per packet:
//! - which packet to mark ([`crate::mark`])
//! - which subflow or block is next ([`crate::sched`], [`crate::flow::Stripe`])
//! - how a window grows ([`crate::cc`])
//!
//! A world's data plane owns the objects that answer them. Actions set their parameters.

pub(crate) mod actions;
pub(crate) mod air;
pub(crate) mod connections;
pub(crate) mod flows;
pub(crate) mod ids;
pub(crate) mod inputs;
pub(crate) mod links;
pub(crate) mod notes;
pub(crate) mod power;
pub(crate) mod radios;
pub mod reason;
pub(crate) mod subflows;

pub use actions::{Action, Ahead, Outlook};
pub use connections::{ConnEvent, ConnSample, JoinFailure};
pub use flows::{FlowEvent, Wish};
pub use ids::{ConnId, FlowId, HostId, LinkId, PeerId, RadioId, RemoteId, SubflowId};
pub use inputs::Input;
pub use links::{Checked, Family, HostEvent, LinkEvent, LinkKind, LinkSpec, Role, Tariff, Trust, Uplink};
pub use notes::{Note, Verb};
pub use radios::{Division, RadioEvent};
pub use reason::Reason;
pub(crate) use subflows::LONGEST;
pub use subflows::{SubflowEvent, SubflowSample};
