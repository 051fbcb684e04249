//! Inputs and outputs of the air.

use units::wifi::DATA_OVERHEAD_BYTES;
use units::wifi::ht::QOS_DATA_OVERHEAD_BYTES;
use units::{Bitrate, Db, Duration};

use crate::Position;

/// A station's number: its place in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

/// The receiver of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// One station, which acknowledges it.
    Station(StationId),
    /// Everybody in reach. Never acknowledged, sent at the basic rate.
    Everyone,
}

impl Destination {
    pub(super) const fn station(self) -> Option<u32> {
        match self {
            Self::Station(StationId(number)) => Some(number),
            Self::Everyone => None,
        }
    }
}

/// One packet in a station's queue. Its bytes stay outside: the air knows only its length, and returns its
/// token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The receiver.
    pub to: Destination,
    /// Length of the IP packet, in bytes, without 802.11 and LLC headers. For anything but data, length of
    /// the whole frame.
    pub bytes: u32,
    /// The caller's identifier for it.
    pub token: u64,
    /// What kind of frame carries it.
    pub subtype: Subtype,
    /// Traffic identifier, 0 to 15. 802.11n numbers and acknowledges each separately.
    pub tid: u8,
    /// Its flow, for queues that separate flows.
    pub flow: u32,
    /// The power-management bit: its sender sleeps after this exchange.
    pub asleep: bool,
    /// The more-data bit: its sender holds more for the receiver.
    pub more: bool,
}

impl Packet {
    /// Data of the first traffic class and flow.
    pub const fn new(to: Destination, bytes: u32, token: u64) -> Self {
        Self {
            to,
            bytes,
            token,
            subtype: Subtype::Data,
            tid: 0,
            flow: 0,
            asleep: false,
            more: false,
        }
    }

    /// Length of the frame with all headers and the check sum.
    pub(super) const fn mpdu_bytes(&self, qos: bool) -> u32 {
        match (self.subtype, qos) {
            (Subtype::Data, false) => self.bytes + DATA_OVERHEAD_BYTES,
            (Subtype::Data, true) => self.bytes + QOS_DATA_OVERHEAD_BYTES,
            _ => self.bytes,
        }
    }
}

/// The type of a queued frame (802.11-2020 table 9-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subtype {
    /// An IP packet.
    Data,
    /// Data without contents (a null frame): it carries the power-management bit.
    Null,
    /// PS-Poll: requests one packet that an access point holds.
    PsPoll,
    /// An access point's beacon.
    Beacon,
    /// Probe request.
    ProbeRequest,
    /// Probe response.
    ProbeResponse,
    /// Both frames of open-system authentication.
    Authentication,
    /// Association request.
    AssociationRequest,
    /// Association response.
    AssociationResponse,
    /// Ends an association.
    Deauthentication,
}

impl Subtype {
    /// Whether it is sent at the sender's data rates. Management and control frames use the basic rate.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Null)
    }
}

/// What is on the air: a queued frame, or a control frame around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// A packet's frame, or an aggregate of several.
    Data,
    /// An acknowledgement.
    Ack,
    /// The acknowledgement of an aggregate.
    BlockAck,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Not 802.11 at all.
    Noise,
}

/// An event for the air to process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A packet enters a station's queue.
    Send(StationId, Packet),
    /// A packet goes ahead of all others of a station: for beacons, and replies to power-saving stations.
    SendFirst(StationId, Packet),
    /// A station stops sending to a receiver. Waiting packets come back as [`Fate::Withdrawn`], except what
    /// is on the air.
    Withdraw(StationId, StationId),
    /// A radio tunes to another of its channels. With `None` it neither hears nor sends until it is tuned
    /// again. It finishes its exchange first.
    Tune(StationId, Option<u8>),
    /// A station's new position. A station that is sending moves when its frame is over.
    Move(StationId, Position),
    /// Adds a loss between two stations, in both directions, to the loss given by their positions. What the
    /// first one senses follows when its exchange is over.
    Attenuate(StationId, StationId, Db),
    /// Sets the data rate from the first to the second from now on, if no rate control decides it. No effect
    /// on 802.11n, or for rates that the sender's standard does not have.
    Rate(StationId, StationId, Bitrate),
}

/// Something that happened, in the order in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A station received a packet for the first time.
    Received {
        /// Who received it.
        station: StationId,
        /// Who sent it.
        from: StationId,
        /// The packet as it was queued.
        packet: Packet,
    },
    /// A station is done with a packet and takes the next one.
    Done {
        /// The sender.
        station: StationId,
        /// The packet as it was queued.
        packet: Packet,
        /// What became of it, as far as the sender knows.
        fate: Fate,
    },
}

/// The fate of a packet, as far as its sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its acknowledgement arrived.
    Acknowledged,
    /// The packet was for everybody, so nobody acknowledges it.
    Unknown,
    /// Every attempt failed.
    GivenUp,
    /// The queue was full.
    QueueFull,
    /// The active queue management dropped it.
    Dropped,
    /// Its sender was told to stop sending to the receiver.
    Withdrawn,
}

/// Counts of what a station has done since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data frames put on the air, retransmissions included. Each frame of an aggregate counts.
    pub attempts: u64,
    /// Attempts that were not acknowledged (of frames to one station).
    pub failures: u64,
    /// Requests to send.
    pub requests: u64,
    /// Packets that were acknowledged.
    pub acknowledged: u64,
    /// Packets given up after the last attempt.
    pub given_up: u64,
    /// Packets received for the first time.
    pub received: u64,
    /// Bytes of those packets.
    pub received_bytes: u64,
    /// Aggregates of at least two frames put on the air.
    pub aggregates: u64,
    /// Time on the air, acknowledgements included.
    pub airtime: Duration,
    /// Time in which the station was on the air, or another one with a frame for it. At most the time that
    /// passed.
    pub occupied: Duration,
    /// Attempts of this station that were repeats or collided.
    pub own: Setbacks,
    /// Attempts of other stations with a frame for this one.
    pub inbound: u64,
    /// Attempts counted by `inbound` that were repeats or collided.
    pub others: Setbacks,
}

impl Counters {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            attempts: self.attempts - earlier.attempts,
            failures: self.failures - earlier.failures,
            requests: self.requests - earlier.requests,
            acknowledged: self.acknowledged - earlier.acknowledged,
            given_up: self.given_up - earlier.given_up,
            received: self.received - earlier.received,
            received_bytes: self.received_bytes - earlier.received_bytes,
            aggregates: self.aggregates - earlier.aggregates,
            airtime: self.airtime - earlier.airtime,
            occupied: self.occupied - earlier.occupied,
            own: self.own.since(earlier.own),
            inbound: self.inbound - earlier.inbound,
            others: self.others.since(earlier.others),
        }
    }

    /// Attempts of this station, and of others with a frame for it.
    pub const fn frames(&self) -> u64 {
        self.attempts + self.inbound
    }
}

/// Counts of attempts that repeated a frame or were not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setbacks {
    /// Attempts with a frame that had been sent before.
    pub repeats: u64,
    /// Attempts that were not received while another station was on the air, above the receiver's noise.
    pub collisions: u64,
}

impl Setbacks {
    const fn since(self, earlier: Self) -> Self {
        Self {
            repeats: self.repeats - earlier.repeats,
            collisions: self.collisions - earlier.collisions,
        }
    }
}
