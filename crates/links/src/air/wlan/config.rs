//! What a plan says about access points and clients, what goes in and what comes out.

use alloc::string::String;
use alloc::vec::Vec;
use thiserror::Error;
use units::wifi::BEACON_INTERVAL;
use units::{Bitrate, Db, Duration};

use super::super::io::{Output, Packet, StationId};
use super::access_point::AccessPoint;
use super::{AirConfig, Role};
use crate::air::AirError;
use crate::wifi::Join;
use crate::{CableConfig, ConfigError, Direction, DropReason, LinkId, LinkState, Position};

/// A place with access points and clients.
#[derive(Debug, Clone, PartialEq)]
pub struct WlanConfig {
    /// All stations, also those that are neither.
    pub air: AirConfig,
    /// Which of them are access points.
    pub access_points: Vec<AccessPointConfig>,
    /// Which of them are clients.
    pub clients: Vec<ClientConfig>,
}

/// One access point.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessPointConfig {
    /// Its place in the plan of the air.
    pub station: StationId,
    /// From one beacon to the next.
    pub beacon: Duration,
    /// Packets that it holds at most for each client that sleeps.
    pub held: usize,
    /// The wired segment behind it; `None`: what lies there is the world's, and packets enter and leave at the access point itself.
    pub wire: Option<CableConfig>,
    /// How long joining it takes, if not what the client says.
    pub join: Option<Join>,
    /// When it throws out a client that does not answer any more; `None`: never.
    pub patience: Option<Patience>,
}

/// How long an access point goes on sending to a client that does not acknowledge anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Frames given up in a row.
    pub frames: u32,
    /// Time since the last acknowledgement.
    pub time: Duration,
}

impl Default for Patience {
    /// 50 frames and a second: `STA_LOST_PKT_THRESHOLD` and `STA_LOST_PKT_TIME` of Linux's mac80211, upon which hostapd throws a client out
    /// (`disassoc_low_ack`).
    fn default() -> Self {
        Self {
            frames: 50,
            time: Duration::from_secs(1),
        }
    }
}

impl AccessPointConfig {
    /// Beacons every 102.4 ms, 128 packets held (Linux mac80211's `STA_MAX_TX_BUFFER` is 64 for each of four classes), 1 Gb/s without delay
    /// behind it. It throws nobody out.
    pub fn new(station: StationId, name: &str) -> Self {
        Self {
            station,
            beacon: BEACON_INTERVAL,
            held: 128,
            wire: Some(CableConfig::symmetric(
                name,
                Bitrate::from_mbps(1_000),
                Duration::ZERO,
            )),
            join: None,
            patience: None,
        }
    }
}

/// One client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// Its place in the plan of the air.
    pub station: StationId,
    /// How many associations its radio can have at a time.
    pub interfaces: u16,
    /// How long joining takes.
    pub join: Join,
    /// What it costs to turn to another channel.
    pub switch: Duration,
    /// Whether it turns to other channels than its own at all; if not, access points there are none of its business.
    pub roams: bool,
    /// How it looks for access points; `None`: it knows on which channel the one is that it is to join.
    pub scan: Option<Scan>,
}

impl ClientConfig {
    /// One association; 5 ms to turn to another channel (Croitoru, Niculescu and Raiciu 2015, §7).
    pub fn new(station: StationId) -> Self {
        Self {
            station,
            interfaces: 1,
            join: Join::default(),
            switch: Duration::from_millis(5),
            roams: true,
            scan: None,
        }
    }
}

/// How a radio looks for access points: one channel after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The channels, in this order.
    pub channels: Vec<u8>,
    /// What it does on each.
    pub way: ScanWay,
}

/// What a radio that scans does on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanWay {
    /// It listens for beacons.
    Passive {
        /// For so long.
        dwell: Duration,
    },
    /// It asks who is there.
    Active {
        /// It listens for so long before it asks, not to disturb what it cannot have heard yet.
        delay: Duration,
        /// So much later it turns away if it has heard nobody by then.
        least: Duration,
        /// And so much later, counted from the question too, if it has.
        most: Duration,
    },
}

