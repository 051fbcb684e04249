//! Outcome of a walk.

use crate::tcp::{Counts, MSS};
use units::Duration;

/// Outcome of one walk, in segments and transmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Length of the watched time.
    pub watched: Duration,
    /// Segments delivered to the application in the watched time, in order.
    pub delivered: u64,
    /// Segments retransmitted in the watched time.
    pub retransmits: u64,
    /// Longest time without data to read in the watched time.
    pub longest_silence: Duration,
    /// Transmissions. This field and all below cover the whole run.
    pub sent: u64,
    /// Transmissions that arrived at the client.
    pub arrived: u64,
    /// Transmissions dropped: at full queues, and at an access point that the client had left.
    pub dropped: u64,
    /// Transmissions still in flight or queued at the end.
    pub under_way: u64,
    /// Arrivals of segments that had already arrived.
    pub duplicates: u64,
    /// Segments delivered to the application, in order.
    pub delivered_in_all: u64,
    /// Segments acknowledged at the sender, in order.
    pub acknowledged: u64,
    /// Transmissions forwarded from the first access point to the second.
    pub forwarded: u64,
    /// Whether the sender has detected reordering.
    pub reordered: bool,
    /// Counters of the sender.
    pub counts: Counts,
}

impl Outcome {
    /// Goodput in the watched time, in Mb/s.
    pub fn goodput_mbps(&self) -> f64 {
        (self.delivered * u64::from(MSS)) as f64 * 8e-6 / self.watched.as_secs_f64()
    }
}
