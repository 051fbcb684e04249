//! Minstrel: tries the modes with the highest measured throughput in turn, and spends a tenth of the frames
//! on probes.
//!
//! # Sources
//! - Linux wireless documentation, "The minstrel rate control algorithm for mac80211". Intervals of 100 ms,
//!   and exponentially weighted means with 75 % of the past. Chains of four: best throughput, second best,
//!   best probability, lowest rate. 10 % of frames are probes: a random mode that is faster than the best is
//!   tried first, a slower one second. Each stage takes at most 6 ms.
//! - `net/mac80211/rc80211_minstrel.c` of Linux 3.x: probabilities below 10 % count as no throughput. Among
//!   modes above 95 %, the fastest has the "best probability".
//!
//! # Where we differ, and why
//! 1. The mode to probe is drawn for each frame. Linux walks through a table of such draws.
//! 2. A station begins at the lowest rate and probes from there, as Linux does once its first interval is
//!    over.
//!
//! # Checked by
//! `rate::tests`, `sim`'s `tests/diversity.rs`.

use alloc::vec::Vec;
use units::Rng;
use units::wifi::Standard;

use super::statistics::Statistics;
use super::{Chain, backoff, exchange, tries};
use crate::air::phy::mode::Mode;
use crate::air::phy::timing::Timing;

/// Interval between updates of the means, in ns.
const INTERVAL: u64 = 100_000_000;
/// One in this many frames is a probe.
const LOOK_AROUND: u64 = 10;
const HOPELESS: f64 = 0.1;
const GOOD: f64 = 0.95;

#[derive(Debug)]
pub(in crate::air) struct Minstrel {
    modes: Vec<Statistics>,
    next: u64,
    best: usize,
    second: usize,
    likeliest: usize,
}

impl Minstrel {
    /// `modes` from slow to fast.
    pub(super) fn new(standard: Standard, modes: &[Mode]) -> Self {
        let timing = Timing::of(standard, false);
        let statistics = |&mode| {
            let exchange = exchange(&timing, standard, mode);
            Statistics::new(mode, exchange + backoff(&timing), tries(&timing, exchange))
        };
        Self {
            modes: modes.iter().map(statistics).collect(),
            next: INTERVAL,
            best: 0,
            second: 0,
            likeliest: 0,
        }
    }

    pub(super) fn chain(&mut self, now: u64, rng: &mut Rng) -> Chain {
        if now >= self.next {
            self.next = now + INTERVAL;
            self.update();
        }
        let looks = rng.below(LOOK_AROUND) == 0;
        let drawn = rng.below(self.modes.len() as u64) as usize;
        let looks = looks && drawn != self.best;
        let (first, second) = match looks {
            false => (self.best, self.second),
            true if self.modes[drawn].time < self.modes[self.best].time => (drawn, self.best),
            true => (self.best, drawn),
        };
        let tries = |place: usize| {
            let probed = looks && place == drawn;
            (
                self.modes[place].mode,
                if probed { 1 } else { self.modes[place].tries },
            )
        };
        Chain {
            stages: [tries(first), tries(second), tries(self.likeliest), tries(0)],
            probe: looks,
            guarded: false,
        }
    }

    pub(super) fn tried(&mut self, mode: Mode, frames: u32, acknowledged: u32) {
        if let Some(known) = self.modes.iter_mut().find(|known| known.mode == mode) {
            known.tried(frames, acknowledged);
        }
    }

    fn update(&mut self) {
        self.modes.iter_mut().for_each(Statistics::update);
        let throughput = |place: usize| throughput(&self.modes[place]);
        let best_but = |but: Option<usize>| {
            let places = (0..self.modes.len()).filter(|&place| Some(place) != but);
            places.fold(usize::from(but == Some(0)), |best, place| {
                if throughput(place) > throughput(best) {
                    place
                } else {
                    best
                }
            })
        };
        let best = best_but(None);
        let second = best_but(Some(best)).min(self.modes.len() - 1);
        let good = |place: usize| self.modes[place].probability >= GOOD;
        let likeliest = (0..self.modes.len()).fold(0, |likeliest, place| {
            let better = if good(place) && good(likeliest) {
                throughput(place) > throughput(likeliest)
            } else {
                self.modes[place].probability > self.modes[likeliest].probability
            };
            if better { place } else { likeliest }
        });
        (self.best, self.second, self.likeliest) = (best, second, likeliest);
    }

    /// The mode that it thinks best.
    #[cfg(test)]
    pub(super) fn best(&self) -> Mode {
        self.modes[self.best].mode
    }
}

/// Frames a second, as far as is known.
fn throughput(of: &Statistics) -> f64 {
    if of.probability < HOPELESS {
        0.0
    } else {
        of.probability * 1e9 / of.time as f64
    }
}
