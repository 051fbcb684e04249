//! The reason for an order, as a sentence with its numbers.
//!
//! # Checked by
//! `steer::tests`: every order has its reason; `tests/engine_steering.rs`: what a user reads.

use core::fmt;
use units::{Bitrate, Duration, Ratio};

/// Why an access point is used, demoted or marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
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
    /// The efficient ones leave idle air that this one can use.
    IdleAir {
        /// The share of time in which the medium is busy.
        busy: Ratio,
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
    /// It is held to the air that the efficient ones leave.
    Held {
        /// The present marking rate.
        rate: Ratio,
        /// The share of time in which the medium is busy.
        busy: Ratio,
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

/// Milliseconds with two decimals.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.0.as_micros() / 10;
        write!(f, "{}.{:02} ms", hundredths / 100, hundredths % 100)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Efficient { packet_time, best } => write!(
                f,
                "a packet costs {} of air here, and {} at the best access point of the channel",
                Millis(packet_time),
                Millis(best)
            ),
            Self::Poor { packet_time, best } => write!(
                f,
                "a packet costs {} of air here, but only {} at the best access point of the channel",
                Millis(packet_time),
                Millis(best)
            ),
            Self::Short { goodput, alone } => write!(
                f,
                "the better access points bring {goodput}, less than the {alone} that this one could, and not for want of air"
            ),
            Self::IdleAir { busy } => write!(f, "the air is busy only {busy} of the time"),
            Self::NoGain { before, with } => {
                write!(f, "{with} came in with it, {before} before it was used")
            }
            Self::Trying { with } => write!(
                f,
                "silenced for a moment to see whether more than {with} comes in without it"
            ),
            Self::Missed { with, without } => {
                write!(f, "only {without} came in without it, {with} with it")
            }
            Self::Marked {
                rate,
                target,
                packet_time,
                best,
            } => write!(
                f,
                "{rate} of its packets are marked, on the way to {target}: a packet costs {} of air here, {} at the best",
                Millis(packet_time),
                Millis(best)
            ),
            Self::Held { rate, busy } => write!(
                f,
                "{rate} of its packets are marked to hold it to the air that is left; {busy} of it is busy"
            ),
            Self::OnlyOne { chosen } => {
                write!(
                    f,
                    "one at a time, and no packet costs clearly less air than its {}",
                    Millis(chosen)
                )
            }
            Self::OneAtATime { packet_time, best } => write!(
                f,
                "one at a time, and its packet costs {} of air against {}",
                Millis(packet_time),
                Millis(best)
            ),
        }
    }
}
