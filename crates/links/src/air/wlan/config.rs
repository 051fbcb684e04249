//! Plan, inputs and outputs of access points and clients.

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
    /// All stations, including those that are neither.
    pub air: AirConfig,
    /// The access points among them.
    pub access_points: Vec<AccessPointConfig>,
    /// The clients among them.
    pub clients: Vec<ClientConfig>,
}

/// One access point.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessPointConfig {
    /// Its index in the plan of the air.
    pub station: StationId,
    /// Time between two beacons. `None`: there are none, and its clients miss none.
    pub beacon: Option<Duration>,
    /// Most packets that it buffers for each sleeping client.
    pub held: usize,
    /// The wired segment behind it. `None`: the caller models it, and packets enter and leave at the access
    /// point itself.
    pub wire: Option<CableConfig>,
    /// How long joining takes here. `None`: as the client says.
    pub join: Option<Join>,
    /// When it throws out a client that does not answer. `None`: never.
    pub patience: Option<Patience>,
    /// Whether it is a peer of an ad hoc network (IBSS). Clients join it without asking, and it buffers for
    /// nobody: what it sends to a client that is on another channel is lost.
    pub ad_hoc: bool,
}

/// How long an access point continues to send to a client that acknowledges nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Frames given up in a row.
    pub frames: u32,
    /// Time since the last acknowledgement.
    pub time: Duration,
}

impl Default for Patience {
    /// 50 frames and 1 s: `STA_LOST_PKT_THRESHOLD` and `STA_LOST_PKT_TIME` of Linux's mac80211. At these,
    /// hostapd throws a client out (`disassoc_low_ack`).
    fn default() -> Self {
        Self {
            frames: 50,
            time: Duration::from_secs(1),
        }
    }
}

impl AccessPointConfig {
    /// Beacons every 102.4 ms, 128 packets buffered for a client, 1 Gb/s without delay behind it. It throws
    /// nobody out. Linux mac80211's `STA_MAX_TX_BUFFER` is 64 for each of four access categories.
    pub fn new(station: StationId, name: &str) -> Self {
        Self {
            station,
            beacon: Some(BEACON_INTERVAL),
            held: 128,
            wire: Some(CableConfig::symmetric(
                name,
                Bitrate::from_mbps(1_000),
                Duration::ZERO,
            )),
            join: None,
            patience: None,
            ad_hoc: false,
        }
    }
}

/// One client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// Its index in the plan of the air.
    pub station: StationId,
    /// Most associations that its radio can have at a time.
    pub interfaces: u16,
    /// How long joining takes.
    pub join: Join,
    /// Time to switch to another channel.
    pub switch: Duration,
    /// Whether it switches to other channels than its own. If not, it ignores access points there.
    pub roams: bool,
    /// How it scans for access points. `None`: it knows the channel of the access point to join.
    pub scan: Option<Scan>,
}

impl ClientConfig {
    /// One association; 5 ms to switch to another channel (Croitoru, Niculescu and Raiciu 2015, §7).
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

/// How a radio scans for access points, one channel after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The channels, in this order.
    pub channels: Vec<u8>,
    /// How it scans each of them.
    pub way: ScanWay,
}

/// How a radio scans a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanWay {
    /// It listens for beacons.
    Passive {
        /// Time on the channel.
        dwell: Duration,
    },
    /// It sends a probe request.
    Active {
        /// Time that it listens before the probe request, in order not to disturb frames that it cannot have
        /// heard yet.
        delay: Duration,
        /// Time after the probe request at which it leaves the channel if it has heard nobody.
        least: Duration,
        /// Time after the probe request at which it leaves the channel if it has heard somebody.
        most: Duration,
    },
}

impl Scan {
    /// 111 ms on each channel: `IEEE80211_PASSIVE_CHANNEL_TIME` of Linux's mac80211, longer than the usual
    /// 102.4 ms from beacon to beacon.
    pub const fn passive(channels: Vec<u8>) -> Self {
        let dwell = Duration::from_millis(111);
        Self {
            channels,
            way: ScanWay::Passive { dwell },
        }
    }

    /// 30 ms before the probe request and 30 ms after it, whether somebody answers or not: mac80211's
    /// `IEEE80211_PROBE_DELAY` and `IEEE80211_CHANNEL_TIME`.
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

/// One association of a client. Numbers run through all clients, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub usize);

/// A radio's time on one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Channel number.
    pub channel: u8,
    /// Length of the slot.
    pub time: Duration,
    /// The time for which the radio is deaf before it. `None`: the client's [`ClientConfig::switch`].
    pub switch: Option<Duration>,
    /// Which access points on the channel learn that the radio is awake.
    pub whom: Whom,
}

impl Slot {
    /// A slot for all access points on a channel.
    pub const fn new(channel: u8, time: Duration) -> Self {
        Self {
            channel,
            time,
            switch: None,
            whom: Whom::All,
        }
    }
}

