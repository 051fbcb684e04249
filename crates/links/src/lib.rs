//! Models of links that are told the time and do no I/O.
//!
//! One [`Network`] holds all links of a run: cables, cellular links, and WiFi access points that share
//! channels. This is all that the driver must do, in this order:
//!
//! 1. call [`Network::handle`] with one input and the time it happened;
//! 2. call [`Network::poll`] until it returns `None`, and carry out each output;
//! 3. sleep until [`Network::wake_at`] or the next input, whichever comes first, then call [`Network::tick`]
//!    or `handle`.
//!
//! ```
//! use links::{CableConfig, Direction, Input, LinkConfig, LinkId, Network, Output, Packet};
//! use units::{Bitrate, Duration, Instant};
//!
//! let cable = CableConfig::symmetric("dsl", Bitrate::from_mbps(12), Duration::from_millis(10));
//! let mut network = Network::new(7, vec![LinkConfig::Cable(cable)])?;
//! let packet = Packet {
//!     link: LinkId(0),
//!     direction: Direction::Down,
//!     bytes: 1_500,
//!     ect: false,
//!     flow: 0,
//!     token: 1,
//! };
//! network.handle(Instant::ZERO, Input::Packet(packet));
//! while let Some((at, _reason)) = network.wake_at() {
//!     network.tick(at);
//!     while let Some((due, output)) = network.poll_due() {
//!         // One millisecond of transmission, ten of propagation.
//!         assert_eq!(due, Instant::from_millis(11));
//!         assert_eq!(output, Output::Delivered { packet, ce: false });
//!     }
//! }
//! # Ok::<(), links::ConfigError>(())
//! ```
//!
//! `now` never goes backwards. A late driver loses nothing: each event happens at its due time, which
//! [`Network::poll_due`] returns. The same inputs at the same times with the same seed give the same outputs.
//! `lab` passes the wall clock, `sim` the time of its event queue. Every element has its own random streams,
//! named after it, so adding a link does not shift the draws of others. Once the ring buffers have grown, no
//! packet needs an allocation.
//!
//! | room | what it is | uses |
//! |---|---|---|
//! | `io` | inputs, outputs, packets, counters of a network | |
//! | [`config`] | what a plan says, and which plans are refused | `io` |
//! | `queue` | queues, CoDel, where packets leave the network | `config` |
//! | `pipe` | cables and cells: bottleneck, wire, coverage holes, a cell's radio | `queue` |
//! | [`wifi`] | 802.11, coarsely: one exchange after the other, errors, rates, joining | `queue` |
//! | [`air`] | 802.11 exactly: who hears whom, capture, every station's countdown | `pipe`, `wifi` |
//! | `exact` | the access points of a network on that medium ([`Medium::Frames`]) | `air` |
//! | `network` | [`Network`]: all links behind one contract | all of these |
//! | [`optimal`] | what all links together could carry | `pipe`, `wifi` |
//! | `script` | the walk and the faults of a run, and the busiest link | `optimal` |
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod air;
pub mod config;
mod exact;
mod io;
mod network;
mod optimal;
mod pipe;
mod queue;
mod script;
pub mod wifi;

pub use config::{
    Background, BackgroundFlow, BackgroundWay, BottleneckConfig, CableConfig, CellConfig, CellLane, CellRate,
    Codel, ConfigError, Holes, LinkConfig, Medium, NetworkConfig, OtherHost, OtherLink, OtherStation,
    QueueConfig, QueueLimit, RadioStates, Repeats, Wire,
};
pub use exact::Stations;
pub use io::{
    Counters, Datagrams, Direction, DropReason, Fault, Heard, Input, LinkId, LinkState, Other, Output,
    Packet, Position, RadioReport, RadioSlot,
};
pub use network::Network;
pub use optimal::{Condition, Shared, Stream, optimal};
pub use queue::Depth;
pub use script::{Busiest, FaultTarget, Scheduled, Step, conditions};
pub use wifi::WifiConfig;
