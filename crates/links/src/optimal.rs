//! Upper limit of what a plan's links can carry at one moment: the reference `optimal_mbps`.
//!
//! The limit is a sum. For each channel, it has the largest TCP goodput that any one of its access points
//! could carry alone. It adds what each cell and each cable could carry. It depends on the configuration and
//! the client's position, not on a run. `optimal_mbps` is its mean over a run, sampled every 100 ms.
//!
//! # Where we differ, and why
//! 1. Shadowing and fading are random in a run, so the limit ignores them.
//! 2. Both directions of a WiFi link use the SNR of the data direction.
//! 3. Rates are those before 802.11n, even for access points that have it (`ht`). With aggregation they carry
//!    more than this limit.
//!
//! A flow of datagrams uses one link: [`Stream`] gives the largest rate of payload that this link could
//! carry.
//!
//! # Checked by
//! `optimal_tests`: one link of each kind by hand, and their sum.

use alloc::collections::BTreeMap;
use units::{Bitrate, Bytes, Db, Duration, Instant};

use crate::config::{CableConfig, CellConfig, CellRate, LinkConfig, Medium, NetworkConfig};
use crate::pipe::holes::Holes;
use crate::pipe::opportunities::{OPPORTUNITY, Opportunities};
use crate::wifi::{Radio, Wall, WifiConfig, datagrams, goodput};
use crate::{Direction, Position};

/// Headers of IPv4 and UDP.
const DATAGRAM_HEADERS: u64 = 28;
/// Payload of a full TCP packet with timestamps.
const TCP_PAYLOAD: u64 = 1_448;

/// A stream of datagrams over one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Index of the link.
    pub link: usize,
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Payload of one.
    pub payload: Bytes,
}

/// What several streams share, so that only the fastest of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// An 802.11 channel, in both directions.
    Channel(u8),
    /// A bottleneck behind which there are several cables, upwards or not.
    Bottleneck(usize, bool),
    /// The link alone, upwards or not.
    Link(usize, bool),
}

impl Stream {
    /// What the stream shares with other streams.
    pub fn shares(self, config: &NetworkConfig) -> Shared {
        let up = self.direction == Direction::Up;
        match &config.links[self.link] {
            LinkConfig::Wifi(wifi) => Shared::Channel(wifi.channel),
            LinkConfig::Cable(CableConfig {
                behind: Some(bottleneck),
                ..
            }) => Shared::Bottleneck(*bottleneck, up),
            LinkConfig::Cable(_) | LinkConfig::Cell(_) => Shared::Link(self.link, up),
        }
    }

    /// Largest rate of payload that its link could carry alone at `at`, with the walker's radio there.
    pub fn optimal(self, config: &NetworkConfig, at: Instant, radio: Radio, condition: Condition) -> Bitrate {
        if condition.gone {
            return Bitrate::ZERO;
        }
        let direction = self.direction;
        let changed = |rate: Bitrate| condition.rate.unwrap_or(rate);
        match &config.links[self.link] {
            LinkConfig::Wifi(wifi) => {
                let snr = condition.snr(wifi, direction, (radio, &config.walls));
                let packet = (self.payload.get() + DATAGRAM_HEADERS) as u32;
                let air = datagrams(wifi.standard, wifi.rate, snr, (self.payload, packet));
                air.min(self.payload_of(changed(pick(direction, wifi.backhaul.up, wifi.backhaul.down))))
            }
            LinkConfig::Cable(CableConfig {
                behind: Some(bottleneck),
                ..
            }) => {
                let rates = &config.bottlenecks[*bottleneck];
                self.payload_of(changed(pick(direction, rates.up, rates.down)))
            }
            LinkConfig::Cable(cable) => {
                self.payload_of(changed(pick(direction, cable.up.rate, cable.down.rate)))
            }
            LinkConfig::Cell(cell) => self.payload_of(over_the_cell(cell, direction, at, condition)),
        }
    }

    /// Share of its payload in packets.
    fn payload_of(self, rate: Bitrate) -> Bitrate {
        let payload = u128::from(self.payload.get());
        let packet = payload + u128::from(DATAGRAM_HEADERS);
        Bitrate::from_bps((u128::from(rate.as_bps()) * payload / packet) as u64)
    }
}

/// Faults of a link at the given time, and where its access point is. The default is a link without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Condition {
    /// Whether the link carries nothing, because it is down or silently drops everything.
    pub gone: bool,
    /// Extra attenuation of a WiFi link.
    pub attenuation: Db,
    /// A new rate of the bottleneck (or the backhaul), in the direction of the data.
    pub rate: Option<Bitrate>,
    /// Where its access point is, if somebody carries it.
    pub place: Option<Position>,
}

