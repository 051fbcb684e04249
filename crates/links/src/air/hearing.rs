//! Who senses whom: for every station, who notices when it transmits.
//!
//! Neighbours are kept as runs of consecutive numbers: stations of one cell are numbered one after the other, so that a cell in which
//! everybody hears everybody costs two runs a station instead of a list.
//!
//! # Checked by
//! `tests`.

use alloc::boxed::Box;
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
    pub(super) loud: Box<[Run]>,
    pub(super) faint: Box<[Run]>,
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
        Self {
            loud: loud.into(),
            faint: faint.into(),
            weakest,
        }
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
