//! Chooses the network of a flow, block or peer, where one connection cannot use several paths.
//!
//! The inputs are flows, blocks and peers, and the links that are up. The output is the link of each.
//! `assign` reports those of flows and peers to the world.
//!
//! A peer without MPTCP sees each flow come from one address. So the choice is made once per flow ([`Pins`]).
//! An application that opens several flows can spread its work: blocks of a file by their deadlines
//! ([`Stripe`]), peers of a swarm evenly ([`Peers`]).
//!
//! Flows and peers pass through the engine ([`crate::FlowEvent`], [`crate::Action::Assign`]). A [`Stripe`] is
//! called for every block, so the application that fetches the blocks owns it.
//!
//! [`Peers`] serves programs that ask for each peer, as those of the modelled worlds do. On a live host the
//! kernel spreads the flows of a rule by their servers, and the engine hears of each as a wish.
//!
//! # Sources
//! - juggler §3.1 (flows), §6.2.2 (striping), §6.2.3 (peers).
//!
//! # Where we differ, and why
//! 1. Each file states its own. A flow that has started moves only if its link drops everything, or the user
//!    says so.
//!
//! # Checked by
//! `tests`: golden vectors, properties, and juggler's video over links of constant rate;
//! `tests/engine_flows.rs`: through the engine.

pub(crate) mod assign;
mod peers;
mod pin;
mod stripe;
#[cfg(test)]
mod tests;

pub use crate::io::{FlowId, PeerId};
pub use peers::Peers;
pub use pin::{AssignError, MOST, Pins};
pub use stripe::{Skip, Stripe};
