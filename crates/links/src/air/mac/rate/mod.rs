//! Rate control: the modes in which a frame is tried, one after the other.
//!
//! | what | where |
//! |---|---|
//! | one mode for ever | [`Rate::Fixed`] |
//! | up after successes, down after failures | `aarf` |
//! | measured throughput, for a, b and g | `minstrel` |
//! | the same for 802.11n, with aggregates | `minstrel_ht` |

mod aarf;
mod minstrel;
mod minstrel_ht;
mod statistics;

use alloc::boxed::Box;
use alloc::vec::Vec;
use units::Rng;
use units::wifi::ht::{Guard, Mode as HtMode, Width};
use units::wifi::{ACK_BYTES, Standard};

use crate::air::phy::mode::Mode;
use crate::air::phy::timing::{Timing, nanos};
use crate::config::{Ht, RateControl};
use aarf::Aarf;
use minstrel::Minstrel;
use minstrel_ht::MinstrelHt;

/// The modes of a frame, and the number of tries in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) struct Chain {
    stages: [(Mode, u8); STAGES],
    /// It probes a mode: in 802.11n, with a single frame.
    pub(in crate::air) probe: bool,
    /// A request to send precedes every stage but the first.
    guarded: bool,
}

const STAGES: usize = 4;

impl Chain {
    /// One mode, for as many tries as it takes.
    pub(in crate::air) const fn always(mode: Mode) -> Self {
        Self {
            stages: [(mode, u8::MAX); STAGES],
            probe: false,
            guarded: false,
        }
    }

    /// The stage after this many tries: the last one when all are used up.
    fn stage(&self, tries: u32) -> usize {
        let mut left = tries;
        let within = |&(_, times): &(Mode, u8)| {
            let here = left < u32::from(times);
            left = left.saturating_sub(u32::from(times));
            here
        };
        self.stages.iter().position(within).unwrap_or(STAGES - 1)
    }

    /// The mode after this many tries.
    pub(in crate::air) fn mode(&self, tries: u32) -> Mode {
        self.stages[self.stage(tries)].0
    }

    /// Whether RTS precedes the next frame after this many tries.
    pub(in crate::air) fn asks(&self, tries: u32) -> bool {
        self.guarded && self.stage(tries) > 0
    }

    /// Total number of tries.
    pub(super) fn total(&self) -> u32 {
        self.stages.iter().map(|&(_, times)| u32::from(times)).sum()
    }

    /// Modes of the chain.
    pub(in crate::air) fn modes(&self) -> impl Iterator<Item = Mode> + '_ {
        let used = self.stages.iter().filter(|(_, times)| *times > 0);
        used.map(|&(mode, _)| mode)
    }
}

/// Chooses the modes of the frames to one receiver.
#[derive(Debug)]
pub(in crate::air) enum Rate {
    Fixed(Mode),
    Aarf(Box<Aarf>),
    Minstrel(Box<Minstrel>),
    MinstrelHt(Box<MinstrelHt>),
}

impl Rate {
    /// `fixed` is the mode of stations that keep one, or have only one.
    pub(in crate::air) fn new(
        control: RateControl,
        standard: Standard,
        ht: Option<&Ht>,
        fixed: Mode,
    ) -> Self {
        match (control, ht) {
            (RateControl::Fixed, _) => Self::Fixed(fixed),
            (RateControl::Aarf, _) => Self::Aarf(Box::new(Aarf::new(ladder(standard, ht)))),
            (RateControl::Minstrel, None) => {
                Self::Minstrel(Box::new(Minstrel::new(standard, &ladder(standard, None))))
            }
            (RateControl::Minstrel, Some(ht)) => {
                Self::MinstrelHt(Box::new(MinstrelHt::new(standard, &all_modes(ht))))
            }
        }
    }

    /// The chain of a fresh frame.
    pub(in crate::air) fn chain(&mut self, now: u64, rng: &mut Rng) -> Chain {
        match self {
            Self::Fixed(mode) => Chain::always(*mode),
            Self::Aarf(aarf) => Chain::always(aarf.mode()),
            Self::Minstrel(minstrel) => minstrel.chain(now, rng),
            Self::MinstrelHt(minstrel) => minstrel.chain(now, rng),
        }
    }

