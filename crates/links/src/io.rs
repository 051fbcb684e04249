//! Inputs and outputs of the links: the contract that `lab` (real time) and `sim` (virtual time) share.

use core::fmt;
use units::{Bitrate, Db, Dbm, Duration, SeqNum};

/// One link between the client and the rest of the world: the index of its configuration. Those of other
/// hosts follow ([`crate::NetworkConfig::other_links`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u16);

/// Radios that are not the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// All radios of this host: an index in [`crate::NetworkConfig::hosts`].
    Host(u16),
    /// This station: an index in [`crate::Background::stations`].
    Station(u16),
}

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// Index of a direction in a pair.
pub(crate) fn side(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

/// One IP packet. The world keeps its bytes. The models only use its length and return the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The link it travels on.
    pub link: LinkId,
    /// Its direction.
    pub direction: Direction,
    /// Length of the IP packet, in bytes.
    pub bytes: u32,
    /// Whether its sender understands ECN (ECT(0), ECT(1) or CE). Only then may a queue mark it instead of
    /// dropping it.
    pub ect: bool,
    /// The world's identifier for it.
    pub token: u64,
    /// Its flow, for queues that separate flows ([`crate::wifi::WifiConfig::fq_codel`]).
    pub flow: u32,
}

/// A position on the plan, in millimetres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// East.
    pub x_mm: i64,
    /// North.
    pub y_mm: i64,
}

/// An event that the world reports to the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A packet enters a link.
    Packet(Packet),
    /// A packet enters a link, and crosses the air of WiFi at once and without loss, if the link is up.
    /// Studies compare with models whose acknowledgements take no air.
    WithoutAir(Packet),
    /// The client's radio moved.
    Moved(Position),
    /// The radios of another host, or another station, moved. No effect on the coarse medium, which has none.
    MovedOther(Other, Position),
    /// The access point of this link moved: somebody carries it. No effect on cables and cells.
    Carried(LinkId, Position),
    /// The client wants to associate with this access point. No effect on cables and cells, which are always
    /// attached.
    Associate(LinkId),
    /// The client leaves this access point deliberately.
    Leave(LinkId),
    /// A fault begins, changes or ends.
    Fault(LinkId, Fault),
}

/// Faults that the world can apply to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Black hole. `true`: drops every packet in both directions silently, including queued and in-flight
    /// ones. WiFi beacons continue but do not count as a sign of life. `false`: ends the black hole.
    Blackhole(bool),
    /// `true`: the link goes down and reports it at once (carrier lost, access point switched off). `false`:
    /// it is back.
    Down(bool),
    /// A new rate of the bottleneck in each direction. Zero stops delivery. It applies to cables,
    /// constant-rate cells and the backhaul of WiFi links. A traced cell keeps its trace. Behind a shared
    /// bottleneck it is the rate of that bottleneck.
    Rate {
        /// From the client.
        up: Bitrate,
        /// To the client.
        down: Bitrate,
    },
    /// Extra attenuation of a WiFi link.
    Attenuation(Db),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blackhole(true) => f.write_str("drops everything silently"),
            Self::Blackhole(false) => f.write_str("delivers again"),
            Self::Down(true) => f.write_str("is down"),
            Self::Down(false) => f.write_str("is up again"),
            Self::Rate { up, down } => write!(f, "now {down} down, {up} up"),
            Self::Attenuation(loss) => write!(f, "signal weaker by {loss}"),
        }
    }
}