impl Scan {
    /// 111 ms on each channel: `IEEE80211_PASSIVE_CHANNEL_TIME` of Linux's mac80211, longer than the usual 102.4 ms from beacon to beacon.
    pub const fn passive(channels: Vec<u8>) -> Self {
        let dwell = Duration::from_millis(111);
        Self {
            channels,
            way: ScanWay::Passive { dwell },
        }
    }

    /// 30 ms before the question, 30 ms after it, whether somebody answers or not: mac80211's `IEEE80211_PROBE_DELAY` and
    /// `IEEE80211_CHANNEL_TIME`.
    pub const fn active(channels: Vec<u8>) -> Self {
        let time = Duration::from_millis(30);
        Self {
            channels,
            way: ScanWay::Active {
                delay: time,
                least: time,
                most: time,
            },
        }
    }
}

/// One association of a client: numbered through all clients, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub usize);

/// A radio's time on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Channel number.
    pub channel: u8,
    /// How long.
    pub time: Duration,
}

/// A packet of the world's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Length of the IP packet.
    pub bytes: u32,
    /// Its flow, for queues that keep flows apart.
    pub flow: u32,
    /// The world's name for it (40 bits).
    pub token: u64,
}

impl Load {
    /// Of the first flow.
    pub const fn new(bytes: u32, token: u64) -> Self {
        Self {
            bytes,
            flow: 0,
            token,
        }
    }
}

/// Something that happens to access points and clients.
#[derive(Debug, Clone, PartialEq)]
pub enum WlanInput {
    /// A packet for a client enters the wire of its access point, or the access point where there is no wire.
    Down(InterfaceId, Load),
    /// A packet leaves a client.
    Up(InterfaceId, Load),
    /// A client wants to be associated with this access point.
    Associate(InterfaceId, StationId),
    /// A client leaves its access point and says so.
    Leave(InterfaceId),
    /// An access point throws a client out.
    Deauthenticate(InterfaceId),
    /// A radio takes turns on these channels from now on; an empty plan: it stays where it is.
    Slots(StationId, Vec<Slot>),
    /// A radio looks for access points on all channels of its plan, unless it does already, or takes turns on channels anyway.
    Scan(StationId),
    /// A radio sleeps between beacons, or no longer.
    PowerSave(StationId, bool),
    /// A station stands there now.
    Move(StationId, Position),
    /// So much less arrives between two stations, both ways, than their places let arrive.
    Attenuate(StationId, StationId, Db),
    /// The rate of data from one station to another, where nothing else decides about it.
    Rate(StationId, StationId, Bitrate),
    /// An access point is switched on, or off: then its clients notice at once, as a driver's that is told.
    Switch(StationId, bool),
    /// No DHCP server answers behind an access point any more, or one does again.
    Silence(StationId, bool),
    /// A packet of a station that is neither (its token has 60 bits).
    Send(StationId, Packet),
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WlanOutput {
    /// A packet arrived at its other end.
    Delivered {
        /// Whose.
        interface: InterfaceId,
        /// Which way.
        direction: Direction,
        /// The world's name for it.
        token: u64,
    },
    /// A packet is lost.
    Dropped {
        /// Whose.
        interface: InterfaceId,
        /// The world's name for it.
        token: u64,
        /// Why.
        reason: DropReason,
    },
    /// A client's packet is over the air, at its access point.
    Passed {
        /// Whose.
        interface: InterfaceId,
        /// The world's name for it.
        token: u64,
    },
    /// An association has changed.
    State(InterfaceId, LinkState),
    /// A client heard a beacon.
    Beacon {
        /// Who heard it.
        client: StationId,
        /// Whose.
        from: StationId,
    },
    /// A radio that scans has found an access point; each is told once in a scan.
    Found {
        /// Who has.
        client: StationId,
        /// Whom.
        from: StationId,
    },
    /// A scan is over, and the radio back on its channel.
    Scanned(StationId),
    /// What came of a packet of a station that is neither.
    Air(Output),
}

/// Why a plan cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WlanError {
    /// The air.
    #[error(transparent)]
    Air(#[from] AirError),
    /// The wires.
    #[error(transparent)]
    Wire(#[from] ConfigError),
    /// A role for a station that is not in the plan, or two for one.
    #[error(
        "station {0} is given a role twice, or is not in the plan of the air; give each station one role at most"
    )]
    Role(u32),
    /// A client with nothing to join by.
    #[error("client {0} has no interface; give it at least one")]
    NoInterface(String),
    /// A client that no access point could serve.
    #[error("client {0} has no access point to join; add one")]
    NoAccessPoint(String),
    /// A scan of nothing.
    #[error(
        "client {0} is to scan and has no channel, or no time for it; say which channels, and how long on each"
    )]
    Scan(String),
    /// No time between beacons.
    #[error("access point {0} sends beacons without a pause; give it an interval")]
    Beacon(String),
}

