//! Scenarios in virtual time: from a plan to a record of what happened.
//!
//! | what | where |
//! |---|---|
//! | who plays, and what cannot be played | [`Cast`], [`CastError`] |
//! | one run | [`play()`] |
//! | who is associated with whom, and the medium below | `associations` |
//! | wires behind access points | `backhaul` |
//! | cells and cables | `wires`, [`wired`] |
//! | when who joined | `joins` |
//! | what the client's links carried for it | `energy` |
//! | the engine that listens | `brain` |
//! | frames as bytes, captures | [`Capture`] |

mod associations;
mod backhaul;
mod brain;
mod cast;
#[cfg(test)]
#[path = "../../tests/common/mod.rs"]
mod common;
mod energy;
mod error;
mod frames;
mod joins;
mod medium;
mod run;
mod wired;
mod wires;

pub use associations::Association;
pub use brain::digest;
pub use cast::{Cast, Radio};
pub use error::CastError;
pub use frames::Capture;
pub use links::air::Addresses;
pub use run::{Play, Played, play};
pub use wired::wired;