/// An event that the world must carry out or may record. Outputs are in the order of their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The packet leaves the link at its far end now.
    Delivered {
        /// The packet as it entered.
        packet: Packet,
        /// Whether the link's queue marked it. If so, the world sets CE before it forwards the packet.
        ce: bool,
    },
    /// The packet is lost.
    Dropped {
        /// The packet as it entered.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// The client, or the host whose link it is, heard a beacon of this access point.
    Beacon {
        /// Its link.
        link: LinkId,
        /// Its signal strength.
        signal: Dbm,
    },
    /// The client's monitor interface heard a frame from this access point to the client. Only with a monitor
    /// interface.
    Heard {
        /// Its link.
        link: LinkId,
        /// The frame.
        frame: Heard,
    },
    /// A station received a datagram of the background traffic ([`crate::Background`]). Broadcasts give one
    /// output per receiver.
    Background {
        /// Its flow: an index in [`crate::Background::flows`].
        flow: u32,
        /// Length of the IP packet.
        bytes: u32,
        /// Time since it was handed to its sender's queue.
        delay: Duration,
    },
    /// The link changed its state as seen by its host.
    State {
        /// The link.
        link: LinkId,
        /// Its new state.
        state: LinkState,
    },
    /// The client's single radio has something to report ([`crate::Network::take_turns`]).
    Radio(RadioReport),
}

/// A part of the cycle of the client's single radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioSlot {
    /// The channel.
    pub channel: u8,
    /// The access point with which it exchanges packets. `None`: it only listens.
    pub serves: Option<LinkId>,
    /// The time for which it is deaf before it listens.
    pub switch: Duration,
    /// The time for which it listens.
    pub stays: Duration,
}

/// What the client's single radio reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadioReport {
    /// It has arrived on another channel.
    Turned {
        /// The channel.
        channel: u8,
    },
    /// The last slot of its plan is over. A plan that comes now applies to the next cycle.
    CycleEnded,
}

/// A frame received without errors, as a monitor interface shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Sequence number. Access points number their frames to the client separately, as with QoS data.
    pub number: SeqNum,
    /// The retry bit.
    pub retry: bool,
    /// Its data rate.
    pub rate: Bitrate,
    /// Length with header and FCS.
    pub bytes: u32,
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The queue's AQM dropped it.
    Aqm,
    /// Random loss of a cable.
    Loss,
    /// Every transmission attempt over the air failed.
    Retries,
    /// The link is not attached (not associated, down, or out of coverage).
    Detached,
    /// A fault dropped it.
    Fault,
}

/// State of a link as the client's link layer would show it. The same for every kind of link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkState {
    /// No carrier.
    Down,
    /// Scanning, authenticating or associating: no carrier yet.
    Joining,
    /// Carrier, but no address yet.
    Carrier,
    /// Carrier and an address: packets pass.
    Up,
}

/// Totals of a link since the start. `airtime` is zero except for WiFi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets delivered, both ways.
    pub delivered: u64,
    /// Bytes of those packets.
    pub delivered_bytes: u64,
    /// Packets dropped in both directions, for any reason.
    pub dropped: u64,
    /// Packets that this link marked with CE.
    pub ce_marks: u64,
    /// Transmissions of packets over the air: first attempts and retransmissions, without beacons.
    pub frames: u64,
    /// Of these, retransmissions.
    pub retries: u64,
    /// Of these, attempts in which two stations collided.
    pub collisions: u64,
    /// Airtime of frames with their acknowledgements and of beacons, without the contention before them.
    /// Colliding stations share the airtime.
    pub airtime: Duration,
}

impl Counters {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            delivered: self.delivered - earlier.delivered,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            dropped: self.dropped - earlier.dropped,
            ce_marks: self.ce_marks - earlier.ce_marks,
            frames: self.frames - earlier.frames,
            retries: self.retries - earlier.retries,
            collisions: self.collisions - earlier.collisions,
            airtime: self.airtime - earlier.airtime,
        }
    }
}

/// Datagrams of a flow of the background traffic since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Datagrams {
    /// Handed to the sender's queue.
    pub sent: u64,
    /// Given up by the sender, or dropped at its queue.
    pub lost: u64,
}

impl Datagrams {
    /// What was counted since `earlier`.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            sent: self.sent - earlier.sent,
            lost: self.lost - earlier.lost,
        }
    }
}
