//! Builds the wired parts of links from their configuration.

use alloc::format;
use alloc::vec::Vec;
use units::{Duration, Ratio, Rng};

use super::cellular::Radio;
use super::holes::Holes;
use super::lane::{Lane, LaneConfig};
use super::port::Port;
use super::wires::Segment;
use crate::config::{BottleneckConfig, CableConfig, CellConfig, LinkConfig, NetworkConfig, WifiConfig, Wire};

/// The parts that all kinds of links share.
#[derive(Default)]
pub(super) struct Parts {
    /// One for each link, then one for each link of other hosts.
    pub(super) segments: Vec<Segment>,
    pub(super) ports: Vec<Port>,
    pub(super) lanes: Vec<Lane>,
}

impl Parts {
    pub(super) fn build(seed: u64, config: &NetworkConfig) -> Self {
        let mut parts = Self::default();
        for (index, shared) in config.bottlenecks.iter().enumerate() {
            parts.bottleneck(shared, longest_rtt(config, index));
        }
        for link in &config.links {
            match link {
                LinkConfig::Cable(cable) => parts.cable(seed, cable),
                LinkConfig::Cell(cell) => parts.cell(seed, cell),
                LinkConfig::Wifi(wifi) => parts.backhaul(seed, wifi),
            }
        }
        for link in config.other_links() {
            let through = usize::from(link.through.0);
            parts.share(seed, &link.host.name, through, &config.links[through]);
        }
        parts
    }

    /// Bottlenecks come first, so that their ports are at twice their index.
    fn bottleneck(&mut self, shared: &BottleneckConfig, rtt: Duration) {
        for rate in [shared.up, shared.down] {
            self.ports.push(Port::at_rate(rate, rtt, shared.queue));
        }
    }

    fn cable(&mut self, seed: u64, cable: &CableConfig) {
        let rtt = rtt(cable);
        let first = match cable.behind {
            Some(shared) => 2 * shared,
            None => {
                for wire in [cable.up, cable.down] {
                    self.ports.push(Port::at_rate(wire.rate, rtt, wire.queue));
                }
                self.ports.len() - 2
            }
        };
        self.segment(seed, &cable.name, first, cable_lanes(cable));
    }

    fn cell(&mut self, seed: u64, cell: &CellConfig) {
        let rtt = cell.up.delay + cell.down.delay;
        let first = self.ports.len();
        for lane in [&cell.up, &cell.down] {
            self.ports.push(Port::cellular(
                &lane.rate,
                rtt,
                lane.queue,
                Holes::new(&cell.holes),
            ));
        }
        self.segment(seed, &cell.name, first, cell_lanes(cell));
        self.give_radio(cell);
    }

    fn backhaul(&mut self, seed: u64, wifi: &WifiConfig) {
        let backhaul = &wifi.backhaul;
        let first = self.ports.len();
        for rate in [backhaul.up, backhaul.down] {
            self.ports
                .push(Port::at_rate(rate, backhaul.delay * 2, backhaul.queue));
        }
        self.segment(seed, &wifi.name, first, backhaul_lanes(wifi));
    }

    /// Another host's way through a link: the same bottleneck and queue, and wires alike.
    fn share(&mut self, seed: u64, host: &str, through: usize, link: &LinkConfig) {
        let lanes = match link {
            LinkConfig::Cable(cable) => cable_lanes(cable),
            LinkConfig::Cell(cell) => cell_lanes(cell),
            LinkConfig::Wifi(wifi) => backhaul_lanes(wifi),
        };
        let [first, _] = self.segments[through].ports;
        self.segment(seed, &format!("{}/{host}", link.name()), first, lanes);
        if let LinkConfig::Cell(cell) = link {
            self.give_radio(cell);
        }
    }

    /// Gives the last segment a modem of its own.
    fn give_radio(&mut self, cell: &CellConfig) {
        if let Some(segment) = self.segments.last_mut() {
            segment.radio = cell.radio.map(Radio::new);
        }
    }

    fn segment(&mut self, seed: u64, name: &str, first_port: usize, lanes: [LaneConfig; 2]) {
        for (lane, direction) in lanes.into_iter().zip(["up", "down"]) {
            self.lanes.push(Lane::new(
                lane,
                Rng::named(seed, &format!("{name}/wire-{direction}")),
            ));
        }
        self.segments.push(Segment {
            ports: [first_port, first_port + 1],
            radio: None,
        });
    }
}

fn cable_lanes(cable: &CableConfig) -> [LaneConfig; 2] {
    [cable.up, cable.down].map(|wire: Wire| LaneConfig {
        delay: wire.delay,
        jitter: wire.jitter,
        loss: wire.loss,
        repeats: None,
    })
}

fn cell_lanes(cell: &CellConfig) -> [LaneConfig; 2] {
    [&cell.up, &cell.down].map(|lane| LaneConfig {
        delay: lane.delay,
        jitter: lane.jitter,
        loss: Ratio::ZERO,
        repeats: cell.repeats,
    })
}

const fn backhaul_lanes(wifi: &WifiConfig) -> [LaneConfig; 2] {
    let lane = LaneConfig {
        delay: wifi.backhaul.delay,
        jitter: Duration::ZERO,
        loss: Ratio::ZERO,
        repeats: None,
    };
    [lane; 2]
}

fn rtt(cable: &CableConfig) -> Duration {
    cable.up.delay + cable.down.delay
}

fn longest_rtt(config: &NetworkConfig, index: usize) -> Duration {
    let behind = config.links.iter().filter_map(|link| match link {
        LinkConfig::Cable(cable) if cable.behind == Some(index) => Some(rtt(cable)),
        _ => None,
    });
    behind.max().unwrap_or_default()
}
