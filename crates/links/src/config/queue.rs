//! Queues and their active management (AQM).

use units::{Bitrate, Bytes, Duration};

/// Size of a full packet: the unit of bandwidth-delay products, and CoDel's `MAXPACKET`.
pub(crate) const FULL_PACKET: u64 = 1_500;
/// The smallest default of a queue, in packets.
const LEAST_PRODUCT: u64 = 30;

/// A queue: its limit and its AQM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueConfig {
    /// Its limit. Packets beyond it are tail-dropped.
    pub limit: QueueLimit,
    /// The AQM, if any.
    pub aqm: Option<Codel>,
}

impl QueueConfig {
    /// A tail-drop queue with that limit.
    pub const fn tail_drop(limit: QueueLimit) -> Self {
        Self { limit, aqm: None }
    }

    /// CoDel with the RFC's constants and a limit of 1,000 packets, as in Linux's `codel`.
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

/// Limit of a queue, without the packet in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLimit {
    /// One bandwidth-delay product of the link's rate and round trip, in packets of 1,500 bytes, but at least
    /// 30.
    #[default]
    Bdp,
    /// That many packets.
    Packets(u32),
    /// That many bytes.
    Bytes(Bytes),
    /// As many bytes as the (mean) rate carries in this time, but at least one packet of 1,500 bytes.
    Time(Duration),
}

impl QueueLimit {
    /// One bandwidth-delay product, in packets of 1,500 bytes, but at least 30.
    pub fn product(rate: Bitrate, rtt: Duration) -> Self {
        let packets = (rate * rtt).get().div_ceil(FULL_PACKET).max(LEAST_PRODUCT);
        Self::Packets(u32::try_from(packets).unwrap_or(u32::MAX))
    }
}

/// Parameters of CoDel (RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// The acceptable sojourn time of a standing queue (RFC 8289's TARGET).
    pub target: Duration,
    /// How long the sojourn time must exceed it.
    pub interval: Duration,
    /// Whether packets of senders that understand ECN are marked instead of dropped.
    pub ecn: bool,
}
