//! What the brain is told and what it asks for. After the README, read this folder.
//!
//! Values only: an [`Input`] goes in, an [`Action`] comes out. Each file holds the values of one theme.
//!
//! A *link* is a way out of the host: one association with an access point, one modem, one cable. A
//! *connection* is an MPTCP connection of some application. A *subflow* is one connection's share of one
//! link. A *radio* is what several links may have to share in turns. A *flow* is what one network carries
//! from beginning to end, where a peer does not speak MPTCP. Worlds name them by small numbers.
//!
//! Two kinds of question do not pass here, because a data plane asks them per packet: which packet is to be
//! marked ([`crate::mark`]), which subflow or block is next ([`crate::sched`], [`crate::flow::Stripe`]), how
//! a window grows ([`crate::cc`]). Those are objects that a world's data plane owns; what they are told comes
//! from actions.

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
pub(crate) mod subflows;

pub use actions::{Action, Ahead, Outlook};
pub use connections::{ConnEvent, ConnSample, JoinFailure};
pub use flows::{FlowEvent, Wish};
pub use ids::{ConnId, FlowId, HostId, LinkId, PeerId, RadioId, SubflowId};
pub use inputs::Input;
pub use links::{Checked, Family, HostEvent, LinkEvent, LinkKind, LinkSpec, Role, Tariff, Trust, Uplink};
pub use notes::{Note, Verb};
pub use radios::{Division, RadioEvent};
pub(crate) use subflows::LONGEST;
pub use subflows::{SubflowEvent, SubflowSample};
