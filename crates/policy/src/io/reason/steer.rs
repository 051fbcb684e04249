//! Why an access point is used, demoted or marked.
//!
//! # Checked by
//! `steer::tests`: every order has its reason; `tests/engine_steering.rs`: what a user reads.

use units::{Bitrate, Duration, Ratio};

/// Why an access point is used, demoted or marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steer {
    /// Its packets cost about as much airtime as the best one's.
    Efficient {
        /// Airtime of its packets.
        packet_time: Duration,
        /// Airtime of the best one's packets.
        best: Duration,
    },
    /// Its packets cost clearly more airtime than the best one's.
    Poor {
        /// Airtime of its packets.
        packet_time: Duration,
        /// Airtime of the best one's packets.
        best: Duration,
    },
    /// The efficient ones carry less than this one could alone, and the air is not what limits them.
    Short {
        /// Goodput of the efficient ones.
        goodput: Bitrate,
        /// What this one could carry alone.
        alone: Bitrate,
    },
    /// Its use has not raised goodput.
    NoGain {
        /// Total goodput without it.
        before: Bitrate,
        /// Total goodput with it.
        with: Bitrate,
    },
    /// It is demoted for a moment, to see whether the efficient ones do better without it.
    Trying {
        /// Total goodput with it.
        with: Bitrate,
    },
    /// Its demotion gained nothing.
    Missed {
        /// Total goodput with it.
        with: Bitrate,
        /// Total goodput without it.
        without: Bitrate,
    },
    /// Its marking rate moves towards the rate that its packet time and round trip permit.
    Marked {
        /// The present rate.
        rate: Ratio,
        /// The target rate.
        target: Ratio,
        /// Airtime of its packets.
        packet_time: Duration,
        /// Airtime of the best one's packets.
        best: Duration,
    },
    /// One at a time: this one is chosen.
    OnlyOne {
        /// Airtime of its packets.
        chosen: Duration,
    },
    /// One at a time: another one is chosen.
    OneAtATime {
        /// Airtime of its packets.
        packet_time: Duration,
        /// Airtime of the chosen one's packets.
        best: Duration,
    },
}

impl Steer {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Efficient { .. } => "steer-efficient",
            Self::Poor { .. } => "steer-poor",
            Self::Short { .. } => "steer-short",
            Self::NoGain { .. } => "steer-no-gain",
            Self::Trying { .. } => "steer-trying",
            Self::Missed { .. } => "steer-missed",
            Self::Marked { .. } => "steer-marked",
            Self::OnlyOne { .. } => "steer-only-one",
            Self::OneAtATime { .. } => "steer-one-at-a-time",
        }
    }
}
