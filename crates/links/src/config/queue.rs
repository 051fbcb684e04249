//! Queues and their management.

use units::{Bytes, Duration};

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
