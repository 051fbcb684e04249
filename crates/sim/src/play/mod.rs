//! Scenarios in virtual time: from a plan to a record of what happened.
//!
//! | what | where |
//! |---|---|
//! | stations and flows, and what is not supported | [`Cast`], [`CastError`] |
//! | one run | [`play()`] |
//! | associations, and the medium below | `associations` |
//! | backhaul wires | `backhaul` |
//! | cells and cables | `wires`, [`wired`] |
//! | times of joins and losses | `joins` |
//! | energy of the client's radios | `energy` |
//! | TCP and MPTCP: hosts, and the engine that acts on them | `hosts` |
//! | the engine beside datagrams, what monitors show it | `brain`, `ears` |
//! | frames as bytes, captures | [`Capture`] |
//! | what stations and datagrams did | `stations` |

mod associations;
mod backhaul;
mod brain;
mod cast;
#[cfg(test)]
#[path = "../../tests/common/mod.rs"]
mod common;
mod ears;
mod energy;
mod error;
mod frames;
mod hosts;
mod joins;
mod medium;
mod run;
mod stations;
mod totals;
mod wired;
mod wires;

pub use associations::Association;
pub use cast::{Cast, Radio};
pub use ears::digest;
pub use error::CastError;
pub use frames::Capture;
pub use links::air::Addresses;
pub use run::{Play, Played, RoundTrip, check, play};
pub use wired::wired;
