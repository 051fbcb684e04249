//! What monitor interfaces and drivers report of a WiFi link and its channel.

use units::wifi::Standard;
use units::wifi::ht::{Band, Guard, Width};
use units::{Bitrate, Bytes, Duration, MacAddr, SeqNum};

/// A frame received with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The receiver of the frame.
    pub receiver: Receiver,
    /// The traffic identifier (TID) of QoS data, 0..16. `None` for frames numbered by the transmitter's one
    /// shared counter.
    pub tid: Option<u8>,
    /// Sequence number.
    pub number: SeqNum,
    /// The retry bit.
    pub retry: bool,
    /// The rate at which the frame was sent. Zero if the radio does not report it: the frame counts for the
    /// sequence, and not for the mean rate.
    pub rate: Bitrate,
    /// Length of the MPDU, in bytes.
    pub bytes: u16,
    /// The aggregate that contained it (radiotap's A-MPDU reference number). `None` if it was sent alone.
    pub aggregate: Option<u32>,
}

/// The receiver of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// This client.
    Us,
    /// Another station.
    Other(MacAddr),
    /// A group address. Such frames are never acknowledged.
    Group,
}

/// Counters since the start of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sight {
    /// Bytes received over this link.
    pub received: Bytes,
    /// Time for which the channel was busy: from the driver's survey, or from all frames and acknowledgements
    /// heard.
    pub busy: Duration,
    /// Exchanges heard on the channel: a frame or an aggregate, and its acknowledgement.
    pub exchanges: u64,
}

/// The PHY that an access point uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phy {
    /// 802.11 a, b or g.
    Legacy(Standard),
    /// 802.11n.
    Ht {
        /// The band.
        band: Band,
        /// Its channel width.
        width: Width,
        /// Its guard interval.
        guard: Guard,
    },
}
