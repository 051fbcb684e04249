//! Subflow events and counters.

use super::ids::{ConnId, LinkId};
use units::{Bytes, Duration};

/// What can happen to a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubflowEvent {
    /// It was established.
    Established {
        /// Its connection.
        conn: ConnId,
        /// Its link.
        link: LinkId,
        /// Whether it is the connection's first subflow.
        initial: bool,
        /// Whether it is backup.
        backup: bool,
    },
    /// It was closed.
    Closed,
    /// Its current counters.
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
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Time since the last acknowledgement arrived.
    pub last_ack: Duration,
    /// Smoothed round-trip time. Zero if none was measured.
    pub srtt: Duration,
    /// Minimum round-trip time. Zero if none was measured.
    pub min_rtt: Duration,
    /// Round-trip time measured on the peer's data, including the queue on its way here. Zero if none was
    /// measured. The kernel takes no sample from small segments, and reports the time of a whole window
    /// instead. That figure is not used (`estimate::segments`).
    pub data_rtt: Duration,
    /// Segments that arrived out of order.
    pub disordered: u64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Whether it is backup.
    pub backup: bool,
}

impl SubflowSample {
    /// Caps times that no network shows, and that only a broken counter reports, so that sums cannot
    /// overflow.
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

/// An upper limit for any meaningful round trip or silence.
pub(crate) const LONGEST: Duration = Duration::from_secs(3_600);
