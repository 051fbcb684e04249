//! What has been counted so far in a run of datagrams alone, so that the warm-up can be subtracted.

use links::air::{Counters, Medium as _, StationId};
use units::Duration;

use super::cast::Cast;
use super::medium::Media;
use crate::World;
use crate::traffic::Tally;

/// Counters of everything.
#[derive(Debug)]
pub(super) struct Totals {
    /// Per station.
    pub(super) stations: Vec<Counters>,
    /// Beacons per station.
    pub(super) beacons: Vec<u64>,
    /// Each channel, and for how long there were frames on it.
    pub(super) channels: Vec<(u8, Duration)>,
    /// Per wire.
    pub(super) wires: Vec<links::Counters>,
    /// Per flow.
    pub(super) tallies: Vec<Tally>,
}

impl Totals {
    /// Those up to now.
    pub(super) fn of(cast: &Cast, world: &World<Media>) -> Self {
        let medium = world.medium();
        let stations = || (0..cast.air.stations.len() as u32).map(StationId);
        let wires = 0..cast.wires.len();
        Self {
            stations: stations().map(|station| medium.counters(station)).collect(),
            beacons: stations().map(|station| medium.air.beacons(station)).collect(),
            channels: medium.air.channels().collect(),
            wires: wires.filter_map(|wire| medium.wire(wire)).collect(),
            tallies: world.tallies().to_vec(),
        }
    }

    /// What was counted after `earlier`, in the same run.
    pub(super) fn since(self, earlier: &Self) -> Self {
        let stations = self.stations.iter().zip(&earlier.stations);
        let beacons = self.beacons.iter().zip(&earlier.beacons);
        let channels = self.channels.iter().zip(&earlier.channels);
        let wires = self.wires.iter().zip(&earlier.wires);
        let tallies = self.tallies.iter().zip(&earlier.tallies);
        Self {
            stations: stations.map(|(now, then)| now.since(then)).collect(),
            beacons: beacons.map(|(now, then)| now - then).collect(),
            channels: channels
                .map(|(&(channel, now), &(_, then))| (channel, now.saturating_sub(then)))
                .collect(),
            wires: wires.map(|(now, then)| now.since(then)).collect(),
            tallies: tallies.map(|(now, then)| now.since(*then)).collect(),
        }
    }
}
