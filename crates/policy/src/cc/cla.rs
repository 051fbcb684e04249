//! CLA: before a hand-off the fading path gives its rate to the others. After it, the new path starts with a
//! window that it can carry.
//!
//! # Sources
//! - cla §IV: mobility index `MI = arctan(m)/(π/2)` (m = signal trend, dB/s), quality
//!   `Q = SNR1/(SNR1 + SNR2)`. Mobile stage: `R_off = R(t0)·(1−Q)·MI`. Hand-off stage: `w = N` segments
//!   (`BDP_UB = S·N`). The hand-off stage's other two steps are in `cla/handoff.rs`.
//!
//! # Where we differ, and why
//! 1. Each fading causes one cut, from the rate at its start. A cut at every report would compound.
//! 2. The other paths share the removed rate in proportion to their own rates. The paper has only one other
//!    path.
//! 3. `w = R·RTT/MSS` uses the round-trip time without queueing (the paper's footnote). With the inflated one
//!    the window would not shrink.
//! 4. `N` defaults to ten where it is unknown, and nothing here knows it. The paper does not say how it
//!    obtains `BDP_UB`. The paper's bound neglects propagation, so it is not the real product of any path,
//!    and it needs the hop counts of both directions. The TTL of arriving packets would give one direction if
//!    the initial TTL were known. But the kernel does not report the TTL of a TCP socket (`TCP_INFO` has
//!    none). Ten segments are the initial window of RFC 6928 and of every Linux subflow, so this default
//!    leaves a new subflow's window unchanged. With 12 hops each way (24), a new subflow carries up to 6 %
//!    more in its first 2.5 s (`crates/sim/tests/cla_handoff.rs`).
//! 5. Rate that no other path can take stays on the fading path. If every other path has a queue, its rate is
//!    all it can carry, and more would only slow the connection down. The fading path's window then becomes
//!    its bandwidth-delay product without queueing, so a hand-off loses as little as with the paper's cut.
//!
//! # Checked by
//! `cc::tests`: signs and limits of MI and Q, one cut per fading. `tests`: `golden/cla.csv`, the sum of the
//! rates stays the same.

use super::MOST_PATHS;
pub use handoff::HandOffStage;
use units::{Db, Ratio};

mod handoff;

/// A fading path with a quality above this has recovered.
const RECOVERED: f64 = 0.55;
/// Default hop count of the round trip: the initial window of a TCP, in segments (RFC 6928 §2).
const DEFAULT_HOPS: u32 = 10;

/// `MI`, −1 to 1: how fast the signal changes. Negative when it gets weaker.
pub fn mobility_index(trend_db_per_s: f64) -> f64 {
    libm::atan(trend_db_per_s) / core::f64::consts::FRAC_PI_2
}

/// `Q`, 0 to 1: the path's signal relative to the next candidate on the same interface. Signals in dB, at
/// least 1.
pub fn quality(own: Db, candidate: Option<Db>) -> Ratio {
    let floor = |snr: Db| snr.as_db_f64().max(1.0);
    let other = candidate.map_or(0.0, floor);
    Ratio::clamped(floor(own) / (floor(own) + other))
}

/// Window after a hand-off, in segments: the hop count of the round trip (BDP_UB = S·N), 10 if unknown.
pub const fn bdp_upper_bound(hops: Option<u32>) -> u32 {
    match hops {
        Some(hops) if hops > 2 => hops,
        Some(_) => 2,
        None => DEFAULT_HOPS,
    }
}

/// State of one path at a report of the mobile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Bytes per second acknowledged during the last round trip.
    pub rate: f64,
    /// Round-trip time without queueing, in seconds.
    pub base_rtt_s: f64,
    /// Mobility index, −1 to 1.
    pub mi: f64,
    /// Quality, 0 to 1.
    pub q: f64,
    /// Whether the backlog exceeds the bytes in flight: the path carries all it can.
    pub queued: bool,
}

impl Report {
    const fn is_fading(&self) -> bool {
        self.q <= 0.5 && self.mi < 0.0
    }
}

/// The mobile stage: remembers which paths have been cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MobileStage {
    cut: [bool; MOST_PATHS],
}

impl MobileStage {
    /// Returns new windows in segments, one per path, if a path has just started to fade. `None` if nothing
    /// changes.
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

    /// Records a completed hand-off on this path: the path may be cut again.
    pub const fn handed_off(&mut self, path: usize) {
        if path < MOST_PATHS {
            self.cut[path] = false;
        }
    }

    /// Moves `R_off` from the paths that start to fade to the others.
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
