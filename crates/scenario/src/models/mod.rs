//! From a plan to the models that carry its packets: links, walls and the air in the types of `links`. Every
//! world gets them from here.
//!
//! # Checked by
//! `tests/models.rs`. For what the worlds make of it: `lab`'s `world::network` and `cli`'s
//! `tests/both_worlds.rs`.

mod air;
mod background;
mod hosts;
mod optimal;
mod relay;
mod script;
mod wires;

pub use air::{control, ht, join, losses, noise, position, propagation, rules, thresholds, wall};
pub use background::{background, background_flows, background_link};
pub use hosts::{Resident, has_host, other_host, residents};
pub use optimal::{alone, optimal};
pub use relay::relay_wire;
pub use script::script;
pub use wires::queue;

use crate::plan::{Link, LinkKind, Plan};
use links::wifi::Radio;
use links::{LinkConfig, NetworkConfig, Position};
use units::Duration;

/// The network of a run with this seed: the links in the order of the plan, and the client. The world decides
/// how finely the air is modelled, and what others send.
pub fn network(plan: &Plan, seed: u64) -> NetworkConfig {
    let client = plan.walkers.first();
    let radio = Radio {
        position: client.map_or_else(Position::default, |client| {
            position(client.position(Duration::ZERO))
        }),
        power: client.map_or(Radio::default().power, |client| client.tx_power),
    };
    NetworkConfig {
        links: plan.links.iter().map(|link| one(plan, link, seed)).collect(),
        bottlenecks: plan.bottlenecks.iter().map(wires::bottleneck).collect(),
        walls: plan.place.walls.iter().map(wall).collect(),
        radio,
        noise: plan.place.noises.iter().map(noise).collect(),
        rules: rules(&plan.rules),
        losses: losses(plan),
        thresholds: client.map_or_else(Default::default, |client| thresholds(client.thresholds)),
        power_save: client.is_some_and(|client| client.power_save),
        single_radio: client.is_some_and(|client| client.radio.is_some()),
        ..NetworkConfig::default()
    }
}

fn one(plan: &Plan, link: &Link, seed: u64) -> LinkConfig {
    let to_the_server = match &link.kind {
        LinkKind::Cable(cable) => LinkConfig::Cable(wires::cable(&link.name, cable)),
        LinkKind::Cell(cell) => LinkConfig::Cell(wires::cell(plan, &link.name, cell, seed)),
        LinkKind::Wifi(ap) => LinkConfig::Wifi(air::access_point(&link.name, ap)),
    };
    match plan.relay {
        Some(relay) => relay::in_front(to_the_server, link, relay),
        None => to_the_server,
    }
}
