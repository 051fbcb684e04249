//! What goes into the air and what comes out of it.

use units::wifi::DATA_OVERHEAD_BYTES;
use units::wifi::ht::QOS_DATA_OVERHEAD_BYTES;
use units::{Bitrate, Db, Duration};

use crate::Position;

/// A station's number: its place in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

/// For whom a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// One station, which acknowledges it.
    Station(StationId),
    /// Everybody in reach; never acknowledged, at the basic rate.
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

/// One packet in a station's queue. Its bytes stay in the world; the air sees how long it is and hands the token back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// For whom.
    pub to: Destination,
    /// Length of the IP packet, in bytes; 802.11 and LLC headers come on top. Of anything but data, length of the whole frame.
    pub bytes: u32,
    /// The world's name for it.
    pub token: u64,
    /// What kind of frame carries it.
    pub subtype: Subtype,
    /// Traffic identifier, 0 to 15: 802.11n numbers and acknowledges each on its own.
    pub tid: u8,
    /// Its flow, for queues that keep flows apart.
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

/// What a frame that stands in a queue is (802.11-2020 table 9-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subtype {
    /// An IP packet.
    Data,
    /// Data without contents: it carries the power-management bit.
    Null,
    /// Asks an access point for one packet that it holds.
    PsPoll,
    /// An access point's beacon.
    Beacon,
    /// Asks who is there.
    ProbeRequest,
    /// Answers that.
    ProbeResponse,
    /// Both frames of open-system authentication.
    Authentication,
    /// Asks to be let in.
    AssociationRequest,
    /// Answers that.
    AssociationResponse,
    /// Ends an association.
    Deauthentication,
}

impl Subtype {
    /// Whether it is sent at the sender's data rates; management and control frames go at the basic rate.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Null)
    }
}

/// What is on the air: something out of a queue, or what stations say to each other around it.
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

/// Something that happens to the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A packet enters a station's queue.
    Send(StationId, Packet),
    /// A packet goes before all others of a station: beacons, and what answers to power saving.
    SendFirst(StationId, Packet),
    /// A station is told to leave a receiver alone: what waits for it comes back as [`Fate::Withdrawn`], but what is on the air.
    Withdraw(StationId, StationId),
    /// A radio turns to another of its channels, or hears and sends nothing until it is told to turn to one. It finishes its exchange before.
    Tune(StationId, Option<u8>),
    /// A station stands there now; one that is sending moves when its frame is over.
    Move(StationId, Position),
    /// So much less arrives between two stations, both ways, than their places let arrive. What the first one senses follows when its exchange
    /// is over.
    Attenuate(StationId, StationId, Db),
    /// The rate of data from the first to the second from now on, where nothing else decides about it. Without effect on 802.11n, and for rates
    /// that the sender's standard does not have.
    Rate(StationId, StationId, Bitrate),
}

/// Something that happened. Order is the order in which it happened.
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
    /// A station is done with a packet and takes the next.
    Done {
        /// The sender.
        station: StationId,
        /// The packet as it was queued.
        packet: Packet,
        /// What became of it, as far as the sender knows.
        fate: Fate,
    },
}

/// What became of a packet, as far as its sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its acknowledgement arrived.
    Acknowledged,
    /// It was for everybody: nobody says.
    Unknown,
    /// Every attempt failed.
    GivenUp,
    /// The queue was full.
    QueueFull,
    /// The queue's management chose it.
    Dropped,
    /// Its sender was told to leave the receiver alone.
    Withdrawn,
}

/// What a station has done since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data frames put on the air, repeats included; each frame of an aggregate counts.
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
}
