//! Cells, cables and their queues.

use crate::plan::{Aqm, Bottleneck, Cable, Cell, LaneRate, Plan, Queue, QueueLimit, Wire};
use links::{
    BottleneckConfig, CableConfig, CellConfig, CellLane, CellRate, Codel, QueueConfig, RadioStates, Repeats,
};
use units::Duration;

pub(super) fn cable(name: &str, cable: &Cable) -> CableConfig {
    CableConfig {
        name: name.to_owned(),
        up: wire(&cable.up, cable.rtt / 2),
        down: wire(&cable.down, cable.rtt / 2),
        behind: cable.behind,
    }
}

fn wire(wire: &Wire, delay: Duration) -> links::Wire {
    links::Wire {
        rate: wire.rate,
        delay,
        jitter: wire.jitter,
        loss: wire.loss,
        queue: queue(wire.queue),
    }
}

pub(super) fn bottleneck(bottleneck: &Bottleneck) -> BottleneckConfig {
    BottleneckConfig {
        name: bottleneck.name.clone(),
        up: bottleneck.up,
        down: bottleneck.down,
        queue: queue(bottleneck.queue),
    }
}

/// A queue and who manages it.
pub fn queue(queue: Queue) -> QueueConfig {
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
        QueueLimit::Bdp => links::QueueLimit::Bdp,
        QueueLimit::Packets(packets) => links::QueueLimit::Packets(packets),
        QueueLimit::Bytes(bytes) => links::QueueLimit::Bytes(bytes),
        QueueLimit::Time(time) => links::QueueLimit::Time(time),
    };
    QueueConfig { limit, aqm }
}

pub(super) fn cell(plan: &Plan, name: &str, cell: &Cell, seed: u64) -> CellConfig {
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
