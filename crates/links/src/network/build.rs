//! From a description to the parts of a network.

use alloc::format;
use alloc::vec::Vec;
use units::{Duration, Ratio, Rng};

use super::wireless::Wireless;
use super::{Kind, Link};
use crate::ConfigError;
use crate::config::{BottleneckConfig, CableConfig, CellConfig, LinkConfig, NetworkConfig, Wire};
use crate::pipe::cellular::Radio;
use crate::pipe::holes::Holes;
use crate::pipe::lane::{Lane, LaneConfig};
use crate::pipe::port::Port;
use crate::wifi::WifiConfig;

/// The parts that every kind of link is made of.
pub(crate) struct Parts {
    pub(crate) links: Vec<Link>,
    pub(crate) ports: Vec<Port>,
    pub(crate) lanes: Vec<Lane>,
    /// Access points so far.
    access_points: usize,
    pub(crate) wireless: Wireless,
}

impl Parts {
    pub(crate) fn build(seed: u64, config: &NetworkConfig) -> Result<Self, ConfigError> {
        let mut parts = Self {
            links: Vec::new(),
            ports: Vec::new(),
            lanes: Vec::new(),
            access_points: 0,
            wireless: Wireless::new(seed, config)?,
        };
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
        Ok(parts)
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
        let lane = |wire: Wire| LaneConfig {
            delay: wire.delay,
            jitter: wire.jitter,
            loss: wire.loss,
            repeats: None,
        };
        self.link(
            seed,
            &cable.name,
            first,
            [lane(cable.up), lane(cable.down)],
            Kind::Wired { down: false },
        );
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
        let lanes = [&cell.up, &cell.down].map(|lane| LaneConfig {
            delay: lane.delay,
            jitter: lane.jitter,
            loss: Ratio::ZERO,
            repeats: cell.repeats,
        });
        self.link(seed, &cell.name, first, lanes, Kind::Wired { down: false });
        if let Some(link) = self.links.last_mut() {
            link.radio = cell.radio.map(Radio::new);
        }
    }

    fn backhaul(&mut self, seed: u64, wifi: &WifiConfig) {
        let backhaul = &wifi.backhaul;
        let first = self.ports.len();
        for rate in [backhaul.up, backhaul.down] {
            self.ports
                .push(Port::at_rate(rate, backhaul.delay * 2, backhaul.queue));
        }
        let lane = LaneConfig {
            delay: backhaul.delay,
            jitter: Duration::ZERO,
            loss: Ratio::ZERO,
            repeats: None,
        };
        let bss = self.access_points;
        self.access_points += 1;
        self.link(seed, &wifi.name, first, [lane; 2], Kind::Wifi(bss));
    }

    fn link(&mut self, seed: u64, name: &str, first_port: usize, lanes: [LaneConfig; 2], kind: Kind) {
        for (lane, direction) in lanes.into_iter().zip(["up", "down"]) {
            self.lanes.push(Lane::new(
                lane,
                Rng::named(seed, &format!("{name}/wire-{direction}")),
            ));
        }
        self.links.push(Link {
            ports: [first_port, first_port + 1],
            kind,
            radio: None,
            blackhole: false,
        });
    }
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
