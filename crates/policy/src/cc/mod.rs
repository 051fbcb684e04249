//! Congestion controllers, as window arithmetic that a modelled TCP calls per acknowledgement and per loss, and that the
//! project's BPF programs repeat bit by bit.
//!
//! In go acknowledgements, losses and all paths of a connection. Out come changes of a congestion window.
//!
//! A controller says by how much the window grows for one newly acknowledged segment in congestion avoidance ([`Increase`]), and
//! what is left of it after a loss. Slow start, recovery and time-outs are TCP's, but for what CLA does with them at a hand-off
//! ([`HandOffStage`]); the parts of it that models of senders share are here, too: the estimates of RFC 6298 ([`RoundTrip`]), proportional rate
//! reduction ([`Prr`]), HyStart++ ([`HyStart`]). Numbers are [`Soft`], so any window and
//! round-trip time may come; what is returned is in parts of 2³² of a segment.
//!
//! | controller | growth, against its equation in real numbers | window after a loss |
//! |---|---|---|
//! | Reno | one part in 2³¹, and one of the parts that are returned | exact, cut to a segment |
//! | LIA, OLIA | 10 parts in 2³⁰, and three of those parts | exact, cut to a segment |
//! | BALIA | 20 parts in 2³⁰, and one | one segment |
//!
//! OLIA's sets are of paths that are equal within 1/64; where a path is on that very edge the equation, too, gives either of two answers.
//! CUBIC and CLA's mobile stage are computed in `f64`: nothing in BPF repeats them.
//!
//! This does not pass through the engine: whoever sends owns a [`Controller`] (a modelled TCP) or loads its BPF twin (a host). What the
//! engine knows and a controller needs, how a signal goes, comes as [`crate::Action::Outlook`].
//!
//! # Sources
//! - RFC 5681 (Reno), RFC 6356 (LIA), RFC 9438 (CUBIC); the others name theirs in their files.
//!
//! # Where we differ, and why
//! 1. Windows are in segments, and growth is for one segment newly acknowledged, as the kernel counts; the equations of RFC 6356 count bytes.
//!
//! # Checked by
//! `tests`: golden vectors, the real-valued equations, invariants; `tests/data_plane.rs`: senders over two paths; `tests/engine_air.rs`: CLA's
//! mobile stage on the engine's outlooks; `crates/sim/tests/cla_handoff.rs`: its hand-off stage in a sender of segments;
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

/// The most paths of one connection that a controller looks at, as in the BPF programs.
pub const MOST_PATHS: usize = 8;

/// A path of the connection, as a controller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// Congestion window in segments; of a path in recovery, its slow-start threshold.
    pub cwnd: u32,
    /// Smoothed round-trip time in microseconds; 0 until one was measured (the path does not count then).
    pub srtt_us: u32,
    /// LIA: what the window was on average around the last losses.
    pub mean: MeanWindow,
    /// OLIA: what was acknowledged around the last losses.
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

    /// The window that the path has in balance: its mean, but no more than a factor of four from what it has now.
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

/// Growth for one newly acknowledged segment, in parts of 2³² of a segment; OLIA's may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Increase(pub i64);

/// Which controller runs; the call goes by this enum, not by a trait object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// RFC 5681, uncoupled.
    Reno,
    /// RFC 6356.
    Lia,
    /// The form of LIA's α that the cla paper prints (the sum is not squared); for golden vectors only.
    ClaPrinted,
    /// Khalili et al. 2012.
    Olia,
    /// draft-walid-mptcp-congestion-control.
    Balia,
}

impl Controller {
    /// How much `flows[own]` grows for one newly acknowledged segment in congestion avoidance.
    ///
    /// `flows` are the connection's established paths, at most [`MOST_PATHS`]; those without a round-trip time do not count.
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

    /// The window of `flows[own]` after a loss, in segments, never under 2 (RFC 5681 §3.1).
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

/// Collects parts of segments until they make whole ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Credit(i64);

/// More segments cannot be in flight.
const MOST_ACKED: u32 = 1 << 29;

impl Credit {
    /// `acked` segments were acknowledged, each worth `increase`: by how many whole segments the window changes now. No controller gives more than
    /// 2³³ parts.
    pub const fn add(&mut self, increase: Increase, acked: u32) -> i32 {
        let acked = if acked < MOST_ACKED { acked } else { MOST_ACKED };
        let sum = self.0 + increase.0.saturating_mul(acked as i64) / 2;
        let whole = sum >> 31;
        self.0 = sum - (whole << 31);
        whole as i32
    }
}
