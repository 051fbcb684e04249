//! Numbers with meaning, shared by every room.
//!
//! A value that crosses a boundary carries its unit in its type: `rate * time = bytes`, `dBm − dBm = dB`, and what makes
//! no sense does not compile. Everything is an integer, so that one seed gives one trace on every machine.
#![cfg_attr(not(test), no_std)]

mod data;
mod mac;
mod power;
mod ratio;
mod rng;
mod time;
pub mod wifi;

pub use core::time::Duration;
pub use data::{Bitrate, Bytes, SeqNum};
pub use mac::MacAddr;
pub use power::{Db, Dbm};
pub use ratio::Ratio;
pub use rng::Rng;
pub use time::Instant;

#[cfg(test)]
mod tests;
