//! What a network is made of: the numbers that a plan gives for its links.
//!
//! Every link has a name of its own: it names the link's random streams, so that adding a link never shifts the draws of the
//! others.

use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Bytes, Dbm, Duration, Ratio};

use crate::air::{NoiseConfig, Rules, Thresholds};
use crate::cellular::{RadioStates, Repeats};
use crate::wifi::{Radio, Wall, WifiConfig};
use crate::{LinkId, Position};

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

/// A wired link: in each direction a bottleneck with a queue, then the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct CableConfig {
    /// Its name.
    pub name: String,
    /// From the client.
    pub up: Wire,
    /// To the client.
    pub down: Wire,
    /// The shared bottleneck that it lies behind, if any: an index in [`NetworkConfig::bottlenecks`]. The rates and queues of
    /// `up` and `down` are then not used; their delays, jitter and loss are.
    pub behind: Option<usize>,
}

impl CableConfig {
    /// The same rate and delay (one way) in both directions, no jitter, no loss, queues of one bandwidth-delay product.
    pub fn symmetric(name: &str, rate: Bitrate, delay: Duration) -> Self {
        let wire = Wire::new(rate, delay);
        Self {
            name: name.into(),
            up: wire,
            down: wire,
            behind: None,
        }
    }
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Rate of the bottleneck, counted in bytes of IP packets.
    pub rate: Bitrate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Extra delay per packet, uniform between zero and this; packets keep their order.
    pub jitter: Duration,
    /// Share of the packets that are lost at random after they passed the bottleneck.
    pub loss: Ratio,
    /// The queue in front of the bottleneck.
    pub queue: QueueConfig,
}

impl Wire {
    /// No jitter, no loss, a tail-drop queue of one bandwidth-delay product.
    pub fn new(rate: Bitrate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            jitter: Duration::ZERO,
            loss: Ratio::ZERO,
            queue: QueueConfig::default(),
        }
    }
}

/// A bottleneck that several cables share: one queue and one server in each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BottleneckConfig {
    /// Its name.
    pub name: String,
    /// Rate from the clients.
    pub up: Bitrate,
    /// Rate to the clients.
    pub down: Bitrate,
    /// The queue of each direction; a bandwidth-delay product is counted with the longest round trip behind it.
    pub queue: QueueConfig,
}

/// A queue: how much it holds, and who manages it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueConfig {
    /// How much it holds; what comes on top is dropped at the tail.
    pub limit: QueueLimit,
    /// Active management, if any.
    pub aqm: Option<Codel>,
}

impl QueueConfig {
    /// Tail drop at that limit.
    pub const fn tail_drop(limit: QueueLimit) -> Self {
        Self { limit, aqm: None }
    }

    /// CoDel with the RFC's constants and room for a thousand packets (the limit of Linux's `codel`).
    pub const fn codel(ecn: bool) -> Self {
        Self {
            limit: QueueLimit::Packets(1_000),
            aqm: Some(Codel {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                ecn,
            }),
        }
    }
}

/// How much a queue holds, besides the packet in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// One bandwidth-delay product of the link's own rate and round trip, in packets of 1,500 bytes, and at least 30 of them.
    #[default]
    Bdp,
    /// That many packets.
    Packets(u32),
    /// That many bytes.
    Bytes(Bytes),
    /// As many bytes as the (mean) rate carries in this time, at least one packet of 1,500.
    Time(Duration),
}

/// Parameters of CoDel (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// The sojourn time that is acceptable as a standing queue.
    pub target: Duration,
    /// How long the sojourn time must stay above it.
    pub interval: Duration,
    /// Whether packets of senders that understand ECN are marked instead of dropped.
    pub ecn: bool,
}

/// A cellular link: a constant rate or a recorded trace behind a deep buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Its name.
    pub name: String,
    /// From the client.
    pub up: CellLane,
    /// To the client.
    pub down: CellLane,
    /// When there is no coverage: nothing is delivered either way and what is queued waits; the link stays up.
    pub holes: Holes,
    /// When its radio sleeps; `None`: never.
    pub radio: Option<RadioStates>,
    /// How it repeats what is lost on the air; `None`: nothing is.
    pub repeats: Option<Repeats>,
}

impl CellConfig {
    /// The same constant rate and delay (one way) in both directions, with room for one second of it.
    pub fn constant(name: &str, rate: Bitrate, delay: Duration) -> Self {
        Self::with_rates(name, CellRate::Constant(rate), CellRate::Constant(rate), delay)
    }

    /// A recorded trace in each direction (see [`CellRate::Trace`]), with room for one second of its mean rate.
    pub fn traced(name: &str, up: Vec<Duration>, down: Vec<Duration>, delay: Duration) -> Self {
        Self::with_rates(name, CellRate::Trace(up), CellRate::Trace(down), delay)
    }

    fn with_rates(name: &str, up: CellRate, down: CellRate, delay: Duration) -> Self {
        let lane = |rate| CellLane {
            rate,
            delay,
            jitter: Duration::ZERO,
            queue: QueueConfig::tail_drop(QueueLimit::Time(Duration::from_secs(1))),
        };
        Self {
            name: name.into(),
            up: lane(up),
            down: lane(down),
            holes: Holes::default(),
            radio: None,
            repeats: None,
        }
    }
}

/// One direction of a cellular link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLane {
    /// How fast it delivers.
    pub rate: CellRate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Extra delay per packet, uniform between zero and this; packets keep their order.
    pub jitter: Duration,
    /// The base station's (or the modem's) buffer.
    pub queue: QueueConfig,
}

/// How fast a cellular link delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellRate {
    /// Always the same.
    Constant(Bitrate),
    /// Delivery opportunities of 1,500 bytes each (a Mahimahi trace): their times since the start of the run, never decreasing. The last
    /// one is also the period after which the trace begins again.
    Trace(Vec<Duration>),
}

/// Times without coverage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holes {
    /// When each begins and how long it lasts, counted from the start of the run (or of each period); in order, not
    /// overlapping.
    pub spans: Vec<(Duration, Duration)>,
    /// After this long the list begins again.
    pub period: Option<Duration>,
}
