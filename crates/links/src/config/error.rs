//! Errors of network configurations.

use alloc::string::String;
use thiserror::Error;
use units::Bitrate;

use super::air::AirError;

/// What is wrong with a [`crate::NetworkConfig`]. Every message names the link and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Two links have the same name. Names seed the random streams.
    #[error("two links are called `{0}`; give each a name of its own")]
    DuplicateName(String),
    /// Too many links. Their numbers have 16 bits.
    #[error("{0} links; at most 65,536 fit into one network")]
    TooManyLinks(usize),
    /// A cable's shared bottleneck does not exist.
    #[error("`{link}` lies behind bottleneck {index}, but there are only {known}; name one that exists")]
    UnknownBottleneck {
        /// The cable.
        link: String,
        /// The index it requests.
        index: usize,
        /// How many there are.
        known: usize,
    },
    /// A rate of zero: nothing would ever pass.
    #[error("`{0}` has a rate of zero; give it a rate, and use a fault to stop it later")]
    NoRate(String),
    /// A trace without opportunities, or whose last one is at zero.
    #[error("the trace of `{0}` has no period; it needs a line later than 0 ms")]
    EmptyTrace(String),
    /// A trace whose times decrease.
    #[error("the trace of `{link}` goes back in time at opportunity {index}; sort its lines")]
    TraceGoesBack {
        /// The cell.
        link: String,
        /// Counted from zero.
        index: usize,
    },
    /// Coverage holes that overlap, are out of order, exceed their period, or leave no coverage.
    #[error(
        "the coverage holes of `{0}` must be in order, must not overlap, must end within their period and leave some coverage"
    )]
    Holes(String),
    /// A radio that would never send, or would lose every packet.
    #[error("`{0}` must send each packet at least one time, and lose a share of them below 1")]
    Repeats(String),
    /// A rate that the standard does not have.
    #[error("`{link}`: {rate} is not a rate of 802.11{band}; leave it out, or take one of the standard's")]
    Rate {
        /// The access point.
        link: String,
        /// The value it requests.
        rate: Bitrate,
        /// The standard's letter.
        band: char,
    },
    /// A feature that only the exact medium has.
    #[error("{what} asks for the exact medium; choose it, or remove that")]
    Finer {
        /// The one that requests it.
        what: String,
    },
    /// The access points of one channel differ in their standard, but a radio has only one.
    #[error(
        "the access points of channel {channel} differ in their standard; give all of a channel the same"
    )]
    Unlike {
        /// The channel.
        channel: u8,
    },
    /// A background flow without a valid sender or receiver.
    #[error(
        "flow {0} of the background names no access point, or a station that there is not; name those that exist"
    )]
    Background(usize),
    /// Several access points on the channel of a radio with power save, which wakes for the beacons of only
    /// one.
    #[error(
        "channel {channel} has several access points, and a radio that saves power wakes for the beacons of one; leave it awake, or move all but one of them"
    )]
    SleepsTwice {
        /// The channel.
        channel: u8,
    },
    /// An access point with its own fading or implementation loss. The exact medium has these once for the
    /// whole place.
    #[error(
        "`{0}` has fading or an implementation loss of its own, which the exact medium has once for the whole place; move it there"
    )]
    OwnFading(String),
    /// An error of the air's configuration.
    #[error(transparent)]
    Air(#[from] AirError),
    /// A channel outside the standard's band.
    #[error("`{link}`: there is no channel {channel} in 802.11{band}; use {right}")]
    Channel {
        /// The access point.
        link: String,
        /// The value it requests.
        channel: u8,
        /// The standard's letter.
        band: char,
        /// The channels that exist.
        right: &'static str,
    },
}