impl Condition {
    fn snr(self, wifi: &WifiConfig, direction: Direction, (radio, walls): (Radio, &[Wall])) -> Db {
        let there = self.place.unwrap_or(wifi.position);
        wifi.snr_from(there, direction, radio, walls) - self.attenuation
    }
}

/// Largest TCP goodput that all links together could carry at `at` in `direction`, with the client's radio at
/// `position`. `conditions` has the faults of the links, in their order. Links beyond its end have no faults.
pub fn optimal(
    config: &NetworkConfig,
    direction: Direction,
    at: Instant,
    position: Position,
    conditions: &[Condition],
) -> Bitrate {
    let radio = Radio {
        position,
        ..config.radio
    };
    let mut sum = Bitrate::ZERO;
    let mut channels = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for (index, link) in config.links.iter().enumerate() {
        let condition = conditions.get(index).copied().unwrap_or_default();
        if condition.gone {
            continue;
        }
        match link {
            LinkConfig::Wifi(wifi) => {
                let alone = over_the_air(config, wifi, direction, radio, condition);
                let best = channels.entry(wifi.channel).or_insert(alone);
                *best = alone.max(*best);
            }
            LinkConfig::Cable(CableConfig {
                behind: Some(bottleneck),
                ..
            }) => {
                let rates = &config.bottlenecks[*bottleneck];
                let rate = condition.rate.unwrap_or(pick(direction, rates.up, rates.down));
                shared.insert(*bottleneck, payload(rate));
            }
            LinkConfig::Cable(cable) => {
                sum = sum
                    + payload(
                        condition
                            .rate
                            .unwrap_or(pick(direction, cable.up.rate, cable.down.rate)),
                    );
            }
            LinkConfig::Cell(cell) => sum = sum + payload(over_the_cell(cell, direction, at, condition)),
        }
    }
    channels
        .into_values()
        .chain(shared.into_values())
        .fold(sum, |sum, rate| sum + rate)
}

fn pick<T>(direction: Direction, up: T, down: T) -> T {
    match direction {
        Direction::Up => up,
        Direction::Down => down,
    }
}

/// Share of TCP payload in full packets.
fn payload(rate: Bitrate) -> Bitrate {
    Bitrate::from_bps((u128::from(rate.as_bps()) * u128::from(TCP_PAYLOAD) / 1_500) as u64)
}

fn over_the_air(
    config: &NetworkConfig,
    wifi: &WifiConfig,
    direction: Direction,
    radio: Radio,
    condition: Condition,
) -> Bitrate {
    if config.medium == Medium::Weighted {
        return turns(wifi, direction).min(payload(backhaul_rate(wifi, direction, condition)));
    }
    let snr = condition.snr(wifi, direction, (radio, &config.walls));
    let backhaul = backhaul_rate(wifi, direction, condition);
    goodput(wifi.standard, wifi.rate, snr).min(payload(backhaul))
}

fn backhaul_rate(wifi: &WifiConfig, direction: Direction, condition: Condition) -> Bitrate {
    condition
        .rate
        .unwrap_or(pick(direction, wifi.backhaul.up, wifi.backhaul.down))
}

/// Goodput of an access point on the weighted medium that always has a packet to send. Packets of the client
/// need no air.
fn turns(wifi: &WifiConfig, direction: Direction) -> Bitrate {
    match (wifi.turn, direction) {
        (Some(turn), Direction::Down) => Bytes::new(TCP_PAYLOAD).per(turn.packet),
        _ => Bitrate::from_bps(u64::MAX),
    }
}

/// Mean rate over the second that begins at `at`.
fn over_the_cell(cell: &CellConfig, direction: Direction, at: Instant, condition: Condition) -> Bitrate {
    const SECOND: Duration = Duration::from_secs(1);
    let holes = Holes::new(&cell.holes);
    match &pick(direction, &cell.up, &cell.down).rate {
        CellRate::Constant(rate) => {
            (condition.rate.unwrap_or(*rate) * holes.worked(at, at + SECOND)).per(SECOND)
        }
        CellRate::Trace(times) => {
            let mut opportunities = Opportunities::new(times);
            opportunities.skip_to(at);
            let mut bytes = Bytes::ZERO;
            while opportunities.at() < at + SECOND {
                if holes.out_of(opportunities.at()) == opportunities.at() {
                    bytes += Bytes::new(OPPORTUNITY.into());
                }
                opportunities.advance();
            }
            bytes.per(SECOND)
        }
    }
}

#[cfg(test)]
#[path = "optimal_tests.rs"]
mod tests;
