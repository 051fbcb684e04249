//! What a network is made of: the numbers that a plan gives for its links.
//!
//! Every link has a name of its own: it names the link's random streams, so that adding a link never shifts the draws of the
//! others.

mod air;
mod cable;
mod cell;
pub(crate) mod check;
mod error;
mod queue;
mod wifi;

use alloc::string::String;
use alloc::vec::Vec;
use units::{Dbm, Duration};

use crate::{LinkId, Position};

pub use air::{
    AirConfig, AirError, Countdown, Discipline, Eifs, Ht, NoiseConfig, RateControl, Rules, StationConfig,
    Thresholds,
};
pub use cable::{BottleneckConfig, CableConfig, Wire};
pub use cell::{CellConfig, CellLane, CellRate, Holes, RadioStates, Repeats};
pub use error::ConfigError;
pub use queue::{Codel, QueueConfig, QueueLimit};
pub(crate) use wifi::channels;
pub use wifi::{Backhaul, Fading, Join, Propagation, Radio, Shadowing, Wall, WifiConfig};

/// The whole network, as [`crate::Network::new`] takes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NetworkConfig {
    /// The links; a [`crate::LinkId`] is an index in this list.
    pub links: Vec<LinkConfig>,
    /// Bottlenecks that several cables share ([`CableConfig::behind`] is an index in this list).
    pub bottlenecks: Vec<BottleneckConfig>,
    /// Walls between access points and the client.
    pub walls: Vec<Wall>,
    /// The client's radio: where it stands first, and how strong it is.
    pub radio: Radio,
    /// Whether monitor interfaces of the client's tell every frame that they hear ([`crate::Output::Heard`], and on the exact medium
    /// [`crate::Network::overheard`]).
    pub monitor: bool,
    /// How finely its access points are modelled.
    pub medium: Medium,
    /// What else is on the air. Only on the exact medium.
    pub noise: Vec<NoiseConfig>,
    /// What the standard leaves open, or an experiment changes. Only on the exact medium.
    pub rules: Rules,
    /// What the client's radios sense, and when they ask before they send. Only on the exact medium.
    pub thresholds: Thresholds,
    /// Whether the client's radios sleep between beacons while they have an address. Only on the exact medium.
    pub power_save: bool,
    /// What others send. Only on the exact medium.
    pub background: Background,
}

/// How finely access points and the air between them and the client are modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Medium {
    /// Exchanges, one at a time in each channel ([`crate::wifi`]).
    #[default]
    Exchanges,
    /// Every frame, and who hears whom ([`crate::air`]).
    Frames,
}

/// Traffic that is not the world's: that of other stations, and what access points say to everyone. Only on the exact medium.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Background {
    /// Other stations than access points and the client.
    pub stations: Vec<OtherStation>,
    /// What is sent; [`crate::Output::Background`] numbers them so.
    pub flows: Vec<BackgroundFlow>,
}

/// A radio on the channel of an access point; its standard, rate control and queue are those of the first one there.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherStation {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Transmit power, antenna gain included.
    pub power: Dbm,
    /// What it senses, and when it asks before it sends.
    pub thresholds: Thresholds,
    /// An access point on its channel.
    pub link: LinkId,
}

/// Datagrams from or to an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundFlow {
    /// Which.
    pub link: LinkId,
    /// From whom to whom; stations are indices in [`Background::stations`].
    pub way: BackgroundWay,
    /// Length of the IP packets.
    pub bytes: u32,
    /// From one to the next; `None`: one more always waits.
    pub every: Option<Duration>,
    /// When the first is sent.
    pub start: Duration,
}

/// From whom to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundWay {
    /// From the access point to that station.
    Down(usize),
    /// From that station to the access point.
    Up(usize),
    /// From the access point to everyone in reach; never acknowledged.
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
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Cable(cable) => &cable.name,
            Self::Cell(cell) => &cell.name,
            Self::Wifi(wifi) => &wifi.name,
        }
    }
}
