//! Minstrel-HT: Minstrel for 802.11n, where many frames share a preamble and a backoff, and one block
//! acknowledgement reports their losses.
//!
//! # Sources
//! - `net/mac80211/rc80211_minstrel_ht.c` of Linux 3.14, of the time of nsdi15's experiments, for all points
//!   below.
//! - Intervals of half of Minstrel's 100 ms. Groups of streams, guard interval and width
//!   (`minstrel_ht_update_stats`).
//! - Throughput of a 1,200-byte frame with its share of the overhead at the mean aggregate length.
//!   Probabilities below 10 % count as nothing, above 90 % as 90 %: losses to collisions must not decide
//!   (`minstrel_ht_calc_tp`).
//! - The likeliest mode is the fastest of those above 75 %, with one stream fewer than the best if that has
//!   several.
//! - Chains of best, second best and likeliest, all but the first behind RTS (`minstrel_ht_set_rate`). Each
//!   is tried as often as an aggregate of the mean length fits into 6 ms, but at least twice
//!   (`minstrel_calc_retransmit`). It is tried twice if hardly any get through.
//! - Probes are single frames instead of the first stage: one after 16 frames and two for each frame of a
//!   mean aggregate, at most eight per group and interval. A mode known to be above 95 % is not probed. A
//!   mode slower than those in use is not probed either, except for three in an interval that have not been
//!   tried for 20 intervals (`minstrel_get_sample_rate`).
//! - If a best or second mode loses 80 % of its frames in an interval, another group's mode replaces it at
//!   once (`minstrel_downgrade_rate`).
//!
//! # Where we differ, and why
//! 1. The mode to probe is drawn for each frame. Linux walks through a table of draws, group by group.
//! 2. Linux 3.14 computes the limit of 90 % and, by mistake, does not use it. This code does what the Linux
//!    comment says.
//! 3. The duration of an aggregate is limited where it is assembled.
//!
//! # Checked by
//! `rate::tests`, `sim`'s `tests/diversity.rs`.

use alloc::vec::Vec;
use core::ops::Range;
use units::Rng;
use units::wifi::{ACK_BYTES, Standard};

use super::statistics::Statistics;
use super::{COMPARED_BYTES, Chain, backoff, exchange, tries};
use crate::air::phy::mode::Mode;
use crate::air::phy::timing::{Timing, nanos};

/// Interval between updates of the means, in ns.
const INTERVAL: u64 = 50_000_000;
const HOPELESS: f64 = 0.1;
/// Below this probability a mode is tried twice, however short it is.
const RARE: f64 = 0.2;
const CAPPED: f64 = 0.9;
const LIKELY: f64 = 0.75;
const GOOD: f64 = 0.95;
const FORGOTTEN: u32 = 20;
const BETWEEN_PROBES: f64 = 16.0;
/// Modes of a group, and the most probes of a group in an interval.
const GROUP: usize = 8;
/// Most probes of slower modes in an interval.
const SLOW_PROBES: u32 = 3;

#[derive(Debug)]
pub(in crate::air) struct MinstrelHt {
    timing: Timing,
    /// Duration of RTS and CTS, in ns. Linux estimates it as two acknowledgements.
    request: u64,
    /// Group by group.
    modes: Vec<Statistics>,
    /// The part of a frame's duration that depends on its length, in ns.
    contents: Vec<u64>,
    next: u64,
    best: usize,
    second: usize,
    likeliest: usize,
    normal: Chain,
    /// Mean length of aggregates.
    length: f64,
    /// Frames until the next probe. Negative: frames since one became due.
    wait: f64,
    /// Probes left in this interval, and how many of them may be of slower modes.
    probes: usize,
    slow_probes: u32,
    frames: u32,
    aggregates: u32,
}

impl MinstrelHt {
    pub(super) fn new(standard: Standard, modes: &[Mode]) -> Self {
        let timing = Timing::of(standard, true);
        let statistics = |&mode| {
            let exchange = exchange(&timing, standard, mode);
            Statistics::new(mode, exchange + backoff(&timing), 2)
        };
        let contents = |&mode: &Mode| {
            let whole = nanos(mode.time(standard, COMPARED_BYTES));
            whole.saturating_sub(nanos(mode.preamble()))
        };
        let ack = nanos(Mode::basic(standard).time(standard, ACK_BYTES));
        let mut rate = Self {
            timing,
            request: 2 * ack,
            modes: modes.iter().map(statistics).collect(),
            contents: modes.iter().map(contents).collect(),
            next: INTERVAL,
            best: 0,
            second: 0,
            likeliest: 0,
            normal: Chain::always(modes[0]),
            length: 1.0,
            wait: 0.0,
            probes: modes.len(),
            slow_probes: SLOW_PROBES,
            frames: 0,
            aggregates: 0,
        };
        rate.normal = rate.chain_of(rate.best);
        rate
    }

    pub(super) fn chain(&mut self, now: u64, rng: &mut Rng) -> Chain {
        if now >= self.next {
            self.next = now + INTERVAL;
            self.update();
        }
        match self.probe(rng) {
            Some(probed) => {
                self.wait = BETWEEN_PROBES + libm::floor(2.0 * self.length);
                let mut chain = self.normal;
                (chain.stages[0], chain.probe) = ((self.modes[probed].mode, 1), true);
                chain
            }
            None => self.normal,
        }
    }

