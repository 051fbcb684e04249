//! Why a network cannot be built.

use alloc::string::String;
use thiserror::Error;
use units::Bitrate;

use super::air::AirError;

/// What is wrong with a [`crate::NetworkConfig`]. Every message names the link and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Random streams are named after links.
    #[error("two links are called `{0}`; give each a name of its own")]
    DuplicateName(String),
    /// Links are numbered with 16 bits.
    #[error("{0} links; at most 65,536 fit into one network")]
    TooManyLinks(usize),
    /// A cable lies behind nothing.
    #[error("`{link}` lies behind bottleneck {index}, but there are only {known}; name one that exists")]
    UnknownBottleneck {
        /// The cable.
        link: String,
        /// What it asks for.
        index: usize,
        /// How many there are.
        known: usize,
    },
    /// Nothing would ever pass.
    #[error("`{0}` has a rate of zero; give it a rate, and use a fault to stop it later")]
    NoRate(String),
    /// A trace without opportunities, or whose last one is at zero.
    #[error("the trace of `{0}` has no period; it needs a line later than 0 ms")]
    EmptyTrace(String),
    /// A trace that runs backwards.
    #[error("the trace of `{link}` goes back in time at opportunity {index}; sort its lines")]
    TraceGoesBack {
        /// The cell.
        link: String,
        /// Counted from zero.
        index: usize,
    },
    /// Coverage holes that overlap, are out of order, reach over their period, or leave nothing.
    #[error(
        "the coverage holes of `{0}` must be in order, must not overlap, must end within their period and leave some coverage"
    )]
    Holes(String),
    /// A radio that would never send, or never get anything through.
    #[error("`{0}` must send each packet at least one time, and lose a share of them below 1")]
    Repeats(String),
    /// A rate that the standard does not have.
    #[error("`{link}`: {rate} is not a rate of 802.11{band}; leave it out, or take one of the standard's")]
    Rate {
        /// The access point.
        link: String,
        /// What it asks for.
        rate: Bitrate,
        /// The standard's letter.
        band: char,
    },
    /// Something that only the exact medium has.
    #[error("{what} asks for the exact medium; choose it, or remove that")]
    Finer {
        /// Who asks.
        what: String,
    },
    /// A radio is of one kind.
    #[error(
        "the access points of channel {channel} differ in their standard; give all of a channel the same"
    )]
    Unlike {
        /// Which.
        channel: u8,
    },
    /// Datagrams from nobody, or to nobody.
    #[error(
        "flow {0} of the background names no access point, or a station that there is not; name those that exist"
    )]
    Background(usize),
    /// A radio that sleeps wakes for the beacons of one.
    #[error(
        "channel {channel} has several access points, and a radio that saves power wakes for the beacons of one; leave it awake, or move all but one of them"
    )]
    SleepsTwice {
        /// Which.
        channel: u8,
    },
    /// Who hears whom is worked out for the whole place.
    #[error(
        "`{0}` has fading or an implementation loss of its own, which the exact medium has once for the whole place; move it there"
    )]
    OwnFading(String),
    /// What the exact medium refuses.
    #[error(transparent)]
    Air(#[from] AirError),
    /// A channel outside the standard's band.
    #[error("`{link}`: there is no channel {channel} in 802.11{band}; use {right}")]
    Channel {
        /// The access point.
        link: String,
        /// What it asks for.
        channel: u8,
        /// The standard's letter.
        band: char,
        /// What exists.
        right: &'static str,
    },
}
