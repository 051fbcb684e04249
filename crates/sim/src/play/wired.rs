//! A scenario's cells and cables as the models' own: what the lab makes of them, and with its seed.
//!
//! # Checked by
//! `cli`'s `tests/both_worlds.rs`: the lab's and these are the same.

use links::{LinkConfig, NetworkConfig};
use scenario::{Plan, models};

/// The cells and cables of a plan in the order of its links, without its access points.
pub fn wired(plan: &Plan, seed: u64) -> NetworkConfig {
    let whole = models::network(plan, seed);
    let wires = whole.links.into_iter();
    NetworkConfig {
        links: wires
            .filter(|link| !matches!(link, LinkConfig::Wifi(_)))
            .collect(),
        bottlenecks: whole.bottlenecks,
        ..NetworkConfig::default()
    }
}
