//! Which network a flow, a block or a peer goes over, where one connection cannot use several paths.
//!
//! In go flows, blocks and peers, and the links that are up. Out comes the link of each.
//! `assign` passes those of flows and peers to the world.
//!
//! A peer without MPTCP sees each flow come from one address. Then the choice is made once for each flow
//! ([`Pins`]), and an application that opens several can spread its work: blocks of a file by their deadlines
//! ([`Stripe`]), peers of a swarm evenly ([`Peers`]).
//!
//! Flows and peers pass through the engine ([`crate::FlowEvent`], [`crate::Action::Assign`]); a [`Stripe`] is
//! asked for every block, so the application that fetches them owns it.
//!
//! # Sources
//! - juggler §3.1 (flows), §6.2.2 (striping), §6.2.3 (peers).
//!
//! # Where we differ, and why
//! 1. Each file says it of its own part; none of them moves a flow that has begun.
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
