//! The reason of an order, in a sentence with the numbers behind it.
//!
//! # Checked by
//! `steer::tests`: every order has its reason; `tests/engine_steering.rs`: what a user reads.

use core::fmt;
use units::{Bitrate, Duration, Ratio};

/// Why an access point is used, silenced or marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its packets cost about as much air as the best one's.
    Efficient {
        /// What its packet costs.
        packet_time: Duration,
        /// What the best one's costs.
        best: Duration,
    },
    /// Its packets cost clearly more air than the best one's.
    Poor {
        /// What its packet costs.
        packet_time: Duration,
        /// What the best one's costs.
        best: Duration,
    },
    /// The efficient ones bring less than this one could alone, and the air is not what holds them back.
    Short {
        /// What the efficient ones bring.
        goodput: Bitrate,
        /// What this one could bring alone.
        alone: Bitrate,
    },
    /// The efficient ones leave air idle that this one can use.
    IdleAir {
        /// The share of the time in which the medium is busy.
        busy: Ratio,
    },
    /// Since it was used, no more came in than without it.
    NoGain {
        /// In all, without it.
        before: Bitrate,
        /// In all, with it.
        with: Bitrate,
    },
    /// It is silenced for a moment, to see whether the efficient ones do better without it.
    Trying {
        /// In all, with it.
        with: Bitrate,
    },
    /// Silencing it did not pay.
    Missed {
        /// In all, with it.
        with: Bitrate,
        /// In all, without it.
        without: Bitrate,
    },
    /// Its marking rate moves towards what its packet time and round trip allow.
    Marked {
        /// The rate now.
        rate: Ratio,
        /// Where it goes.
        target: Ratio,
        /// What its packet costs.
        packet_time: Duration,
        /// What the best one's costs.
        best: Duration,
    },
    /// It is held to the air that the efficient ones leave.
    Held {
        /// The marking rate now.
        rate: Ratio,
        /// The share of the time in which the medium is busy.
        busy: Ratio,
    },
    /// One at a time: this is the one.
    OnlyOne {
        /// What its packet costs.
        chosen: Duration,
    },
    /// One at a time: another is the one.
    OneAtATime {
        /// What its packet costs.
        packet_time: Duration,
        /// What the chosen one's costs.
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
