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
    #[error("{0} links; use at most 65,536 in one network")]
    TooManyLinks(usize),
    /// A cable's shared bottleneck does not exist.
    #[error("`{link}` is behind bottleneck {index}, but there are only {known}; name one that exists")]
    UnknownBottleneck {
        /// The cable.
        link: String,
        /// The index it requests.
        index: usize,
        /// How many there are.
        known: usize,
    },
    /// A rate of zero: nothing would ever pass.
    #[error("`{0}` has a rate of zero; give it a rate, or use a fault to stop it later")]
    NoRate(String),
    /// A trace without opportunities, or whose last one is at zero.
    #[error("the trace of `{0}` has no period; it needs a line later than 0 ms")]
    EmptyTrace(String),
    /// A trace whose times decrease.
    #[error("the trace of `{link}` is not in order of time at opportunity {index}; sort its lines")]
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
    #[error(
        "`{0}` must transmit each packet at least once, and the loss rate must be below 1; change these values"
    )]
    Repeats(String),
    /// A rate that the standard does not have.
    #[error("`{link}`: 802.11{band} has no rate of {rate}; remove it, or use a rate of the standard")]
    Rate {
        /// The access point.
        link: String,
        /// The value it requests.
        rate: Bitrate,
        /// The standard's letter.
        band: char,
    },
    /// A feature that only the exact medium has.
    #[error("{what} needs the exact medium; select it, or remove that")]
    Finer {
        /// The one that requests it.
        what: String,
    },
    /// An access point without packets on the weighted medium.
    #[error("packets of `{0}` need an airtime and a weight on the weighted medium; give it both, at least 1")]
    Turn(String),
    /// The access points of one channel differ in their standard, but a radio has only one.
    #[error("the access points on channel {channel} use different standards; give all of them the same")]
    Unlike {
        /// The channel.
        channel: u8,
    },
    /// The access points of a single radio differ in their standard.
    #[error(
        "`{0}` has another standard than the other access points, but the client's single radio has one; give all of them the same"
    )]
    UnlikeRadio(String),
    /// A background flow without a valid sender or receiver.
    #[error(
        "background flow {0} names no access point, or a station that does not exist; name existing ones"
    )]
    Background(usize),
    /// Another host that uses no existing link.
    #[error("`{host}` uses link {index}, but there are only {known}; name one that exists")]
    UnknownLink {
        /// The host.
        host: String,
        /// The index it requests.
        index: u16,
        /// How many there are.
        known: usize,
    },
    /// Several access points on the channel of a radio with power save, which wakes for the beacons of only
    /// one.
    #[error(
        "channel {channel} has several access points, but a radio that saves power wakes for the beacons of one only; turn power saving off, or move the others"
    )]
    SleepsTwice {
        /// The channel.
        channel: u8,
    },
    /// An access point with its own fading or implementation loss. The exact medium has these once for the
    /// whole place.
    #[error(
        "`{0}` has its own fading or implementation loss, but the exact medium has one for all links; set it there"
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
