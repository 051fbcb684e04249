//! Minstrel-HT: Minstrel for 802.11n, where many frames share a preamble and a backoff, and their loss is told by one acknowledgement.
//!
//! # Sources
//! - `net/mac80211/rc80211_minstrel_ht.c` of Linux 3.x and 4.x: groups of streams, guard interval and width; throughput of a frame of 1,200 bytes
//!   with its share of the overhead at the mean length of aggregates; probabilities below 10 % count as nothing, above 90 % as 90 % (losses to
//!   collisions must not decide); the likeliest mode is the fastest of those above 75 %; chains of best, second best and likeliest; probes are
//!   single frames, one after 16 frames and two for each frame of a mean aggregate; a mode that is known to be above 95 % is not
//!   probed, nor one that is slower than the likeliest, unless it has not been tried for 20 intervals.
//!
//! # Where we differ, and why
//! 1. The mode to probe is drawn; Linux walks through a table of draws, group by group.
//! 2. A stage of a chain takes at most 6 ms of single frames, as in Minstrel; what an aggregate takes is bounded where it is put together.
//!
//! # Checked by
//! `rate::tests`, `sim`'s `tests/diversity.rs`.

use alloc::vec::Vec;
use units::Rng;
use units::wifi::Standard;

use super::statistics::Statistics;
use super::{COMPARED_BYTES, Chain, costs};
use crate::air::mode::Mode;
use crate::air::timing::nanos;

/// How often means are taken, in ns.
const INTERVAL: u64 = 100_000_000;
const HOPELESS: f64 = 0.1;
const CAPPED: f64 = 0.9;
const LIKELY: f64 = 0.75;
const GOOD: f64 = 0.95;
const FORGOTTEN: u32 = 20;
const BETWEEN_PROBES: f64 = 16.0;

#[derive(Debug)]
pub(in crate::air) struct MinstrelHt {
    modes: Vec<Statistics>,
    /// What of a frame's time its length alone takes, in ns.
    contents: Vec<u64>,
    next: u64,
    best: usize,
    second: usize,
    likeliest: usize,
    /// Mean length of aggregates.
    length: f64,
    /// Frames until the next probe.
    wait: f64,
    frames: u32,
    aggregates: u32,
}

impl MinstrelHt {
    pub(super) fn new(standard: Standard, modes: &[Mode]) -> Self {
        let statistics = |&mode| Statistics::new(mode, costs(standard, mode));
        let contents = |&mode: &Mode| {
            let whole = nanos(mode.time(standard, COMPARED_BYTES));
            whole.saturating_sub(nanos(mode.preamble()))
        };
        Self {
            modes: modes.iter().map(statistics).collect(),
            contents: modes.iter().map(contents).collect(),
            next: INTERVAL,
            best: 0,
            second: 0,
            likeliest: 0,
            length: 1.0,
            wait: BETWEEN_PROBES,
            frames: 0,
            aggregates: 0,
        }
    }

    pub(super) fn chain(&mut self, now: u64, rng: &mut Rng) -> Chain {
        if now >= self.next {
            self.next = now + INTERVAL;
            self.update();
        }
        let stage = |place: usize| (self.modes[place].mode, self.modes[place].tries);
        let normal = [
            stage(self.best),
            stage(self.second),
            stage(self.likeliest),
            (self.modes[self.likeliest].mode, 0),
        ];
        if self.wait > 0.0 {
            return Chain {
                stages: normal,
                probe: false,
            };
        }
        let drawn = rng.below(self.modes.len() as u64) as usize;
        if !self.is_worth_a_probe(drawn) {
            return Chain {
                stages: normal,
                probe: false,
            };
        }
        self.wait = BETWEEN_PROBES + 2.0 * self.length;
        let drawn = (self.modes[drawn].mode, 1);
        Chain {
            stages: [drawn, normal[0], normal[2], normal[3]],
            probe: true,
        }
    }

    fn is_worth_a_probe(&self, place: usize) -> bool {
        let known = &self.modes[place];
        let in_use = [self.best, self.second, self.likeliest].contains(&place);
        let slow = self.contents[place] >= self.contents[self.likeliest];
        !in_use && known.probability <= GOOD && (!slow || known.idle >= FORGOTTEN)
    }

    pub(super) fn tried(&mut self, mode: Mode, frames: u32, acknowledged: u32) {
        self.frames += frames;
        self.aggregates += 1;
        self.wait -= f64::from(frames);
        if let Some(known) = self.modes.iter_mut().find(|known| known.mode == mode) {
            known.tried(frames, acknowledged);
        }
    }

    fn update(&mut self) {
        if self.aggregates > 0 {
            let present = f64::from(self.frames) / f64::from(self.aggregates);
            self.length = 0.75 * self.length + 0.25 * present;
            (self.frames, self.aggregates) = (0, 0);
        }
        self.modes.iter_mut().for_each(Statistics::update);
        let throughput = |place: usize| self.throughput(place);
        let best = (0..self.modes.len()).fold(0, |best, place| {
            if throughput(place) > throughput(best) {
                place
            } else {
                best
            }
        });
        let others = (0..self.modes.len()).filter(|&place| place != best);
        let second = others.fold(self.likeliest, |second, place| {
            if second == best || throughput(place) > throughput(second) {
                place
            } else {
                second
            }
        });
        let likely = |place: usize| self.modes[place].probability >= LIKELY;
        let likeliest = (0..self.modes.len()).fold(0, |likeliest, place| {
            let better = if likely(place) && likely(likeliest) {
                throughput(place) > throughput(likeliest)
            } else {
                self.modes[place].probability > self.modes[likeliest].probability
            };
            if better { place } else { likeliest }
        });
        (self.best, self.second, self.likeliest) = (best, second, likeliest);
    }

    /// Frames a second in aggregates of the mean length, as far as is known.
    fn throughput(&self, place: usize) -> f64 {
        let known = &self.modes[place];
        if known.probability < HOPELESS {
            return 0.0;
        }
        let contents = self.contents[place] as f64;
        let overhead = (known.time as f64 - contents).max(0.0);
        known.probability.min(CAPPED) * 1e9 / (contents + overhead / self.length)
    }

    /// The mode that it thinks best.
    #[cfg(test)]
    pub(super) fn best(&self) -> Mode {
        self.modes[self.best].mode
    }
}
