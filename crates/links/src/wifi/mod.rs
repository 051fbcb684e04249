//! 802.11 a, b and g: access points whose channels are shared.
//!
//! All stations of a channel share one air: the access points, and the client's radio, which sends what goes to any of them. Each
//! frame goes out at the rate with the highest expected goodput, is lost by its signal-to-noise ratio, and is repeated up to 7
//! attempts in all. Behind each access point lies a wired segment.
//!
//! What is not modelled here: hidden terminals, capture, rate control that learns, aggregation, power save.

mod air;
mod airtime;
mod bss;
mod channel;
mod dcf;
mod join;
pub(crate) mod phy;
mod signal;

pub use crate::config::{Backhaul, Fading, Join, Propagation, Radio, Shadowing, Wall, WifiConfig};
pub(crate) use air::Air;
pub use airtime::{ATTEMPTS, contention_window, exchange, goodput, per_delivered};
pub use phy::frame_loss;
pub(crate) use signal::{Signal, moved_mm};
