//! CLA: before a hand-off the fading path gives its rate to the others, after it the new path begins with what it can carry.
//!
//! # Sources
//! - cla §IV: mobility index `MI = arctan(m)/(π/2)` (m = trend of the signal, dB/s), `Q = SNR1/(SNR1 + SNR2)`; mobile stage
//!   `R_off = R(t0)·(1−Q)·MI`; hand-off stage `w = N` segments (`BDP_UB = S·N`); its other two steps are in `cla/handoff.rs`.
//!
//! # Where we differ, and why
//! 1. The cut is made once per fading, from the rate at its beginning: repeated at every report it would compound.
//! 2. What is taken off is shared among the other paths in proportion to their rates; the paper has one other path.
//! 3. `w = R·RTT/MSS` with the round-trip time without queue (the paper's footnote): with the inflated one the window would not
//!    shrink.
//! 4. `N` is ten where nobody knows it, and nobody here does. The paper obtains `BDP_UB` without saying how. Its bound neglects propagation, so that
//!    it is no path's real product, and needs the hops of both ways: the time to live of what arrives would tell those of one, if it were known
//!    what it began with, and the kernel tells it of no TCP socket (`TCP_INFO` has none). Ten segments are what RFC 6928 lets a sender
//!    begin with, and what Linux begins every subflow with, so that such an order leaves a new subflow's window as it is. With 12 hops each way (24) a
//!    new subflow brings up to 6 % more in its first 2.5 s (`crates/sim/tests/cla_handoff.rs`).
//! 5. What nobody can take is not taken off: where every other path holds a queue its rate is all that it can carry, and a fading path that gave it
//!    more would only make the connection slower. Its window then becomes what it holds without queue, so that as little as the paper's is lost
//!    with it.
//!
//! # Checked by
//! `cc::tests`: signs and bounds of MI and Q; one cut per fading. `tests`: `golden/cla.csv`; the rates sum to what they were.

use super::MOST_PATHS;
pub use handoff::HandOffStage;
use units::{Db, Ratio};

mod handoff;

/// Above this quality a fading path counts as recovered.
const RECOVERED: f64 = 0.55;
/// Hop count there and back where it is not known: the segments that a TCP begins with (RFC 6928 §2).
const DEFAULT_HOPS: u32 = 10;

/// `MI`, −1 to 1: how fast the signal changes; negative when it sinks.
pub fn mobility_index(trend_db_per_s: f64) -> f64 {
    libm::atan(trend_db_per_s) / core::f64::consts::FRAC_PI_2
}

/// `Q`, 0 to 1: how good the path is beside the next candidate on the same interface. Signals in dB, floored at 1.
pub fn quality(own: Db, candidate: Option<Db>) -> Ratio {
    let floor = |snr: Db| snr.as_db_f64().max(1.0);
    let other = candidate.map_or(0.0, floor);
    Ratio::clamped(floor(own) / (floor(own) + other))
}

/// The window after a hand-off in segments: the number of hops there and back (BDP_UB = S·N), 10 if unknown.
pub const fn bdp_upper_bound(hops: Option<u32>) -> u32 {
    match hops {
        Some(hops) if hops > 2 => hops,
        Some(_) => 2,
        None => DEFAULT_HOPS,
    }
}

/// What is known of one path when the mobile reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Bytes acknowledged over the last round-trip time, per second.
    pub rate: f64,
    /// Round-trip time without queue, in seconds.
    pub base_rtt_s: f64,
    /// Mobility index, −1 to 1.
    pub mi: f64,
    /// Quality, 0 to 1.
    pub q: f64,
    /// More waits on it than is under way: it carries all that it can.
    pub queued: bool,
}

impl Report {
    const fn is_fading(&self) -> bool {
        self.q <= 0.5 && self.mi < 0.0
    }
}

/// The mobile stage: which paths have been cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MobileStage {
    cut: [bool; MOST_PATHS],
}

impl MobileStage {
    /// New windows in segments, one for each path, where a path has just begun to fade; `None` when nothing changes.
    pub fn report(&mut self, paths: &[Report], mss: u32) -> Option<[u32; MOST_PATHS]> {
        let mut rates: [f64; MOST_PATHS] =
            core::array::from_fn(|path| paths.get(path).map_or(0.0, |path| path.rate));
        let mut entered = [false; MOST_PATHS];
        for (path, report) in paths.iter().take(MOST_PATHS).enumerate() {
            self.cut[path] &= report.q <= RECOVERED;
            entered[path] = report.is_fading() && !self.cut[path];
        }
        if !entered.contains(&true) {
            return None;
        }
        self.cut = core::array::from_fn(|path| self.cut[path] || entered[path]);
        self.shift(&mut rates, &entered, paths);
        Some(core::array::from_fn(|path| {
            paths
                .get(path)
                .map_or(0, |report| window(rates[path], report, mss))
        }))
    }

    /// A hand-off was completed on this path: it may be cut anew.
    pub const fn handed_off(&mut self, path: usize) {
        if path < MOST_PATHS {
            self.cut[path] = false;
        }
    }

    /// Moves `R_off` from the paths that begin to fade to those that stay.
    fn shift(&self, rates: &mut [f64; MOST_PATHS], entered: &[bool; MOST_PATHS], paths: &[Report]) {
        let mut staying = paths.iter().zip(self.cut).filter(|(_, cut)| !cut).peekable();
        if staying.peek().is_some() && staying.all(|(path, _)| path.queued) {
            return;
        }
        let mut offset = 0.0;
        for ((rate, report), _) in rates
            .iter_mut()
            .zip(paths)
            .zip(entered)
            .filter(|(_, entered)| **entered)
        {
            let taken = report.rate * (1.0 - report.q) * report.mi;
            (*rate, offset) = (*rate + taken, offset - taken);
        }
        self.share(rates, offset, paths);
    }

    fn share(&self, rates: &mut [f64; MOST_PATHS], offset: f64, paths: &[Report]) {
        let takes = |path: usize| {
            paths
                .get(path)
                .is_some_and(|report| !self.cut[path] && !report.queued)
        };
        let total: f64 = (0..MOST_PATHS)
            .filter(|&path| takes(path))
            .map(|path| rates[path])
            .sum();
        for (path, rate) in rates.iter_mut().enumerate() {
            if takes(path) && total > 0.0 {
                *rate += offset * (*rate / total);
            }
        }
    }
}

/// `R·RTT/MSS` in whole segments, at least 2.
fn window(rate: f64, report: &Report, mss: u32) -> u32 {
    ((rate * report.base_rtt_s / f64::from(mss.max(1))) as u32).max(2)
}

#[cfg(test)]
mod tests;
