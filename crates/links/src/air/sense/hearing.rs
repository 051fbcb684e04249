//! Who senses whom: for every station, which others notice when it transmits.
//!
//! Stations of one cell have consecutive numbers. Listeners are kept as bits, from the first of them on. If
//! they are farther apart, they are kept as runs of consecutive numbers.
//!
//! # Checked by
//! `tests`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use core::slice;

use super::clique::Reach;
use crate::Position;
use crate::air::place::circle::Circle;

/// Stations with consecutive numbers.
pub(super) type Run = Range<u32>;

/// How strongly a transmission is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) enum Strength {
    /// Too weak to be noticed.
    Unheard,
    /// Its preamble can be found, but its energy alone does not make the medium busy.
    Faint,
    /// Its energy alone makes the medium busy.
    Loud,
}

/// Who hears one station.
#[derive(Debug, Clone)]
pub(in crate::air) struct Audience {
    pub(in crate::air) loud: Listeners,
    pub(super) faint: Listeners,
    /// The lowest power at which any of them receives it, in mW.
    pub(in crate::air) weakest: f64,
    /// A circle around them.
    pub(in crate::air) circle: Circle,
    /// The cliques among them.
    pub(in crate::air) reach: Option<Box<Reach>>,
}

impl Audience {
    /// Collects the audience of one station from how strongly each of `count` stations receives it. `circle`
    /// is not set yet.
    pub(in crate::air) fn collect(count: usize, mut received: impl FnMut(u32) -> (Strength, f64)) -> Self {
        let (mut loud, mut faint) = (Vec::new(), Vec::new());
        let mut weakest = f64::INFINITY;
        for station in 0..count as u32 {
            let (strength, power) = received(station);
            match strength {
                Strength::Unheard => continue,
                Strength::Loud => append(&mut loud, station),
                Strength::Faint => append(&mut faint, station),
            }
            weakest = weakest.min(power);
        }
        Self {
            loud: Listeners::of(loud),
            faint: Listeners::of(faint),
            weakest,
            circle: Circle::at(Position::default()),
            reach: None,
        }
    }

    /// All that hear it, and one more station.
    pub(super) fn all_and(&self, station: u32) -> Vec<Run> {
        let mut runs: Vec<Run> = self.loud.runs().chain(self.faint.runs()).collect();
        runs.push(station..station + 1);
        runs.sort_unstable_by_key(|run| run.start);
        runs.dedup_by(|next, run| {
            let adjoins = next.start == run.end;
            run.end = if adjoins { next.end } else { run.end };
            adjoins
        });
        runs
    }

    /// Loud and faint listeners, without cliques of which all members hear it.
    pub(super) fn by_themselves(&self) -> (&Listeners, &Listeners) {
        match &self.reach {
            None => (&self.loud, &self.faint),
            Some(reach) => (&reach.loud, &reach.faint),
        }
    }

    /// All that hear it.
    pub(in crate::air) fn all(&self) -> impl Iterator<Item = u32> + Clone {
        self.loud.runs().chain(self.faint.runs()).flatten()
    }

    /// Records that a station receives this one from another place, with another strength. Returns whether
    /// `circle` may change.
    pub(in crate::air) fn set(&mut self, station: u32, strength: Strength, power: f64) -> bool {
        let hears = strength != Strength::Unheard;
        let moves = hears || self.strength(station) != Strength::Unheard;
        self.loud.change(station, strength == Strength::Loud);
        self.faint.change(station, strength == Strength::Faint);
        if hears {
            self.weakest = self.weakest.min(power);
        }
        moves
    }

    /// Whether and how the station notices when this one transmits.
    pub(in crate::air) fn strength(&self, station: u32) -> Strength {
        if self.loud.contains(station) {
            Strength::Loud
        } else if self.faint.contains(station) {
            Strength::Faint
        } else {
            Strength::Unheard
        }
    }
}

/// Some stations, sorted by number.
#[derive(Debug, Clone)]
pub(in crate::air) enum Listeners {
    /// A bit for each of 64 stations from the first on. A cell fits in here and needs no memory elsewhere.
    Near {
        first: u32,
        bits: u64,
    },
    Runs(Vec<Run>),
}

impl Default for Listeners {
    fn default() -> Self {
        Self::Near { first: 0, bits: 0 }
    }
}

impl Listeners {
    fn of(mut runs: Vec<Run>) -> Self {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
            return Self::default();
        };
        let first = first.start;
        if last.end - first > u64::BITS {
            runs.shrink_to_fit();
            return Self::Runs(runs);
        }
        let bits = runs.iter().fold(0, |bits, run| {
            let ones = u64::MAX >> (u64::BITS - (run.end - run.start));
            bits | ones << (run.start - first)
        });
        Self::Near { first, bits }
    }

    /// The listeners as runs of consecutive numbers.
    #[inline]
    pub(in crate::air) fn runs(&self) -> Runs<'_> {
        let (at, bits, rest) = match self {
            Self::Near { first, bits } => (*first, *bits, [].as_slice()),
            Self::Runs(runs) => (0, 0, runs.as_slice()),
        };
        Runs {
            at,
            bits,
            rest: rest.iter(),
        }
    }

    fn contains(&self, station: u32) -> bool {
        match self {
            Self::Near { first, bits } => {
                let place = station.wrapping_sub(*first);
                place < u64::BITS && bits >> place & 1 == 1
            }
            Self::Runs(runs) => runs.iter().any(|run| run.contains(&station)),
        }
    }

    fn change(&mut self, station: u32, listens: bool) {
        if self.contains(station) == listens {
            return;
        }
        let mut runs: Vec<Run> = self.runs().collect();
        if listens {
            insert(&mut runs, station);
        } else {
            remove(&mut runs, station);
        }
        *self = Self::of(runs);
    }
}

