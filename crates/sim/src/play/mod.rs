//! Scenarios in virtual time: from a plan to a record of what happened.
//!
//! | what | where |
//! |---|---|
//! | who plays, and what cannot be played | [`Cast`], [`CastError`] |
//! | one run | [`play()`] |
//! | the engine that listens | `brain` |
//! | frames as bytes, captures | [`Addresses`], [`Capture`] |

mod brain;
mod cast;
mod error;
mod frames;
mod medium;
mod run;

pub use brain::digest;
pub use cast::{Cast, Radio};
pub use error::CastError;
pub use frames::{Addresses, Capture};
pub use run::{Play, Played, play};
