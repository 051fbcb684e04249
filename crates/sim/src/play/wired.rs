//! A scenario's cells and cables as models: the same as in the lab, with the same seed.
//!
//! # Checked by
//! `cli`'s `tests/both_worlds.rs`: the models are the same as in the lab.

use links::{LinkConfig, NetworkConfig};
use scenario::{Plan, models};

/// Cells and cables of a plan in the order of its links, without its access points.
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