/// The access points that a radio exchanges packets with in a slot. It hears beacons of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Whom {
    /// All on the channel with which it is associated.
    #[default]
    All,
    /// This one. Others on the channel continue to buffer.
    One(StationId),
    /// None.
    Nobody,
}

impl Whom {
    pub(super) fn includes(self, access_point: StationId) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == access_point,
            Self::Nobody => false,
        }
    }
}

/// A packet of the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Length of the IP packet.
    pub bytes: u32,
    /// Its flow, for queues that keep flows apart.
    pub flow: u32,
    /// The caller's token for it (40 bits).
    pub token: u64,
}

impl Load {
    /// A packet of the first flow.
    pub const fn new(bytes: u32, token: u64) -> Self {
        Self {
            bytes,
            flow: 0,
            token,
        }
    }
}

/// An input to access points and clients.
#[derive(Debug, Clone, PartialEq)]
pub enum WlanInput {
    /// A packet for a client enters the wire of its access point, or the access point itself if there is no
    /// wire.
    Down(InterfaceId, Load),
    /// A packet leaves a client.
    Up(InterfaceId, Load),
    /// A client wants to be associated with this access point.
    Associate(InterfaceId, StationId),
    /// A client leaves its access point and says so.
    Leave(InterfaceId),
    /// An access point throws a client out.
    Deauthenticate(InterfaceId),
    /// A radio takes turns on these channels from now on. An empty plan lets it stay where it is. A plan that
    /// comes at the end of a cycle applies to the next one. Any other begins at once.
    Slots(StationId, Vec<Slot>),
    /// A radio scans all channels of its plan, unless it scans already or takes turns on channels.
    Scan(StationId),
    /// A radio starts or stops sleeping between beacons.
    PowerSave(StationId, bool),
    /// A station moves to a position.
    Move(StationId, Position),
    /// Extra attenuation between two stations, both ways.
    Attenuate(StationId, StationId, Db),
    /// Data rate from one station to another, if no rate control decides it.
    Rate(StationId, StationId, Bitrate),
    /// An access point is switched on or off. When it goes off, its clients notice at once, as if their
    /// drivers were told.
    Switch(StationId, bool),
    /// The DHCP server behind an access point stops or resumes answering.
    Silence(StationId, bool),
    /// A packet of a station that is neither access point nor client (its token has 60 bits).
    Send(StationId, Packet),
}

/// An output of access points and clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WlanOutput {
    /// A packet arrived at its other end.
    Delivered {
        /// Its association.
        interface: InterfaceId,
        /// Its direction.
        direction: Direction,
        /// The caller's token for it.
        token: u64,
    },
    /// A packet was lost.
    Dropped {
        /// Its association.
        interface: InterfaceId,
        /// The caller's token for it.
        token: u64,
        /// Why.
        reason: DropReason,
    },
    /// A client's packet has crossed the air and is at its access point.
    Passed {
        /// Its association.
        interface: InterfaceId,
        /// The caller's token for it.
        token: u64,
    },
    /// The state of an association has changed.
    State(InterfaceId, LinkState),
    /// A client heard a beacon.
    Beacon {
        /// The client.
        client: StationId,
        /// The access point.
        from: StationId,
    },
    /// A scanning radio has found an access point. Each one is reported once in a scan.
    Found {
        /// The client.
        client: StationId,
        /// The access point.
        from: StationId,
    },
    /// A scan is over, and the radio is back on its channel.
    Scanned(StationId),
    /// A radio that takes turns has arrived on another channel.
    Turned {
        /// The client.
        client: StationId,
        /// The channel.
        channel: u8,
    },
    /// The last slot of a radio's plan is over.
    CycleEnded(StationId),
    /// Output of the air about a packet of a station that is neither access point nor client.
    Air(Output),
}

/// Why a plan is invalid.
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
        "station {0} has two roles, or is not in the plan of the air; give each station at most one role"
    )]
    Role(u32),
    /// A client without an interface.
    #[error("client {0} has no interface; give it at least one")]
    NoInterface(String),
    /// A client without any access point to join.
    #[error("client {0} has no access point to join; add one")]
    NoAccessPoint(String),
    /// A scan without channels or without time.
    #[error(
        "client {0} scans but has no channels or no time for them; give the channels, and how long to stay on each"
    )]
    Scan(String),
    /// No time between beacons.
    #[error("access point {0} has a beacon interval of zero; give it an interval")]
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
        let mut access_points = self.access_points.iter();
        let silent = access_points.find(|ap| ap.beacon.is_some_and(|beacon| beacon.is_zero()));
        silent.map_or(Ok(()), |ap| Err(WlanError::Beacon(name(ap.station))))
    }

    /// Lets clients use the channels of all access points, and those that they scan.
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
