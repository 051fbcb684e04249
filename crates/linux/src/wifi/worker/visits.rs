//! Visits to other channels while something is joined, so that a better access point is known before the
//! present ones are lost.
//!
//! A station announces a sleep and asks on another channel who is there. Its access point keeps what comes
//! for it, so nothing is lost. The answers are in the kernel's list, which `wpa_supplicant` reads with its
//! next scan of the channel in use.
//!
//! # Where we differ, and why
//! 1. A visit delays packets by its duration. So there is one only while everything joined is weak.
//! 2. Channels are visited only where the host may send: a beacon is rarely heard within a visit.
//!
//! # Checked by
//! `tests`; the trial `joins-moves` of `guest`.

use super::Worker;
use super::associate::in_words;
use super::channels::is_joined;
use super::scan::{MOST_NAMES, audible};
use crate::nl80211::{Frequency, VisitError};
use crate::wifi::point::{Point, Station};
use policy::reach::{self, Audible};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long one lasts. The trial `scan-cost` measures what it costs.
const LASTS: Duration = Duration::from_millis(30);
/// Time until the last answers are in the kernel's list.
const ANSWERS: Duration = Duration::from_millis(30);
/// Pause between two visits.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// The channels of 2.4 GHz that do not overlap, by frequency in MHz.
const APART: [u32; 3] = [2_412, 2_437, 2_462];

/// Which channels were visited, and which come next.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Visits to `known` channels, and to others.
    turns: [usize; 2],
    /// Where access points of named networks were heard, by frequency in MHz.
    known: BTreeSet<u32>,
    /// The driver does not leave its channel.
    refused: bool,
    /// One has begun, and its answers come with the next scan.
    pub(super) awaited: bool,
}

impl Visits {
    /// An access point of a named network was heard.
    pub(super) fn hear(&mut self, mhz: u32) {
        self.known.insert(mhz);
    }

    /// The frequency in MHz to visit next, of those that a radio may use. Every second one has an access
    /// point of a named network, if any has.
    fn next(&mut self, all: &[Frequency], used: &BTreeSet<u32>) -> Option<u32> {
        let may_ask = |one: &&Frequency| !one.disabled && !one.listen_first && !one.radar;
        let elsewhere = all.iter().filter(may_ask).map(|one| one.mhz);
        let elsewhere = Vec::from_iter(elsewhere.filter(|mhz| !used.contains(mhz)));
        let (known, others): (Vec<u32>, Vec<u32>) =
            elsewhere.into_iter().partition(|mhz| self.known.contains(mhz));
        let others = Vec::from_iter(
            others
                .into_iter()
                .filter(|mhz| *mhz > 5_000 || APART.contains(mhz)),
        );
        let is_other = known.is_empty() || !others.is_empty() && self.turns[0] > self.turns[1];
        let (list, turn) = match is_other {
            true => (others, &mut self.turns[1]),
            false => (known, &mut self.turns[0]),
        };
        *turn += 1;
        list.get((*turn - 1) % list.len().max(1)).copied()
    }
}

impl Worker {
    /// Begins a visit to another channel if it is time for one. Returns until when its answers come.
    pub(super) fn visit(&mut self, now: Instant) -> Option<Instant> {
        let visits = &self.scan.visits;
        if visits.refused || !self.is_weak() || self.points.values().any(is_joining) {
            return None;
        }
        match self.begin_visit() {
            Ok(0) => None,
            Ok(count) => Some(now + LASTS * count + ANSWERS),
            Err(error) => {
                tracing::info!("no visits to other channels: {}", in_words(&error));
                self.scan.visits.refused = true;
                None
            }
        }
    }

    /// Whether everything joined is weak.
    pub(super) fn is_weak(&self) -> bool {
        let joined = self.points.values().filter(|point| point.station.is_some());
        let audible: Vec<Audible> = joined.filter_map(|point| audible(point, true)).collect();
        reach::is_weak(&audible)
    }

    /// Asks for all networks, then for each hidden one. Returns how often it has asked.
    fn begin_visit(&mut self) -> Result<u32, VisitError> {
        let stations = self.points.values();
        let joined = stations.filter_map(|point| Some((point.station.as_ref()?, point.bss.mhz)));
        let joined = Vec::from_iter(joined.filter(|(station, _)| is_joined(station)));
        let (Some((station, _)), Some(means)) = (joined.first(), &mut self.means) else {
            return Ok(0);
        };
        let used: BTreeSet<u32> = joined.iter().map(|(_, mhz)| *mhz).collect();
        // What others hold cannot be left, and nothing elsewhere could be joined.
        let bound = means.radio.bound_to(&mut means.kernel, &self.plan.names);
        let frequencies = means.radio.frequencies(&mut means.kernel);
        let (Ok(None), Ok(frequencies)) = (bound, frequencies) else {
            return Ok(0);
        };
        let Some(mhz) = self.scan.visits.next(&frequencies, &used) else {
            return Ok(0);
        };
        let networks = self.plan.setup.networks.iter().filter(|network| network.hidden);
        let hidden = networks.map(|network| network.ssid.as_bytes()).take(MOST_NAMES);
        let mut count = 0;
        for ssid in std::iter::once(&b""[..]).chain(hidden) {
            let whose = (station.ifindex, station.mac);
            means.kernel.visit(whose, (mhz, LASTS), ssid)?;
            count += 1;
        }
        Ok(count)
    }
}

fn is_joining(point: &Point) -> bool {
    let station: Option<&Station> = point.station.as_ref();
    station.is_some_and(|station| !is_joined(station))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(mhz: u32) -> Frequency {
        Frequency {
            mhz,
            disabled: false,
            listen_first: false,
            radar: false,
        }
    }

    fn visited(visits: &mut Visits, all: &[Frequency], used: u32) -> Vec<u32> {
        let used = BTreeSet::from([used]);
        let next = || visits.next(all, &used);
        Vec::from_iter(std::iter::from_fn(next).take(6))
    }

    #[test]
    fn channels_that_do_not_overlap_are_visited_in_turn() {
        let all = [2_412, 2_417, 2_437, 2_462, 5_180].map(allowed);
        let turns = visited(&mut Visits::default(), &all, 2_437);
        assert_eq!(turns, [2_412, 2_462, 5_180, 2_412, 2_462, 5_180]);
    }

    #[test]
    fn every_second_visit_goes_where_a_named_network_was_heard() {
        let all = [2_412, 2_417, 2_437, 2_462].map(allowed);
        let mut visits = Visits::default();
        visits.hear(2_417);
        visits.hear(2_437);
        let turns = visited(&mut visits, &all, 2_437);
        assert_eq!(turns, [2_417, 2_412, 2_417, 2_462, 2_417, 2_412]);
    }

    #[test]
    fn channels_on_which_the_host_may_not_send_are_not_visited() {
        let mut all = [2_412, 2_437, 2_462, 5_260].map(allowed);
        (all[0].disabled, all[1].listen_first, all[3].radar) = (true, true, true);
        assert_eq!(visited(&mut Visits::default(), &all, 2_462), [0; 0]);
    }
}
