//! A scenario's cells and cables as the models' own: what the lab makes of them, and with its seed.
//!
//! # Checked by
//! `cli`'s `tests/both_worlds.rs`: the lab's and these are the same.

use links::{
    BottleneckConfig, CableConfig, CellConfig, CellLane, CellRate, Codel, LinkConfig, NetworkConfig,
    QueueConfig, QueueLimit, RadioStates, Repeats, Wire,
};
use scenario::{Aqm, Bottleneck, Cable, Cell, LaneRate, LinkKind, Plan, Queue};
use units::Duration;

/// The cells and cables of a plan in the order of its links, without its access points.
pub fn wired(plan: &Plan, seed: u64) -> NetworkConfig {
    let links = plan.links.iter().filter_map(|link| match &link.kind {
        LinkKind::Cell(cell) => Some(LinkConfig::Cell(cell_config(plan, &link.name, cell, seed))),
        LinkKind::Cable(cable) => Some(LinkConfig::Cable(cable_config(&link.name, cable))),
        LinkKind::Wifi(_) => None,
    });
    NetworkConfig {
        links: links.collect(),
        bottlenecks: plan.bottlenecks.iter().map(bottleneck).collect(),
        ..NetworkConfig::default()
    }
}

fn cable_config(name: &str, cable: &Cable) -> CableConfig {
    CableConfig {
        name: name.to_owned(),
        up: wire(&cable.up, cable.rtt / 2),
        down: wire(&cable.down, cable.rtt / 2),
        behind: cable.behind,
    }
}

fn wire(wire: &scenario::Wire, delay: Duration) -> Wire {
    Wire {
        rate: wire.rate,
        delay,
        jitter: wire.jitter,
        loss: wire.loss,
        queue: queue(wire.queue),
    }
}

fn bottleneck(bottleneck: &Bottleneck) -> BottleneckConfig {
    BottleneckConfig {
        name: bottleneck.name.clone(),
        up: bottleneck.up,
        down: bottleneck.down,
        queue: queue(bottleneck.queue),
    }
}

pub(super) fn queue(queue: Queue) -> QueueConfig {
    let aqm = match queue.aqm {
        Aqm::TailDrop => None,
        Aqm::Codel {
            target,
            interval,
            ecn,
        } => Some(Codel {
            target,
            interval,
            ecn,
        }),
    };
    let limit = match queue.limit {
        scenario::QueueLimit::Bdp => QueueLimit::Bdp,
        scenario::QueueLimit::Packets(packets) => QueueLimit::Packets(packets),
        scenario::QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes),
        scenario::QueueLimit::Time(time) => QueueLimit::Time(time),
    };
    QueueConfig { limit, aqm }
}

fn cell_config(plan: &Plan, name: &str, cell: &Cell, seed: u64) -> CellConfig {
    let lane = |rate: &LaneRate| CellLane {
        rate: match rate {
            LaneRate::Constant(rate) => CellRate::Constant(*rate),
            LaneRate::Trace(trace) => CellRate::Trace(trace.times().collect()),
        },
        delay: cell.rtt / 2,
        jitter: cell.jitter,
        queue: queue(cell.queue),
    };
    let holes = cell.holes.drawn(seed, name, plan.duration);
    CellConfig {
        name: name.to_owned(),
        up: lane(&cell.up),
        down: lane(&cell.down),
        holes: links::Holes {
            spans: holes.into_iter().map(|hole| (hole.at, hole.lasts)).collect(),
            period: None,
        },
        radio: cell.radio.map(|radio| RadioStates {
            promotion: radio.promotion,
            tail: radio.tail,
        }),
        repeats: cell.repeats.map(|repeats| Repeats {
            loss: repeats.loss,
            after: repeats.after,
            most: repeats.transmissions,
        }),
    }
}
