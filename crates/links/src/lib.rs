//! Models of links, told the time and doing no I/O.
//!
//! One [`Network`] holds all links of a run: cables, cellular links, and WiFi access points whose channels are shared. The
//! driver's whole duty, in this order:
//!
//! 1. [`Network::handle`] one input with the time it happened;
//! 2. [`Network::poll`] until `None`, carrying out each output;
//! 3. sleep until [`Network::wake_at`] or the next input, whichever is first; then [`Network::tick`] or `handle`.
//!
//! `now` never goes backwards. The same inputs at the same times with the same seed give the same outputs: `lab` feeds the
//! wall clock, `sim` its event queue.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod build;
mod check;
mod codel;
pub mod config;
mod error;
mod exits;
mod holes;
mod io;
mod lane;
mod network;
mod opportunities;
mod optimal;
mod port;
mod queue;
mod timers;
pub mod wifi;

pub use config::{
    BottleneckConfig, CableConfig, CellConfig, CellLane, CellRate, Codel, Holes, LinkConfig, NetworkConfig,
    QueueConfig, QueueLimit, Wire,
};
pub use error::ConfigError;
pub use io::{Counters, Direction, DropReason, Fault, Input, LinkId, LinkState, Output, Packet, Position};
pub use network::Network;
pub use optimal::{Condition, optimal};
pub use queue::Depth;
pub use wifi::WifiConfig;