impl Scan {
    fn is_empty(&self) -> bool {
        let time = match self.way {
            ScanWay::Passive { dwell } => dwell,
            ScanWay::Active { least, most, .. } => least.max(most),
        };
        self.channels.is_empty() || time.is_zero()
    }
}

impl WlanConfig {
    pub(super) fn check(&self) -> Result<(), WlanError> {
        let mut roles = alloc::vec![false; self.air.stations.len()];
        let aps = self.access_points.iter().map(|ap| ap.station.0);
        for station in aps.chain(self.clients.iter().map(|client| client.station.0)) {
            match roles.get_mut(station as usize) {
                Some(taken) if !*taken => *taken = true,
                _ => return Err(WlanError::Role(station)),
            }
        }
        let name = |station: StationId| self.air.stations[station.0 as usize].name.clone();
        for client in &self.clients {
            if client.interfaces == 0 {
                return Err(WlanError::NoInterface(name(client.station)));
            }
            if self.access_points.is_empty() {
                return Err(WlanError::NoAccessPoint(name(client.station)));
            }
            if client.scan.as_ref().is_some_and(Scan::is_empty) {
                return Err(WlanError::Scan(name(client.station)));
            }
        }
        let silent = self.access_points.iter().find(|ap| ap.beacon.is_zero());
        silent.map_or(Ok(()), |ap| Err(WlanError::Beacon(name(ap.station))))
    }

    /// Clients may turn to the channels of all access points, and to those that they scan.
    pub(super) fn channels(&self, air: &mut AirConfig) {
        let mut channels: Vec<u8> = self
            .access_points
            .iter()
            .map(|ap| self.air.stations[ap.station.0 as usize].channel)
            .collect();
        channels.sort_unstable();
        channels.dedup();
        for client in self.clients.iter().filter(|client| client.roams) {
            let station = &mut air.stations[client.station.0 as usize];
            station.also.extend_from_slice(&channels);
        }
        for client in &self.clients {
            let scanned = client.scan.iter().flat_map(|scan| &scan.channels);
            air.stations[client.station.0 as usize].also.extend(scanned);
        }
    }

    pub(super) fn roles(&self) -> Vec<Role> {
        let mut roles = alloc::vec![Role::Neither; self.air.stations.len()];
        for (place, ap) in self.access_points.iter().enumerate() {
            roles[ap.station.0 as usize] = Role::AccessPoint(place);
        }
        for (place, client) in self.clients.iter().enumerate() {
            roles[client.station.0 as usize] = Role::Client(place);
        }
        roles
    }

    pub(super) fn access_points(&self, seed: u64) -> Vec<AccessPoint> {
        let mut links = (0..).map(LinkId);
        let all = self.access_points.iter().map(|config| {
            let wire = config.wire.as_ref().and_then(|_| links.next());
            AccessPoint::new(seed, config, &self.air, wire)
        });
        all.collect()
    }

    pub(super) fn wires(&self) -> impl Iterator<Item = CableConfig> {
        self.access_points.iter().filter_map(|ap| ap.wire.clone())
    }
}
