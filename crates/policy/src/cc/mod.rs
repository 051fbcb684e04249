//! Congestion controllers as window arithmetic. A modelled TCP calls them per acknowledgement and per loss,
//! and the project's BPF programs repeat them bit by bit.
//!
//! Input: acknowledgements, losses and all paths of a connection. Output: changes of a congestion window.
//!
//! A controller computes how much the window grows per newly acknowledged segment in congestion avoidance
//! ([`Increase`]), and the window after a loss. TCP itself does slow start, recovery and time-outs, except
//! for CLA's changes at a hand-off ([`HandOffStage`]). Sender models share three more parts from here: the
//! RFC 6298 estimator ([`RoundTrip`]), proportional rate reduction ([`Prr`]) and HyStart++ ([`HyStart`]).
//! Numbers are [`Soft`], so windows and round-trip times have no range limit. Results are in units of 2⁻³²
//! segments.
//!
//! | controller | largest error of the growth against the real-valued equation | window after a loss |
//! |---|---|---|
//! | Reno | one part in 2³¹, plus one unit of the result | exact, rounded down to a segment |
//! | LIA, OLIA | 10 parts in 2³⁰, plus three units | exact, rounded down to a segment |
//! | BALIA | 20 parts in 2³⁰, plus one unit | within one segment |
//!
//! OLIA treats paths as equal if they are within 1/64. At exactly that limit, either of two answers is
//! correct. CUBIC and CLA's mobile stage are computed in `f64` because no BPF program repeats them.
//!
//! Controllers do not run in the engine. The sender owns a [`Controller`] (a modelled TCP) or loads its BPF
//! twin (a host). A controller that needs the signal trend, which the engine knows, receives it in
//! [`crate::Action::Outlook`].
//!
//! # Sources
//! - RFC 5681 (Reno), RFC 6356 (LIA), RFC 9438 (CUBIC). The others name theirs in their files.
//!
//! # Where we differ, and why
//! 1. Windows are in segments, and growth is per newly acknowledged segment, as the kernel counts. The
//!    equations of RFC 6356 count bytes.
//!
//! # Checked by
//! `tests`: golden vectors, the real-valued equations, invariants. `tests/data_plane.rs`: senders over two
//! paths. `tests/engine_air.rs`: CLA's mobile stage on the engine's outlooks.
//! `crates/sim/tests/cla_handoff.rs`: its hand-off stage in a sender of segments.
//! `crates/sim/tests/cc_share.rs`: shares of a bottleneck.

mod balia;
mod cla;
mod cubic;
mod hystart;
mod lia;
mod mean;
mod olia;
mod prr;
mod reno;
mod rto;
mod soft;
#[cfg(test)]
mod tests;

use balia::Balia;
pub use cla::{HandOffStage, MobileStage, Report, bdp_upper_bound, mobility_index, quality};
pub use cubic::Cubic;
pub use hystart::HyStart;
pub use mean::MeanWindow;
pub use olia::Interval;
use olia::Olia;
pub use prr::Prr;
pub use rto::RoundTrip;
pub use soft::Soft;

/// Maximum number of paths per connection that a controller considers, as in the BPF programs.
pub const MOST_PATHS: usize = 8;

/// One path of the connection, as a controller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// Congestion window in segments. For a path in recovery: its slow-start threshold.
    pub cwnd: u32,
    /// Smoothed round-trip time in µs. 0 until the first measurement: controllers ignore the path until then.
    pub srtt_us: u32,
    /// Used by LIA: mean window over the last losses.
    pub mean: MeanWindow,
    /// Used by OLIA: bytes acknowledged around the last losses.
    pub interval: Interval,
}

impl Flow {
    fn window(&self) -> Soft {
        Soft::new(u64::from(self.cwnd.max(1)))
    }

    fn rtt(&self) -> Soft {
        Soft::new(u64::from(self.srtt_us))
    }

    /// Segments per microsecond.
    fn rate(&self) -> Soft {
        self.window().over(self.rtt())
    }

    /// `w / rtt²`.
    fn gradient(&self) -> Soft {
        self.rate().over(self.rtt())
    }

    /// Equilibrium window: the mean window, within a factor of four of the current one.
    fn balance(&self) -> Soft {
        let (now, four) = (self.window(), Soft::new(4));
        match self.mean.window() {
            None => now,
            Some(mean) => mean.most(now.over(four)).least(now.times(four)),
        }
    }

    const fn counts(&self) -> bool {
        self.srtt_us > 0 && self.cwnd > 0
    }
}

fn total_rate(flows: &[Flow]) -> Soft {
    flows
        .iter()
        .filter(|flow| flow.counts())
        .fold(Soft::ZERO, |sum, flow| sum.plus(flow.rate()))
}

/// Window growth per newly acknowledged segment, in units of 2⁻³² segments. OLIA's may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Increase(pub i64);

/// The controller to run. Calls dispatch on this enum, not on a trait object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// RFC 5681, uncoupled.
    Reno,
    /// RFC 6356.
    Lia,
    /// LIA with α as the cla paper prints it (the sum is not squared), for golden vectors only.
    ClaPrinted,
    /// Khalili et al. 2012.
    Olia,
    /// draft-walid-mptcp-congestion-control.
    Balia,
}

impl Controller {
    /// Growth of the window of `flows[own]` per newly acknowledged segment in congestion avoidance.
    ///
    /// `flows` are the connection's established paths, at most [`MOST_PATHS`]. Paths without a round-trip
    /// time are ignored.
    ///
    /// # Panics
    /// If `own` is not an index of `flows`.
    pub fn increase(self, own: usize, flows: &[Flow]) -> Increase {
        match self {
            Self::Reno => reno::increase(&flows[own]),
            Self::Lia => lia::increase(own, flows),
            Self::ClaPrinted => lia::increase_printed(own, flows),
            Self::Olia => Olia::increase(own, flows),
            Self::Balia => Balia::increase(own, flows),
        }
    }

    /// Window of `flows[own]` after a loss, in segments, at least 2 (RFC 5681 §3.1).
    ///
    /// # Panics
    /// If `own` is not an index of `flows`.
    pub fn after_loss(self, own: usize, flows: &[Flow]) -> u32 {
        match self {
            Self::Balia => Balia::after_loss(own, flows),
            Self::Reno | Self::Lia | Self::ClaPrinted | Self::Olia => reno::after_loss(&flows[own]),
        }
    }
}

/// Accumulates fractions of segments into whole ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Credit(i64);

/// Upper limit on segments in flight.
const MOST_ACKED: u32 = 1 << 29;

impl Credit {
    /// Adds the growth for `acked` segments at `increase` each, and returns the change of the window now, in
    /// whole segments. No controller's increase exceeds 2³³ units.
    pub const fn add(&mut self, increase: Increase, acked: u32) -> i32 {
        let acked = if acked < MOST_ACKED { acked } else { MOST_ACKED };
        let sum = self.0 + increase.0.saturating_mul(acked as i64) / 2;
        let whole = sum >> 31;
        self.0 = sum - (whole << 31);
        whole as i32
    }
}
