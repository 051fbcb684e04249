//! Quantities with their units, shared by every crate.
//!
//! A value that crosses a module boundary carries its unit in its type. `rate * time` gives bytes, `dBm −
//! dBm` gives dB, and a meaningless operation does not compile. Every stored value is an integer, so that one
//! seed gives the same trace on every machine.
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
