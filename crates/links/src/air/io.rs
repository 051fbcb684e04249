//! What goes into the air and what comes out of it.

use units::Duration;

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

/// One packet in a station's queue. Its bytes stay in the world; the air sees how long it is and hands the token back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// For whom.
    pub to: Destination,
    /// Length of the IP packet, in bytes; 802.11 and LLC headers come on top.
    pub bytes: u32,
    /// The world's name for it.
    pub token: u64,
}

/// Something that happens to the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A packet enters a station's queue.
    Send(StationId, Packet),
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
}

/// What a station has done since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data frames put on the air, repeats included.
    pub attempts: u64,
    /// Attempts that were not acknowledged (of frames to one station).
    pub failures: u64,
    /// Packets that were acknowledged.
    pub acknowledged: u64,
    /// Packets given up after the last attempt.
    pub given_up: u64,
    /// Packets received for the first time.
    pub received: u64,
    /// Bytes of those packets.
    pub received_bytes: u64,
    /// Time on the air, acknowledgements included.
    pub airtime: Duration,
}