    /// Reports how many frames were sent together in that mode, and how many of them were acknowledged.
    /// Returns the chain with which a failed frame continues.
    pub(in crate::air) fn tried(
        &mut self,
        chain: Chain,
        mode: Mode,
        frames: u32,
        acknowledged: u32,
    ) -> Chain {
        match self {
            Self::Fixed(_) => chain,
            Self::Aarf(aarf) => {
                aarf.tried(acknowledged > 0);
                Chain::always(aarf.mode())
            }
            Self::Minstrel(minstrel) => {
                minstrel.tried(mode, frames, acknowledged);
                chain
            }
            Self::MinstrelHt(minstrel) => {
                minstrel.tried(mode, frames, acknowledged);
                chain
            }
        }
    }

    /// Whether a single frame is given up when its chain is used up, whatever the plan's number of attempts.
    pub(super) const fn chain_limits_attempts(&self) -> bool {
        matches!(self, Self::Minstrel(_))
    }
}

/// Modes from slow to fast: those of the standard, or of 802.11n at the widest channel and the shortest guard
/// interval.
fn ladder(standard: Standard, ht: Option<&Ht>) -> Vec<Mode> {
    let Some(ht) = ht else {
        let rates = standard.rates_kbps().iter();
        let rate = |&kbps: &u32| Mode::of(standard, units::Bitrate::from_kbps(kbps.into()));
        let mut modes: Vec<_> = rates.filter_map(rate).collect();
        modes.sort_by_key(|mode| mode.rate());
        return modes;
    };
    let mut modes: Vec<_> = (0..ht.streams * 8)
        .filter_map(|mcs| HtMode::new(mcs, ht.width, ht.guard))
        .map(Mode::of_ht)
        .collect();
    modes.sort_by_key(|mode| mode.rate());
    modes.dedup_by_key(|mode| mode.rate());
    modes
}

/// Every mode that both ends have, group by group.
fn all_modes(ht: &Ht) -> Vec<Mode> {
    let widths = [Width::Mhz20, Width::Mhz40].into_iter();
    let widths = widths.filter(|&width| width <= ht.width);
    let groups = widths.flat_map(|width| {
        let guards = [Guard::Long, Guard::Short].into_iter();
        let guards = guards.filter(|&guard| guard <= ht.guard);
        guards.map(move |guard| (width, guard))
    });
    let modes = groups
        .flat_map(|(width, guard)| (0..ht.streams * 8).filter_map(move |mcs| HtMode::new(mcs, width, guard)));
    modes.map(Mode::of_ht).collect()
}

/// Length of the frame for which throughputs are compared.
const COMPARED_BYTES: u32 = 1_200;
/// Longest duration of a stage of a chain, in ns: Minstrel's segment.
const SEGMENT: u64 = 6_000_000;

/// Duration of a frame that gets through at the first attempt, without backoff.
fn exchange(timing: &Timing, standard: Standard, mode: Mode) -> u64 {
    let ack = nanos(mode.response().time(standard, ACK_BYTES));
    timing.difs + nanos(mode.time(standard, COMPARED_BYTES)) + timing.sifs + ack
}

/// Mean of the first backoff.
const fn backoff(timing: &Timing) -> u64 {
    timing.cw_min as u64 / 2 * timing.slot as u64
}

/// How often an exchange fits into a segment, backoffs included.
fn tries(timing: &Timing, exchange: u64) -> u8 {
    let (mut window, mut used, mut tries) = (timing.cw_min, 0, 0);
    loop {
        used += exchange + u64::from(window) / 2 * u64::from(timing.slot);
        window = (2 * window + 1).min(timing.cw_max);
        if tries >= LEAST_TRIES && (used > SEGMENT || tries == MOST_TRIES) {
            return tries;
        }
        tries += 1;
    }
}

const LEAST_TRIES: u8 = 2;
const MOST_TRIES: u8 = 7;

#[cfg(test)]
mod tests;
