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
use super::scan::{REFRESHES, audible};
use crate::nl80211::{Frequency, VisitError};
use crate::wifi::point::Point;
use crate::wifi::view::Stage;
use policy::Role;
use policy::reach::{self, Audible};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use units::{Db, Dbm};

/// How long one lasts. The trial `scan-cost` measures what it costs.
const LASTS: Duration = Duration::from_millis(30);
/// Time until the last answers are in the kernel's list.
const ANSWERS: Duration = Duration::from_millis(30);
/// Shortest and longest pause between two visits. The shortest is longer than a second, so that two answers
/// in a row count as two: lists have ages in whole seconds.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1_200), Duration::from_secs(16));
/// A host has moved if the signal has changed by this much.
const CHANGES: Db = Db::from_db(3);
/// Pause after the driver has refused one.
const REFUSED: Duration = Duration::from_secs(60);
/// The channels of 2.4 GHz that do not overlap, by frequency in MHz.
const APART: [u32; 3] = [2_412, 2_437, 2_462];
/// The band of 5 GHz. In 6 GHz, stations do not ask each channel.
const FIVE_GHZ: std::ops::Range<u32> = 5_000..5_925;

/// Which channels were visited, and which come next.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Number of visits to `known` channels, and to others.
    turns: [usize; 2],
    /// Where access points of named networks were heard, by frequency in MHz.
    known: BTreeSet<u32>,
    /// The last one was to a `known` channel.
    was_known: bool,
    pace: Pace,
    /// Before this, none begins.
    rests_until: Option<Instant>,
    /// The log has the driver's refusal.
    is_logged: bool,
    /// One has begun, and its answers come with the next scan.
    pub(super) awaited: bool,
}

/// The pause between two visits: short after the host has moved, longer each time while it has not.
#[derive(Debug, Default)]
struct Pace {
    pause: Duration,
    signal: Option<Dbm>,
}

impl Pace {
    /// `signal`: that of the best access point in use.
    fn next(&mut self, signal: Dbm) -> Duration {
        let has_moved = |before: Dbm| signal - before >= CHANGES || before - signal >= CHANGES;
        if self.signal.is_none_or(has_moved) {
            (self.pause, self.signal) = (PAUSES.0, Some(signal));
        } else {
            self.pause = (self.pause * 5 / 4).min(PAUSES.1);
        }
        self.pause
    }
}

impl Visits {
    /// An access point of a named network was heard.
    pub(super) fn hear(&mut self, mhz: u32) {
        self.known.insert(mhz);
    }

    /// Where access points of named networks were heard, by frequency in MHz.
    pub(super) const fn known(&self) -> &BTreeSet<u32> {
        &self.known
    }

    /// Time until the next one may begin.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        let rest = |until: Instant| until.saturating_duration_since(now);
        self.rests_until.map_or(PAUSES.0, rest)
    }

    /// The frequency in MHz to visit next, of those that a radio may use. Every second one has an access
    /// point of a named network, if any has.
    fn next(&mut self, all: &[Frequency], used: &BTreeSet<u32>) -> Option<u32> {
        let may_ask = |one: &&Frequency| !one.disabled && !one.listen_first && !one.radar;
        let elsewhere = all.iter().filter(may_ask).map(|one| one.mhz);
        let elsewhere = elsewhere.filter(|mhz| !used.contains(mhz));
        let (known, mut others): (Vec<u32>, Vec<u32>) = elsewhere.partition(|mhz| self.known.contains(mhz));
        others.retain(|mhz| APART.contains(mhz) || FIVE_GHZ.contains(mhz));
        self.was_known = others.is_empty() || !known.is_empty() && !self.was_known;
        let (list, turn) = match self.was_known {
            true => (known, &mut self.turns[0]),
            false => (others, &mut self.turns[1]),
        };
        *turn += 1;
        list.get(*turn % list.len().max(1)).copied()
    }

    /// The driver has refused one.
    fn refused(&mut self, now: Instant, error: &VisitError) {
        if !self.is_logged {
            tracing::info!("no visits to other channels: {}", in_words(error));
        }
        (self.is_logged, self.rests_until) = (true, Some(now + REFUSED));
    }
}

impl Worker {
    /// Begins a visit to another channel if it is time for one. Returns when its answers are there.
    pub(super) fn visit(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_weak() {
            (self.scan.visits.pace, self.scan.visits.rests_until) = (Pace::default(), None);
            return None;
        }
        let rests = self.scan.visits.rests_until.is_some_and(|until| now < until);
        if rests || self.points.values().any(is_joining) {
            return None;
        }
        let promising = self.promising(now);
        match self.begin_visit(promising) {
            Ok(0) => {
                self.scan.visits.rests_until = Some(now + REFRESHES);
                None
            }
            Ok(count) => {
                let signal = best(self.points.values());
                let pause = signal.map(|signal| self.scan.visits.pace.next(signal));
                let pause = promising.map(|_| PAUSES.0).or(pause);
                self.scan.visits.rests_until = pause.map(|pause| now + pause);
                Some(now + LASTS * count + ANSWERS)
            }
            Err(error) => {
                self.scan.visits.refused(now, &error);
                None
            }
        }
    }

    /// Whether the role of an access point allows to leave what is joined for it.
    pub(super) fn is_worth_a_move(&self, point: &Point) -> bool {
        let role = |point: &Point| self.network(point).role;
        let mut joined = self.points.values().filter(|point| point.station.is_some());
        match role(point) {
            Role::Primary => true,
            Role::Never => false,
            Role::Secondary | Role::Backup => joined.all(|point| role(point) != Role::Primary),
        }
    }

