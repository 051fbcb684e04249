//! Subflows: what can happen to them, and their counters.

use super::ids::{ConnId, LinkId};
use units::{Bytes, Duration};

/// What can happen to a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubflowEvent {
    /// It was established.
    Established {
        /// Whose.
        conn: ConnId,
        /// Over which link.
        link: LinkId,
        /// Whether it is the connection's first one.
        initial: bool,
        /// Whether it is backup.
        backup: bool,
    },
    /// It is no more.
    Closed,
    /// Its counters now.
    Sample(SubflowSample),
}

/// Counters of a subflow, as `tcp_info` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubflowSample {
    /// Segments that arrived, of any kind.
    pub segs_in: u64,
    /// Payload bytes received in order on this subflow.
    pub bytes_received: Bytes,
    /// Payload bytes sent and acknowledged.
    pub bytes_acked: Bytes,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// Bytes assigned to this subflow and not yet sent.
    pub unsent: Bytes,
    /// Segments sent again.
    pub retransmits: u64,
    /// Since the last acknowledgement arrived.
    pub last_ack: Duration,
    /// Smoothed round-trip time; zero if none was measured.
    pub srtt: Duration,
    /// Least round-trip time; zero if none was measured.
    pub min_rtt: Duration,
    /// Round-trip time as the peer's data shows it, with the queue that it meets on its way here; zero if
    /// none was measured. From small segments the kernel takes none, and tells the time of a whole window
    /// instead, which is not believed (`estimate::segments`).
    pub data_rtt: Duration,
    /// Segments that arrived out of order.
    pub disordered: u64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Whether it is backup now.
    pub backup: bool,
}

impl SubflowSample {
    /// Times that no network shows, from a broken counter, cut down to what sums can bear.
    pub(crate) fn plausible(self) -> Self {
        Self {
            last_ack: self.last_ack.min(LONGEST),
            srtt: self.srtt.min(LONGEST),
            min_rtt: self.min_rtt.min(LONGEST),
            data_rtt: self.data_rtt.min(LONGEST),
            ..self
        }
    }
}

/// Longer than any round trip or silence that means anything.
pub(crate) const LONGEST: Duration = Duration::from_secs(3_600);
