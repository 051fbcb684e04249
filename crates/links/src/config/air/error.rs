//! Errors of air configurations.

use alloc::string::String;
use thiserror::Error;
use units::Bitrate;

/// What is wrong with an [`super::AirConfig`]. Every message names the station and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AirError {
    /// Random streams are named after stations.
    #[error("two stations are called `{0}`; give each a name of its own")]
    DuplicateName(String),
    /// An air without stations.
    #[error("no stations; add at least one")]
    Empty,
    /// A rate that is not in the standard.
    #[error("`{station}`: 802.11{band} has no rate of {rate}; valid, in Mb/s: {valid}")]
    Rate {
        /// The station.
        station: String,
        /// The standard's letter.
        band: char,
        /// The value it requests.
        rate: Bitrate,
        /// The values that exist.
        valid: &'static str,
    },
    /// A feature that 802.11n does not have.
    #[error("`{station}`: 802.11n has no {what}; use {right}")]
    Ht {
        /// The station.
        station: String,
        /// The value it requests.
        what: &'static str,
        /// The values that exist.
        right: &'static str,
    },
    /// The upper half of a channel of 40 MHz is not free.
    #[error(
        "`{station}` has 40 MHz, channels {channel} and {upper}, and `{other}` is on channel {upper}; move one of them, or use 20 MHz"
    )]
    Overlap {
        /// The station.
        station: String,
        /// Its channel.
        channel: u8,
        /// The channel above it.
        upper: u8,
        /// The station that occupies it.
        other: String,
    },
    /// A channel outside the standard's band.
    #[error("`{station}`: there is no channel {channel} in 802.11{band}; use {right}")]
    Channel {
        /// The station.
        station: String,
        /// The value it requests.
        channel: u8,
        /// The standard's letter.
        band: char,
        /// The values that exist.
        right: &'static str,
    },
    /// The exact medium has no shadowing.
    #[error("the exact medium cannot compute shadowing along a path; use walls instead")]
    Shadowing,
    /// A source of noise that is always on, or never.
    #[error("noise `{0}` needs an on time and an off time above zero; give both")]
    Noise(String),
    /// The station would never transmit.
    #[error("the queue of `{0}` holds no packet; make it hold at least one")]
    NoQueue(String),
    /// The limit of attempts is zero.
    #[error(
        "frames would be dropped before the first attempt; allow at least one attempt, or unlimited attempts"
    )]
    NoAttempts,
    /// The energy threshold is below the preamble threshold.
    #[error(
        "`{0}` has an energy-detection threshold below its carrier-sense threshold; raise energy detection"
    )]
    Thresholds(String),
}
