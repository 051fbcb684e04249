//! Configuration of a network and its links.
//!
//! Every link has a unique name, which names its random streams. Adding a link therefore does not shift the
//! draws of the others.

mod air;
mod cable;
mod cell;
pub(crate) mod check;
mod error;
mod host;
mod queue;
mod wifi;

use alloc::string::String;
use alloc::vec::Vec;
use units::{Dbm, Duration};

use crate::{LinkId, Position};

pub use air::{
    AirConfig, AirError, Countdown, Discipline, Eifs, Ht, Loss, NoiseConfig, RateControl, Rules,
    StationConfig, Thresholds,
};
pub use cable::{BottleneckConfig, CableConfig, Wire};
pub use cell::{CellConfig, CellLane, CellRate, Holes, RadioStates, Repeats};
pub use error::ConfigError;
pub use host::{OtherHost, OtherLink};
pub(crate) use queue::FULL_PACKET;
pub use queue::{Codel, QueueConfig, QueueLimit};
pub(crate) use wifi::channels;
pub use wifi::{Backhaul, ErrorModel, Fading, Join, Propagation, Radio, Shadowing, Turn, Wall, WifiConfig};

/// The whole network, as [`crate::Network::new`] takes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NetworkConfig {
    /// The links. A [`crate::LinkId`] is an index in this list.
    pub links: Vec<LinkConfig>,
    /// Bottlenecks that several cables share ([`CableConfig::behind`] is an index in this list).
    pub bottlenecks: Vec<BottleneckConfig>,
    /// Walls between access points and the client.
    pub walls: Vec<Wall>,
    /// The client's radio: its first position and its power.
    pub radio: Radio,
    /// Whether the client's monitor interfaces report every frame they hear ([`crate::Output::Heard`], and on
    /// the exact medium [`crate::Network::overheard`]).
    pub monitor: bool,
    /// How detailed the model of the access points is.
    pub medium: Medium,
    /// Non-802.11 sources on the channels. Only on the exact medium.
    pub noise: Vec<NoiseConfig>,
    /// Choices that the standard leaves open, or that an experiment changes. Only on the exact medium.
    pub rules: Rules,
    /// Losses between stations, by their names: an access point's, or OWNER@CHANNEL, where the client is
    /// `client`. Only on the exact medium.
    pub losses: Vec<Loss>,
    /// Sensing thresholds of the client's radios, and when they send RTS. Only on the exact medium.
    pub thresholds: Thresholds,
    /// Whether the client's radios sleep between beacons while they have an address. Only on the exact
    /// medium.
    pub power_save: bool,
    /// Whether the client has one radio for all access points, which takes turns on their channels
    /// ([`crate::Network::take_turns`]), and not one on each channel. Only on the exact medium.
    pub single_radio: bool,
    /// Background traffic. Only on the exact medium.
    pub background: Background,
    /// Hosts that use these links beside the client. Those that use access points need the exact medium.
    pub hosts: Vec<OtherHost>,
}

/// How detailed the model of access points and their air is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// Whole frame exchanges, one at a time in each channel ([`crate::wifi`]).
    #[default]
    Exchanges,
    /// Every frame, and which stations hear it ([`crate::air`]).
    Frames,
    /// Packets that take a fixed time, and a weighted fair queue that decides which is next. Only access
    /// points need air: what the client sends takes none ([`crate::wifi`]).
    Weighted,
}

/// Background traffic: that of other stations, and broadcasts of access points. Only on the exact medium.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Background {
    /// Stations other than access points and the client.
    pub stations: Vec<OtherStation>,
    /// The flows. [`crate::Output::Background`] refers to them by index.
    pub flows: Vec<BackgroundFlow>,
}

/// Another station on an access point's channel. Its standard, rate control and queue are those of the
/// channel's first access point.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherStation {
    /// Its name.
    pub name: String,
    /// Its position.
    pub position: Position,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// Its sensing thresholds, and when it sends RTS.
    pub thresholds: Thresholds,
    /// An access point on its channel.
    pub link: LinkId,
}

/// Datagrams from or to an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundFlow {
    /// The access point.
    pub link: LinkId,
    /// Direction and peer. Stations are indices in [`Background::stations`].
    pub way: BackgroundWay,
    /// Length of the IP packets.
    pub bytes: u32,
    /// Interval between datagrams. `None`: saturated, the next one always waits.
    pub every: Option<Duration>,
    /// When the first is sent.
    pub start: Duration,
}

/// Direction and peer of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundWay {
    /// From the access point to that station.
    Down(usize),
    /// From that station to the access point.
    Up(usize),
    /// Broadcast by the access point, never acknowledged.
    Everyone,
}

impl From<Vec<LinkConfig>> for NetworkConfig {
    fn from(links: Vec<LinkConfig>) -> Self {
        Self {
            links,
            ..Self::default()
        }
    }
}

/// One link.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkConfig {
    /// A wired link.
    Cable(CableConfig),
    /// A cellular link.
    Cell(CellConfig),
    /// One access point.
    Wifi(WifiConfig),
}

impl LinkConfig {
    /// Name of the link.
    pub fn name(&self) -> &str {
        match self {
            Self::Cable(cable) => &cable.name,
            Self::Cell(cell) => &cell.name,
            Self::Wifi(wifi) => &wifi.name,
        }
    }
}
