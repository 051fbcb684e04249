//! The decision engine of slowhand. It decides, and worlds act. It has no clock, no I/O and no randomness.
//!
//! A driver does the following, in this order:
//!
//! 1. call [`Engine::handle`] with one input and the time at which it happened;
//! 2. call [`Engine::poll`] until `None`, and carry out each action;
//! 3. sleep until [`Engine::wake_at`] or the next input, whichever is first; then [`Engine::tick`] or
//!    `handle`.
//!
//! ```
//! use policy::{Action, Config, Engine, Family, Input, LinkEvent, LinkId, LinkKind, LinkSpec, Policy, Role};
//! use units::Instant;
//!
//! let mut engine = Engine::new(Config { policy: Policy::Slowhand, peer_subflows: 2 });
//! let cable = LinkId(0);
//! let spec = LinkSpec { name: "eth0".into(), kind: LinkKind::Cable, role: Role::Primary, channel: None };
//! engine.handle(Instant::ZERO, Input::Link(cable, LinkEvent::Appeared(spec)));
//! engine.handle(Instant::ZERO, Input::Link(cable, LinkEvent::Carrier(true)));
//! engine.handle(Instant::from_millis(1), Input::Link(cable, LinkEvent::Usable(true)));
//! let actions: Vec<Action> = std::iter::from_fn(|| engine.poll()).collect();
//! assert!(actions.contains(&Action::DefaultRoute(Family::V4, Some(cable))));
//! ```
//!
//! The rooms, lowest first. A room uses only rooms of earlier lines:
//!
//! 1. `io` (the values of inputs, actions and reasons), `cc` (congestion controllers)
//! 2. `estimate` (measured quantities), `sched` (packet schedulers), `window` and `slow` (the arithmetic of
//!    one connection)
//! 3. `known` (all links, connections and subflows)
//! 4. `alive` (which links are alive), `choose` (which links to use), `flow` (flows without MPTCP)
//! 5. `subflow` (joins and closes), `queue` (short queues), `wifi` (shared channels and radios), `explain`
//!    (sentences for users)
//! 6. `strategy` (one file per policy)
//! 7. `engine.rs`
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod alive;
pub mod cc;
mod choose;
mod engine;
pub mod estimate;
mod explain;
pub mod flow;
mod io;
mod known;
mod queue;
pub mod sched;
mod slow;
mod strategy;
mod subflow;
mod wifi;
mod window;

pub use engine::{Config, Engine, Policy};
pub use explain::{ConnExplanation, Explanation, Names, RoleExplanation};
pub use io::reason;
pub use io::{
    Action, Ahead, Checked, ConnEvent, ConnId, ConnSample, Division, Family, FlowEvent, HostEvent, HostId,
    Input, JoinFailure, LinkEvent, LinkId, LinkKind, LinkSpec, Note, Outlook, RadioEvent, RadioId, Reason,
    RemoteId, Role, SubflowEvent, SubflowId, SubflowSample, Tariff, Trust, Uplink, Verb, Wish,
};
pub use queue::mark;
pub use strategy::{energy_schedule, omniscient};
pub use wifi::{reach, slot, steer};

#[cfg(test)]
mod tests;
