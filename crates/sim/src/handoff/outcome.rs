//! What came of a walk.

use crate::tcp::{Counts, MSS};
use units::Duration;

/// What came of one walk, in segments and transmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// How long was looked at.
    pub watched: Duration,
    /// Segments that the application got in that time, in order.
    pub delivered: u64,
    /// Segments that were sent again in that time.
    pub retransmits: u64,
    /// The longest time in it without anything to read.
    pub longest_silence: Duration,
    /// From here on: of the whole run. Transmissions.
    pub sent: u64,
    /// Those that came to the client.
    pub arrived: u64,
    /// Those that did not: queues that were full, and an access point that was left.
    pub dropped: u64,
    /// Those that would have come later.
    pub under_way: u64,
    /// Of those that have arrived: for the second time.
    pub duplicates: u64,
    /// Segments that the application got, in order.
    pub delivered_in_all: u64,
    /// Segments that the sender knows to have arrived, in order.
    pub acknowledged: u64,
    /// Transmissions that the one access point gave the other.
    pub forwarded: u64,
    /// The sender has seen segments overtake each other.
    pub reordered: bool,
    /// What happened to the sender.
    pub counts: Counts,
}

impl Outcome {
    /// Payload that the application got in the time that was looked at, in Mb/s.
    pub fn goodput_mbps(&self) -> f64 {
        (self.delivered * u64::from(MSS)) as f64 * 8e-6 / self.watched.as_secs_f64()
    }
}
