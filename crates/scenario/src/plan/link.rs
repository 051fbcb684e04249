//! Links: what each kind is made of.

use super::{AccessPoint, Families};
use crate::mahimahi::RateTrace;
use std::fmt;
use std::net::Ipv4Addr;
use trace::Role;
use units::{Bitrate, Bytes, Duration, Ratio, Rng};

/// One way from the client to the rest of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name, as in `tcp:<name>`.
    pub name: String,
    /// What the user wants it for.
    pub role: Role,
    /// The private network that gives the client its address. Two links may have the same one. `None`: the
    /// world picks an unused one.
    pub subnet: Option<Subnet>,
    /// The versions of IP in which it gives the client an address.
    pub families: Families,
    /// What it is made of.
    pub kind: LinkKind,
}

/// What a link is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkKind {
    /// An access point.
    Wifi(AccessPoint),
    /// A cellular modem.
    Cell(Cell),
    /// A cable, or anything that behaves like one.
    Cable(Cable),
}

impl LinkKind {
    /// The kind in the words of traces.
    pub const fn word(&self) -> trace::LinkKind {
        match self {
            Self::Wifi(_) => trace::LinkKind::Wifi,
            Self::Cell(_) => trace::LinkKind::Cell,
            Self::Cable(_) => trace::LinkKind::Cable,
        }
    }

    /// The 802.11 channel of an access point.
    pub fn channel(&self) -> Option<u16> {
        match self {
            Self::Wifi(ap) => Some(ap.channel.into()),
            Self::Cell(_) | Self::Cable(_) => None,
        }
    }
}

/// An IPv4 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subnet {
    /// Its address; no host bit is set.
    pub network: Ipv4Addr,
    /// Length of the prefix, 8 to 30.
    pub prefix: u8,
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// A wired link: in each direction a bottleneck with a queue, then the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cable {
    /// From the client.
    pub up: Wire,
    /// To the client.
    pub down: Wire,
    /// Round-trip time without a queue; half of it each way.
    pub rtt: Duration,
    /// The shared bottleneck it lies behind, as an index in [`super::Plan::bottlenecks`]. The bottleneck's
    /// rates and queues then replace those of the wires.
    pub behind: Option<usize>,
}

/// One direction of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Rate of the bottleneck, counted in bytes of IP packets.
    pub rate: Bitrate,
    /// Extra delay of each packet, uniform from nothing to this; packets keep their order.
    pub jitter: Duration,
    /// Share of the packets that are lost at random.
    pub loss: Ratio,
    /// The queue in front of the bottleneck.
    pub queue: Queue,
}

/// A bottleneck that several cables share, with one queue in each direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bottleneck {
    /// Its name.
    pub name: String,
    /// Rate from the clients.
    pub up: Bitrate,
    /// Rate to the clients.
    pub down: Bitrate,
    /// Its queue, in each direction.
    pub queue: Queue,
}

/// A queue: how much it holds, and who manages it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// How much it holds.
    pub limit: QueueLimit,
    /// Who manages it.
    pub aqm: Aqm,
}

/// How much a queue holds, besides the packet in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// One bandwidth-delay product of the link's own rate and round trip, and at least 30 packets.
    #[default]
    Bdp,
    /// That many packets.
    Packets(u32),
    /// That many bytes.
    Bytes(Bytes),
    /// As many bytes as the mean rate carries in this time.
    Time(Duration),
}

/// Active queue management of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aqm {
    /// Drop-tail: what does not fit is dropped.
    #[default]
    TailDrop,
    /// CoDel (RFC 8289).
    Codel {
        /// The sojourn time that is acceptable as a standing queue.
        target: Duration,
        /// How long the sojourn time must stay above it.
        interval: Duration,
        /// Packets of senders that understand ECN are marked instead of dropped.
        ecn: bool,
    },
}

/// A cellular link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// How fast it takes from the client.
    pub up: LaneRate,
    /// How fast it delivers to the client.
    pub down: LaneRate,
    /// Round-trip time without a queue; half of it each way.
    pub rtt: Duration,
    /// Extra delay of each packet, uniform from nothing to this; packets keep their order.
    pub jitter: Duration,
    /// The buffer, in each direction.
    pub queue: Queue,
    /// When there is no coverage: nothing is delivered, what is queued waits, and the link stays up.
    pub holes: Holes,
    /// When its radio sleeps; `None`: never.
    pub radio: Option<RadioStates>,
    /// How its radio retransmits what is lost on the air; `None`: it does not.
    pub repeats: Option<Repeats>,
}

/// When a cellular radio sleeps, and how slowly it wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioStates {
    /// From the first packet to the moment at which the radio is up.
    pub promotion: Duration,
    /// How long it stays up after the last packet.
    pub tail: Duration,
}

impl RadioStates {
    /// LTE (Huang et al. 2012, tables 2 and 3).
    pub const LTE: Self = Self {
        promotion: Duration::from_millis(260),
        tail: Duration::from_millis(11_600),
    };
    /// 3G (the same tables).
    pub const UMTS: Self = Self {
        promotion: Duration::from_millis(582),
        tail: Duration::from_millis(8_100),
    };
}

/// How a cellular radio retransmits what was lost on the air: loss becomes delay for TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Share of transmissions that are lost.
    pub loss: Ratio,
    /// From a transmission to its retransmission.
    pub after: Duration,
    /// Transmissions of a packet at most.
    pub transmissions: u32,
}

impl Repeats {
    /// LTE's HARQ at its usual target of a tenth of first transmissions lost: four transmissions, 8 ms apart
    /// (TS 36.321 §5.4.2).
    pub const LTE: Self = Self {
        loss: Ratio::from_ppm(100_000),
        after: Duration::from_millis(8),
        transmissions: 4,
    };
}

/// How fast one direction of a cellular link is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneRate {
    /// Always the same.
    Constant(Bitrate),
    /// As in a rate trace.
    Trace(RateTrace),
}

impl LaneRate {
    /// The mean over a trace's period.
    pub fn mean(&self) -> Bitrate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Trace(trace) => trace.mean(),
        }
    }
}

/// A time without coverage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// When it begins.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
}

/// The times without coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holes {
    /// These: in order, none touching the next.
    Listed(Vec<Hole>),
    /// Drawn from the run's seed: coverage and hole alternate, starting with coverage. Each is uniform
    /// between two bounds.
    Drawn {
        /// How long coverage lasts.
        covered: (Duration, Duration),
        /// How long a hole lasts.
        lasts: (Duration, Duration),
    },
}

impl Default for Holes {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Holes {
    /// The holes that begin in a run of that length, of the link called `link`.
    pub fn drawn(&self, seed: u64, link: &str, duration: Duration) -> Vec<Hole> {
        match self {
            Self::Listed(holes) => holes.iter().copied().filter(|hole| hole.at < duration).collect(),
            Self::Drawn { covered, lasts } => {
                let mut rng = Rng::named(seed, &format!("holes/{link}"));
                let mut uniform = |(from, to): (Duration, Duration)| from + rng.duration_up_to(to - from);
                let next = |end: Duration| {
                    let at = end + uniform(*covered);
                    (at < duration).then(|| Hole {
                        at,
                        lasts: uniform(*lasts),
                    })
                };
                let mut next = next;
                std::iter::successors(next(Duration::ZERO), |hole| next(hole.at + hole.lasts)).collect()
            }
        }
    }
}
