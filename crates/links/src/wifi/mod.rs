//! 802.11: access points on channels, stations that share one air.

mod config;

pub use config::{Backhaul, Fading, Join, Propagation, Radio, Shadowing, Wall, WifiConfig};
