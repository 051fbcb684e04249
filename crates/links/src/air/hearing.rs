//! Who senses whom: for every station, who notices when it transmits.
//!
//! Neighbours are kept as runs of consecutive numbers: stations of one cell are numbered one after the other, so that a cell in which
//! everybody hears everybody costs two runs a station instead of a list.
//!
//! # Checked by
//! `tests`.

use alloc::vec::Vec;
use core::ops::Range;

/// Stations with consecutive numbers.
pub(super) type Run = Range<u32>;

/// How strongly a transmission arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Not so that anybody would notice.
    Unheard,
    /// Its preamble can be found; its energy alone does not make the medium busy.
    Faint,
    /// Its energy alone makes the medium busy.
    Loud,
}

/// Who hears one station.
#[derive(Debug, Clone, Default)]
pub(super) struct Audience {
    pub(super) loud: Vec<Run>,
    pub(super) faint: Vec<Run>,
    /// The weakest power at which any of them receives it, in mW.
    pub(super) weakest: f64,
}

impl Audience {
    /// Collects the audience of one station from how strongly each of `count` stations receives it.
    pub(super) fn collect(count: usize, mut received: impl FnMut(u32) -> (Strength, f64)) -> Self {
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
        Self { loud, faint, weakest }
    }
}

impl Audience {
    /// A station receives this one with another strength from now on.
    pub(super) fn set(&mut self, station: u32, strength: Strength, power: f64) {
        remove(&mut self.loud, station);
        remove(&mut self.faint, station);
        match strength {
            Strength::Unheard => return,
            Strength::Loud => insert(&mut self.loud, station),
            Strength::Faint => insert(&mut self.faint, station),
        }
        self.weakest = self.weakest.min(power);
    }

    /// Whether the station notices when this one transmits, and how.
    pub(super) fn strength(&self, station: u32) -> Strength {
        let hears = |runs: &[Run]| runs.iter().any(|run| run.contains(&station));
        if hears(&self.loud) {
            Strength::Loud
        } else if hears(&self.faint) {
            Strength::Faint
        } else {
            Strength::Unheard
        }
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

    #[test]
    fn a_station_that_moves_changes_only_its_own_place() {
        let listed = |runs: &[Run]| runs.iter().map(|run| (run.start, run.end)).collect::<Vec<_>>();
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
        assert!(audience.faint.is_empty());
    }

    #[test]
    fn neighbours_become_runs() {
        let strength = |station| match station {
            3 => Strength::Unheard,
            7.. => Strength::Faint,
            _ => Strength::Loud,
        };
        let audience = Audience::collect(10, |station| (strength(station), f64::from(20 - station)));
        assert_eq!(*audience.loud, [0..3, 4..7]);
        assert_eq!(audience.faint.first(), Some(&(7..10)));
        assert_eq!(audience.weakest, 11.0);
    }
}
