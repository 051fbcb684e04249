//! What monitor interfaces and drivers report of a WiFi link and of its channel.

use units::wifi::Standard;
use units::wifi::ht::{Band, Guard, Width};
use units::{Bitrate, Bytes, Duration, MacAddr, SeqNum};

/// A frame that was received with a sound check sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// To whom.
    pub receiver: Receiver,
    /// The traffic identifier of QoS data, 0..16; `None` for what shares the transmitter's one counter.
    pub tid: Option<u8>,
    /// Sequence number.
    pub number: SeqNum,
    /// The retry bit.
    pub retry: bool,
    /// The rate at which it was sent.
    pub rate: Bitrate,
    /// Length of the MPDU.
    pub bytes: u16,
    /// The aggregate it came in (radiotap's A-MPDU reference number); `None` if it came alone.
    pub aggregate: Option<u32>,
}

/// To whom a frame was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// This client.
    Us,
    /// Another station.
    Other(MacAddr),
    /// A group; never acknowledged.
    Group,
}

/// Counters since the start of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sight {
    /// Received over this link.
    pub received: Bytes,
    /// How long the channel was busy: the survey of the driver, or the frames and acknowledgements heard,
    /// whoever sent them.
    pub busy: Duration,
    /// Exchanges heard on the channel (a frame or an aggregate and its acknowledgement).
    pub exchanges: u64,
}

/// How an access point sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phy {
    /// 802.11 a, b or g.
    Legacy(Standard),
    /// 802.11n.
    Ht {
        /// Where.
        band: Band,
        /// How wide its channel is.
        width: Width,
        /// Its guard interval.
        guard: Guard,
    },
}