impl FromIterator<u32> for Listeners {
    /// From stations sorted by number.
    fn from_iter<I: IntoIterator<Item = u32>>(stations: I) -> Self {
        let mut runs = Vec::new();
        stations
            .into_iter()
            .for_each(|station| append(&mut runs, station));
        Self::of(runs)
    }
}

/// Runs from the bits, then the stored runs.
#[derive(Clone)]
pub(in crate::air) struct Runs<'a> {
    at: u32,
    bits: u64,
    rest: slice::Iter<'a, Run>,
}

impl Iterator for Runs<'_> {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        if self.bits == 0 {
            return self.rest.next().cloned();
        }
        let gap = self.bits.trailing_zeros();
        let rest = self.bits >> gap;
        let count = rest.trailing_ones();
        let start = self.at + gap;
        self.at = start + count;
        // In two steps, because all 64 bits may be set.
        self.bits = rest >> (count - 1) >> 1;
        Some(start..self.at)
    }
}

fn remove(runs: &mut Vec<Run>, station: u32) {
    let Some(place) = runs.iter().position(|run| run.contains(&station)) else {
        return;
    };
    let run = runs[place].clone();
    let parts = [run.start..station, station + 1..run.end];
    runs.splice(place..=place, parts.into_iter().filter(|part| !part.is_empty()));
}

fn insert(runs: &mut Vec<Run>, station: u32) {
    let place = runs.partition_point(|run| run.end <= station);
    runs.insert(place, station..station + 1);
    if runs.get(place + 1).is_some_and(|next| next.start == station + 1) {
        runs[place].end = runs.remove(place + 1).end;
    }
    if place > 0 && runs[place - 1].end == station {
        runs[place - 1].end = runs.remove(place).end;
    }
}

fn append(runs: &mut Vec<Run>, station: u32) {
    match runs.last_mut() {
        Some(run) if run.end == station => run.end += 1,
        _ => runs.push(station..station + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(who: &Listeners) -> Vec<Run> {
        who.runs().collect()
    }

    #[test]
    fn near_or_far_apart_they_are_the_same() {
        // The last one is too far away for bits, and is removed again.
        for last in [63, 64, 70, 5_000] {
            let mut who = Listeners::default();
            for station in [1_000, 1_001, 1_003, 1_062, 1_000 + last] {
                who.change(station, true);
            }
            assert_eq!(matches!(who, Listeners::Runs(_)), last > 63);
            let found: Vec<u32> = who.runs().flatten().collect();
            assert_eq!(found, [1_000, 1_001, 1_003, 1_062, 1_000 + last]);
            assert!(found.iter().all(|&station| who.contains(station)));
            assert!(
                [0, 999, 1_002, 1_064 + last]
                    .iter()
                    .all(|&station| !who.contains(station))
            );
            who.change(1_000 + last, false);
            assert!(matches!(who, Listeners::Near { .. }));
            assert_eq!(runs(&who), [1_000..1_002, 1_003..1_004, 1_062..1_063]);
        }
        let all = Listeners::of(alloc::vec![7..71]);
        assert!(matches!(all, Listeners::Near { .. }));
        assert_eq!(runs(&all).first(), Some(&(7..71)));
    }

    #[test]
    fn a_station_that_moves_changes_only_its_own_place() {
        let listed = |who: &Listeners| who.runs().map(|run| (run.start, run.end)).collect::<Vec<_>>();
        let mut audience = Audience::collect(10, |_| (Strength::Loud, 1.0));
        audience.set(4, Strength::Faint, 0.5);
        assert_eq!(listed(&audience.loud), [(0, 4), (5, 10)]);
        assert_eq!(listed(&audience.faint), [(4, 5)]);
        audience.set(5, Strength::Faint, 0.4);
        audience.set(3, Strength::Unheard, 0.0);
        assert_eq!(listed(&audience.loud), [(0, 3), (6, 10)]);
        assert_eq!(listed(&audience.faint), [(4, 6)]);
        let strengths = [2, 3, 4, 6].map(|station| audience.strength(station));
        let expected = [Strength::Loud, Strength::Unheard, Strength::Faint, Strength::Loud];
        assert_eq!(strengths, expected);
        for station in [3, 4, 5] {
            audience.set(station, Strength::Loud, 1.0);
        }
        assert_eq!(listed(&audience.loud), [(0, 10)]);
        assert!(runs(&audience.faint).is_empty());
    }

    #[test]
    fn neighbours_become_runs() {
        let strength = |station| match station {
            3 => Strength::Unheard,
            7.. => Strength::Faint,
            _ => Strength::Loud,
        };
        let audience = Audience::collect(10, |station| (strength(station), f64::from(20 - station)));
        assert_eq!(runs(&audience.loud), [0..3, 4..7]);
        assert_eq!(runs(&audience.faint).first(), Some(&(7..10)));
        assert_eq!(audience.weakest, 11.0);
    }
}
