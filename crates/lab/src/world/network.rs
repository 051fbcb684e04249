//! From a scenario's links to the models'.

use super::{NoController, StockSender};
use links::wifi::{self, WifiConfig};
use links::{
    BottleneckConfig, CableConfig, CellConfig, CellLane, CellRate, Codel, LinkConfig, NetworkConfig,
    Position, QueueConfig, QueueLimit,
};
use scenario::{
    AccessPoint, Aqm, Bottleneck, Cable, Cell, LaneRate, Link, LinkKind, Medium, Plan, Point, Queue,
    RateControl, Wall, Way, Wire, Work,
};
use thiserror::Error;
use units::Duration;

/// Why a plan cannot be played here although it is a good one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The sender does not have the controller.
    #[error(transparent)]
    Sender(#[from] StockSender),
    /// Nobody has it.
    #[error(transparent)]
    Controller(#[from] NoController),
    /// The lab's model of the air is coarser than what this asks for.
    #[error(
        "{what} is for the exact medium, which the lab does not have; remove it, or play the scenario with `--world sim`"
    )]
    Exact {
        /// What the scenario asks for.
        what: String,
    },
    /// A kernel's broadcast would have to be translated by the link.
    #[error(
        "flow `{0}` is to everyone, and the lab's access points send to the client only; use \"down\", or play it with --world sim"
    )]
    Everyone(String),
    /// The models refused it.
    #[error(transparent)]
    Model(#[from] links::ConfigError),
}

/// The network of a run with this seed.
pub fn network_config(plan: &Plan, seed: u64) -> Result<NetworkConfig, PlanError> {
    let to_everyone = |flow: &&scenario::Flow| {
        matches!(
            flow.work,
            Work::Datagrams {
                way: Way::Everyone,
                ..
            }
        )
    };
    if let Some(flow) = plan.flows.iter().find(to_everyone) {
        return Err(PlanError::Everyone(flow.name.clone()));
    }
    if let Some(what) = exact(plan) {
        return Err(PlanError::Exact { what });
    }
    let links = plan.links.iter().map(|link| link_config(plan, link, seed));
    Ok(NetworkConfig {
        links: links.collect(),
        bottlenecks: plan.bottlenecks.iter().map(bottleneck).collect(),
        walls: plan.place.walls.iter().map(wall).collect(),
        radio: wifi::Radio {
            position: plan.walkers.first().map_or_else(Position::default, |client| {
                position(client.position(Duration::ZERO))
            }),
            power: plan
                .walkers
                .first()
                .map_or(wifi::Radio::default().power, |client| client.tx_power),
        },
        monitor: false,
    })
}

/// What a plan asks for that only the exact medium has, as people call it.
fn exact(plan: &Plan) -> Option<String> {
    if plan.medium != Medium::default() {
        return Some("the key `medium`".to_owned());
    }
    if let Some(walker) = plan.walkers.iter().find(|walker| walker.power_save) {
        return Some(format!("`power_save` of `{}`", walker.name));
    }
    if let Some(noise) = plan.place.noises.first() {
        return Some(format!("the noise `{}`", noise.name));
    }
    plan.access_points().find_map(|(link, ap)| {
        let key = match ap.rate {
            _ if ap.ht.is_some() => "ht",
            _ if ap.fq_codel => "aqm",
            RateControl::Aarf | RateControl::Minstrel => "rate_control",
            RateControl::Auto | RateControl::Fixed(_) => return None,
        };
        Some(format!("`{key}` of `{}`", plan.links[link].name))
    })
}

/// Where a point of a plan is to the models.
pub(super) const fn position(point: Point) -> Position {
    Position {
        x_mm: point.x_mm,
        y_mm: point.y_mm,
    }
}

fn link_config(plan: &Plan, link: &Link, seed: u64) -> LinkConfig {
    match &link.kind {
        LinkKind::Cable(cable) => LinkConfig::Cable(cable_config(&link.name, cable)),
        LinkKind::Cell(cell) => LinkConfig::Cell(cell_config(plan, &link.name, cell, seed)),
        LinkKind::Wifi(ap) => LinkConfig::Wifi(wifi_config(&link.name, ap)),
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

fn wire(wire: &Wire, delay: Duration) -> links::Wire {
    links::Wire {
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

fn queue(queue: Queue) -> QueueConfig {
    QueueConfig {
        limit: match queue.limit {
            scenario::QueueLimit::Bdp => QueueLimit::Bdp,
            scenario::QueueLimit::Packets(packets) => QueueLimit::Packets(packets),
            scenario::QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes),
            scenario::QueueLimit::Time(time) => QueueLimit::Time(time),
        },
        aqm: match queue.aqm {
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
        },
    }
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
        radio: None,
        repeats: None,
    }
}

fn wifi_config(name: &str, ap: &AccessPoint) -> WifiConfig {
    WifiConfig {
        channel: ap.channel,
        standard: ap.standard,
        rate: match ap.rate {
            RateControl::Fixed(rate) => Some(rate),
            RateControl::Auto | RateControl::Aarf | RateControl::Minstrel => None,
        },
        power: ap.tx_power,
        propagation: wifi::Propagation {
            reference: ap.propagation.reference,
            exponent_centi: ap.propagation.exponent_centi,
            implementation_loss: ap.propagation.implementation_loss,
            shadowing: ap.propagation.shadowing.map(|shadowing| wifi::Shadowing {
                deviation: shadowing.deviation,
                distance_mm: shadowing.distance_mm,
            }),
            fading: ap.propagation.fading.map(|fading| wifi::Fading {
                k_factor: fading.k_factor,
                coherence: fading.coherence,
            }),
        },
        queue: queue(ap.queue),
        backhaul: wifi::Backhaul {
            down: ap.backhaul.down,
            up: ap.backhaul.up,
            delay: ap.backhaul.rtt / 2,
            queue: queue(ap.backhaul.queue),
        },
        join: wifi::Join {
            scan: ap.join.scan,
            associate: ap.join.associate,
            dhcp: ap.join.dhcp,
            ..wifi::Join::default()
        },
        ..WifiConfig::new(name, position(ap.at))
    }
}

fn wall(wall: &Wall) -> wifi::Wall {
    wifi::Wall {
        from: position(wall.from),
        to: position(wall.to),
        loss: wall.loss,
    }
}
