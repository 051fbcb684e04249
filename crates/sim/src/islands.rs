//! Runs a network as independent parts: the stations of one channel, and those that may tune to it, form a
//! world of their own.
//!
//! Stations on different channels never hear each other, however near they are, and share only the clock.
//! Each part runs to its end by itself. Its memory stays in the caches, and the parts run in parallel on all
//! cores. The result is that of one [`World`] with all stations, bit by bit for each station: random streams
//! are named after stations and not numbered.
//!
//! # Where we differ, and why
//! 1. The network takes no input while it runs ([`World::handle`]), and has no monitors. Stations related by
//!    more than channels and flows, such as a host with several radios, need one [`World`].
//!
//! # Checked by
//! `tests/networks.rs`: the same tallies and counters as in one world, for any number of cores.

use core::num::NonZeroUsize;

use links::air::{AirConfig, AirError, Counters, Destination, StationId};
use units::Duration;

use crate::World;
use crate::sweep::sweep_mut;
use crate::traffic::{Flow, Tally};

/// A network split into the parts given by its channels.
#[derive(Debug)]
pub struct Islands {
    worlds: Vec<World>,
    stations: Vec<Place>,
    flows: Vec<Place>,
    cores: NonZeroUsize,
}

/// World of a station or flow, and its number in that world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    world: usize,
    number: usize,
}

impl Islands {
    /// A network at its start with its flows, to run on `cores` threads.
    ///
    /// # Errors
    /// As [`World::new`], checked for the network as a whole.
    ///
    /// # Panics
    /// If a flow is from or to a station that does not exist.
    pub fn new(seed: u64, air: &AirConfig, flows: &[Flow], cores: NonZeroUsize) -> Result<Self, AirError> {
        air.check()?;
        let groups = Groups::of(air, flows);
        let islands = groups.islands(air);
        let of_stations: Vec<usize> = air
            .stations
            .iter()
            .map(|station| groups.island(&islands, station.channel))
            .collect();
        let stations = places(&of_stations);
        let from = |flow: &Flow| of_stations[flow.from.0 as usize];
        let worlds = (0..islands.len())
            .map(|island| {
                let part = part_of(air, |channel| groups.island(&islands, channel) == island);
                let own = flows.iter().filter(|flow| from(flow) == island);
                World::new(seed, &part, own.map(|flow| renumbered(flow, &stations)).collect())
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            worlds,
            stations,
            flows: places(&flows.iter().map(from).collect::<Vec<_>>()),
            cores,
        })
    }

    /// Number of independent parts.
    pub const fn count(&self) -> usize {
        self.worlds.len()
    }

    /// Runs for `time`.
    pub fn run_for(&mut self, time: Duration) {
        sweep_mut(&mut self.worlds, self.cores, |world| world.run_for(time));
    }

    /// Results of each flow so far.
    pub fn tallies(&self) -> impl Iterator<Item = Tally> {
        self.flows
            .iter()
            .map(|place| self.worlds[place.world].tallies()[place.number])
    }

    /// Counters of a station since the start.
    pub fn counters(&self, station: StationId) -> Counters {
        let Place { world, number } = self.stations[station.0 as usize];
        self.worlds[world].air().counters(StationId(number as u32))
    }

    /// Number of frames whose transmission has begun.
    pub fn transmissions(&self) -> u64 {
        self.worlds.iter().map(|world| world.air().transmissions()).sum()
    }
}

/// Union-find over channels: each entry is another channel of its group, or the channel itself if it is the
/// group's first.
struct Groups([u8; 256]);

impl Groups {
    /// Joins the channels that a radio may tune to with its own, and the channels at the two ends of a flow.
    fn of(air: &AirConfig, flows: &[Flow]) -> Self {
        let mut groups = Self(core::array::from_fn(|channel| channel as u8));
        for station in &air.stations {
            station
                .also
                .iter()
                .for_each(|&also| groups.join(station.channel, also));
        }
        let channel = |id: StationId| air.stations[id.0 as usize].channel;
        for flow in flows {
            if let Destination::Station(to) = flow.to {
                groups.join(channel(flow.from), channel(to));
            }
        }
        groups
    }

    fn join(&mut self, one: u8, other: u8) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[usize::from(one.max(other))] = one.min(other);
    }

    fn first(&self, channel: u8) -> u8 {
        match self.0[usize::from(channel)] {
            before if before == channel => channel,
            before => self.first(before),
        }
    }

    /// First channel of each group that has stations, in order.
    fn islands(&self, air: &AirConfig) -> Vec<u8> {
        let mut firsts: Vec<u8> = air
            .stations
            .iter()
            .map(|station| self.first(station.channel))
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }

    /// Index of a channel's island. Past the end if the channel has no stations.
    fn island(&self, islands: &[u8], channel: u8) -> usize {
        islands
            .binary_search(&self.first(channel))
            .unwrap_or(islands.len())
    }
}

/// The part of a network on the channels that `is_here` selects.
fn part_of(air: &AirConfig, is_here: impl Fn(u8) -> bool) -> AirConfig {
    AirConfig {
        stations: air
            .stations
            .iter()
            .filter(|station| is_here(station.channel))
            .cloned()
            .collect(),
        propagation: air.propagation,
        walls: air.walls.clone(),
        noise: air
            .noise
            .iter()
            .filter(|noise| is_here(noise.channel))
            .cloned()
            .collect(),
        rules: air.rules,
        losses: air.losses.clone(),
    }
}

/// Number of each item within its world, in the original order.
fn places(worlds: &[usize]) -> Vec<Place> {
    let mut next = vec![0; worlds.iter().max().map_or(0, |last| last + 1)];
    let place = |&world: &usize| {
        let number = next[world];
        next[world] += 1;
        Place { world, number }
    };
    worlds.iter().map(place).collect()
}

fn renumbered(flow: &Flow, stations: &[Place]) -> Flow {
    let number = |id: StationId| StationId(stations[id.0 as usize].number as u32);
    Flow {
        from: number(flow.from),
        to: match flow.to {
            Destination::Station(to) => Destination::Station(number(to)),
            everyone => everyone,
        },
        ..*flow
    }
}