    /// The mode to probe now, if a probe is due and one of the modes drawn, one for each frame since then, is
    /// worth it.
    fn probe(&mut self, rng: &mut Rng) -> Option<usize> {
        if self.wait > 0.0 || self.probes == 0 {
            return None;
        }
        let draws = 1 - core::mem::replace(&mut self.wait, 0.0) as i32;
        for _ in 0..draws {
            let drawn = rng.below(self.modes.len() as u64) as usize;
            if self.is_worth_a_probe(drawn) {
                self.probes -= 1;
                return Some(drawn);
            }
        }
        None
    }

    fn is_worth_a_probe(&mut self, place: usize) -> bool {
        let known = &self.modes[place];
        let in_use = [self.best, self.second, self.likeliest].contains(&place);
        if in_use || known.probability > GOOD {
            return false;
        }
        let time = self.contents[place];
        let slow = time >= self.contents[self.second]
            && (self.streams(place) > self.fewer_streams() || time >= self.contents[self.likeliest]);
        if !slow {
            return true;
        }
        let worth = known.idle >= FORGOTTEN && self.slow_probes > 0;
        self.slow_probes -= u32::from(worth);
        worth
    }

    fn streams(&self, place: usize) -> u32 {
        self.modes[place].mode.streams()
    }

    /// Most streams that the likeliest mode may have.
    fn fewer_streams(&self) -> u32 {
        (self.streams(self.best) - 1).max(1)
    }

    pub(super) fn tried(&mut self, mode: Mode, frames: u32, acknowledged: u32) {
        self.frames += frames;
        self.aggregates += 1;
        // Linux counts the frames that reach the rate control, which are those that get through.
        self.wait -= f64::from(acknowledged);
        let Some(place) = self.modes.iter().position(|known| known.mode == mode) else {
            return;
        };
        self.modes[place].tried(frames, acknowledged);
        if [self.best, self.second].contains(&place) && self.modes[place].fails() {
            self.fall_back(place);
        }
    }

    /// Replaces a mode that hardly delivers by another group's best. The paths may not support that many
    /// streams.
    fn fall_back(&mut self, from: usize) {
        let group = |group: usize| group * GROUP..(group + 1) * GROUP;
        let fits = |other: &usize| self.streams(other * GROUP) <= self.streams(from);
        let Some(other) = (0..from / GROUP).rev().find(fits) else {
            return;
        };
        let to = self.fastest(group(other), None);
        if from == self.best {
            self.best = to;
        } else {
            self.second = self.fastest(group(other), Some(to));
        }
        self.normal = self.chain_of(self.best);
    }

    fn update(&mut self) {
        if self.aggregates > 0 {
            let present = f64::from(self.frames) / f64::from(self.aggregates);
            self.length = 0.75 * self.length + 0.25 * present;
            (self.frames, self.aggregates) = (0, 0);
        }
        self.modes.iter_mut().for_each(Statistics::update);
        self.best = self.fastest(0..self.modes.len(), None);
        self.second = self.fastest(0..self.modes.len(), Some(self.best));
        self.likeliest = self.most_likely();
        self.normal = self.chain_of(self.best);
        (self.probes, self.slow_probes) = (self.modes.len(), SLOW_PROBES);
    }

    /// The mode with the highest throughput, except `but`.
    fn fastest(&self, among: Range<usize>, but: Option<usize>) -> usize {
        let first = among.start;
        let others = among.filter(|&place| Some(place) != but);
        others.fold(first, |best, place| {
            if Some(best) == but || self.throughput(place) > self.throughput(best) {
                place
            } else {
                best
            }
        })
    }

    fn most_likely(&self) -> usize {
        let likely = |place: usize| self.modes[place].probability >= LIKELY;
        let allowed = |&place: &usize| self.streams(place) <= self.fewer_streams();
        (0..self.modes.len()).filter(allowed).fold(0, |likeliest, place| {
            let better = if likely(place) && likely(likeliest) {
                self.throughput(place) > self.throughput(likeliest)
            } else {
                self.modes[place].probability > self.modes[likeliest].probability
            };
            if better { place } else { likeliest }
        })
    }

    fn chain_of(&self, best: usize) -> Chain {
        let stage = |place: usize, guarded: bool| {
            let known = &self.modes[place];
            let overhead = known
                .time
                .saturating_sub(self.contents[place] + backoff(&self.timing));
            let request = if guarded { self.request } else { 0 };
            let aggregate = (self.contents[place] as f64 * libm::floor(self.length)) as u64;
            let times = if known.probability < RARE {
                2
            } else {
                tries(&self.timing, overhead + request + aggregate)
            };
            (known.mode, times)
        };
        let last = stage(self.likeliest, true);
        Chain {
            stages: [stage(best, false), stage(self.second, true), last, (last.0, 0)],
            probe: false,
            guarded: true,
        }
    }

    /// Estimated frames per second in aggregates of the mean length.
    fn throughput(&self, place: usize) -> f64 {
        let known = &self.modes[place];
        if known.probability < HOPELESS {
            return 0.0;
        }
        let contents = self.contents[place] as f64;
        let overhead = (known.time as f64 - contents).max(0.0);
        known.probability.min(CAPPED) * 1e9 / (contents + overhead / self.length)
    }
}