    /// The frequency in MHz of an access point on another channel that is much better than all in use, by one
    /// answer. It needs another one.
    fn promising(&self, now: Instant) -> Option<u32> {
        let best = best(self.points.values())?;
        let is_used = |mhz: u32| {
            let mut others = self.points.values();
            others.any(|other| other.station.is_some() && other.bss.mhz == mhz)
        };
        let is_it = |point: &&Point| {
            let is_free = point.is_news(now) && self.is_worth_a_move(point) && !is_used(point.bss.mhz);
            is_free && reach::is_much_better(point.bss.signal, best)
        };
        Some(self.points.values().find(is_it)?.bss.mhz)
    }

    /// Whether everything joined is weak.
    pub(super) fn is_weak(&self) -> bool {
        let joined = self.points.values().filter(|point| point.station.is_some());
        let audible: Vec<Audible> = joined.filter_map(|point| audible(point, None)).collect();
        reach::is_weak(&audible)
    }

    /// Asks for all networks, then for one that is hidden. Returns how often it has asked.
    fn begin_visit(&mut self, promising: Option<u32>) -> Result<u32, VisitError> {
        let stations = self.points.values();
        let joined = stations.filter_map(|point| Some((point.station.as_ref()?, point.bss.mhz)));
        let joined = Vec::from_iter(joined.filter(|(station, _)| is_joined(station)));
        let (Some((station, _)), Some(means)) = (joined.first(), &mut self.means) else {
            return Ok(0);
        };
        let used: BTreeSet<u32> = joined.iter().map(|(_, mhz)| *mhz).collect();
        // What others hold cannot be left, and nothing elsewhere could be joined.
        let bound = means
            .radio
            .bound_to((&mut means.kernel, &mut means.rtnl), &self.plan.names);
        let frequencies = means.radio.frequencies(&mut means.kernel);
        let (Ok(None), Ok(frequencies)) = (bound, frequencies) else {
            return Ok(0);
        };
        let visits = &mut self.scan.visits;
        let next = || visits.next(&frequencies, &used);
        let Some(mhz) = promising.or_else(next) else {
            return Ok(0);
        };
        let networks = self.plan.setup.networks.iter().filter(|network| network.hidden);
        let hidden = Vec::from_iter(networks.map(|network| network.ssid.as_bytes()));
        let turn = visits.turns.iter().sum::<usize>();
        let one = hidden.get(turn % hidden.len().max(1)).copied();
        let mut count = 0;
        for ssid in std::iter::once(&b""[..]).chain(one) {
            let whose = (station.ifindex, station.mac);
            means.kernel.visit(whose, (mhz, LASTS), ssid)?;
            count += 1;
        }
        Ok(count)
    }
}

/// Signal of the best access point in use.
fn best<'p>(points: impl Iterator<Item = &'p Point>) -> Option<Dbm> {
    let joined = points.filter(|point| point.station.is_some());
    joined.map(|point| point.bss.signal).max()
}

fn is_joining(point: &Point) -> bool {
    let station = point.station.as_ref();
    station.is_some_and(|station| station.stage == Stage::Joining)
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
        let all = [2_412, 2_417, 2_437, 2_462, 5_180, 5_955].map(allowed);
        let turns = visited(&mut Visits::default(), &all, 2_437);
        assert_eq!(turns, [2_462, 5_180, 2_412, 2_462, 5_180, 2_412]);
    }

    #[test]
    fn every_second_visit_goes_where_a_named_network_was_heard() {
        let all = [2_412, 2_417, 2_437, 2_462].map(allowed);
        let mut visits = Visits::default();
        assert_eq!(visited(&mut visits, &all, 2_437).len(), 6, "none is known yet");
        visits.hear(2_417);
        visits.hear(2_437);
        let turns = visited(&mut visits, &all, 2_437);
        assert_eq!(turns, [2_417, 2_462, 2_417, 2_412, 2_417, 2_462]);
    }

    #[test]
    fn channels_on_which_the_host_may_not_send_are_not_visited() {
        let mut all = [2_412, 2_437, 2_462, 5_260].map(allowed);
        (all[0].disabled, all[1].listen_first, all[3].radar) = (true, true, true);
        assert_eq!(visited(&mut Visits::default(), &all, 2_462), [0; 0]);
    }

    #[test]
    fn pauses_grow_while_the_host_does_not_move() {
        let mut pace = Pace::default();
        let mut pauses = |dbm: i32, times| {
            let all = (0..times).map(|_| pace.next(Dbm::from_dbm(dbm)).as_millis());
            Vec::from_iter(all)
        };
        assert_eq!(pauses(-75, 3), [1_200, 1_500, 1_875]);
        assert_eq!(pauses(-77, 20).last(), Some(&16_000));
        assert_eq!(pauses(-78, 2), [1_200, 1_500], "it has moved");
    }

    #[test]
    fn a_refused_visit_is_tried_again_after_a_minute() {
        let now = Instant::now();
        let mut visits = Visits::default();
        assert_eq!(visits.rest(now), PAUSES.0);
        let source = crate::netlink::RequestError::NoAnswer { seconds: 2 };
        visits.refused(now, &VisitError { mhz: 2_412, source });
        assert_eq!(visits.rest(now), REFUSED);
    }
}
