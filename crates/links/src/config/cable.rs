//! Cables, and bottlenecks that several of them share.

use alloc::string::String;
use units::{Bitrate, Duration, Ratio};

use super::queue::QueueConfig;

/// A wired link: in each direction a bottleneck with a queue, then the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct CableConfig {
    /// Its name.
    pub name: String,
    /// From the client.
    pub up: Wire,
    /// To the client.
    pub down: Wire,
    /// Index in [`super::NetworkConfig::bottlenecks`] of the shared bottleneck in front of this cable, if
    /// any. It replaces the rates and queues of `up` and `down`. Their delays, jitter and loss still apply.
    pub behind: Option<usize>,
}

impl CableConfig {
    /// A cable with the same rate and one-way delay in both directions. No jitter, no loss, queues of one
    /// bandwidth-delay product.
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
    /// Extra delay per packet, uniform between zero and this. Packets keep their order.
    pub jitter: Duration,
    /// Share of packets lost at random behind the bottleneck.
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
    /// The queue of each direction. A bandwidth-delay product uses the longest round trip behind the
    /// bottleneck.
    pub queue: QueueConfig,
}
