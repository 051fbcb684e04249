//! 802.11a, b and g: access points that share channels.
//!
//! All stations of a channel share one air: the access points and the client's radio, which sends to all of
//! them. Each frame uses the rate with the highest expected goodput. Its loss depends on its SNR, and it gets
//! up to 7 attempts. Behind each access point is a wired segment.
//!
//! On the weighted medium, a channel is only a queue of packets with fixed times (`weighted`).
//!
//! Not modelled here: hidden terminals, capture, adaptive rate control, aggregation, power save.

mod air;
mod airtime;
mod bss;
mod channel;
mod dcf;
mod join;
pub(crate) mod phy;
mod signal;
mod weighted;

pub use crate::config::{
    Backhaul, ErrorModel, Fading, Join, Propagation, Radio, Shadowing, Turn, Wall, WifiConfig,
};
pub(crate) use air::Air;
pub use airtime::{ATTEMPTS, contention_window, datagrams, exchange, goodput, per_delivered};
pub use dcf::Dcf;
pub use phy::frame_loss;
pub(crate) use signal::{Signal, moved_mm};
