//! Packet schedulers: choose the subflow for the next data from the state of all subflows.
//!
//! Input: the subflows of a connection as their sender sees them. Output: the subflow that sends next.
//!
//! A sender calls [`Scheduler::choose`] whenever it has data and something has changed (data was written, or
//! an acknowledgement arrived). It carries out the answer, and repeats until the answer is [`Choice::Wait`].
//! A scheduler keeps only its own memory. Windows, queues and round-trip times belong to the sender, which
//! passes them in as [`View`]s. If the connection's window is full, [`Rescue`] decides how to unblock it.
//!
//! Schedulers do not run in the engine. A sender's data plane (a modelled one, or a relay's) owns a
//! [`Scheduler`] and tells it which subflows the peer made backup. On a stock host the kernel's own scheduler
//! runs.
//!
//! Every scheduler uses backup subflows (RFC 8684 §3.3.8) only while no other subflow is usable.
//!
//! # Sources
//! - Each scheduler's file names its own. RFC 6182 §5.6 and RFC 8684 §3.3 leave the choice to the sender.
//!
//! # Where we differ, and why
//! 1. Backup is one rule for all schedulers, in [`Connection`]: RFC 8684 requires it for any scheduler.
//!
//! # Checked by
//! `tests`: golden vectors, properties, and a sender over unequal paths with a small window.
//! `tests/data_plane.rs`: every scheduler with every controller, beside an engine that makes subflows backup.

mod blest;
mod ecf;
mod linux_default;
mod lowest_rtt;
mod redundant;
mod rescue;
mod round_robin;
#[cfg(test)]
mod tests;

pub use blest::Blest;
pub use ecf::Ecf;
pub use linux_default::{BURST, LinuxDefault};
pub use lowest_rtt::LowestRtt;
pub use redundant::Redundant;
pub use rescue::{Rescue, Rescued};
pub use round_robin::RoundRobin;

use crate::io::SubflowId;
use units::{Bitrate, Bytes, Duration, Instant};

/// State of one subflow, as a scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Identifier of the subflow.
    pub id: SubflowId,
    /// Smoothed round-trip time. Zero until the first measurement.
    pub srtt: Duration,
    /// Variation of the round-trip time.
    pub rttvar: Duration,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Payload of a full segment, in bytes.
    pub mss: Bytes,
    /// Bytes assigned and not yet acknowledged, sent or not (Linux: `sk_wmem_queued`).
    pub queued: Bytes,
    /// Bytes assigned and not yet sent.
    pub unsent: Bytes,
    /// Limit on queued bytes (Linux: `sk_sndbuf`).
    pub send_buffer: Bytes,
    /// Pacing rate of TCP (Linux: `sk_pacing_rate`). Zero if unknown.
    pub pacing_rate: Bitrate,
    /// Whether either end has made it backup.
    pub backup: bool,
    /// Whether it is fully established and may send.
    pub usable: bool,
    /// Linux: consecutive time-outs of the connection without progress on this subflow.
    pub stale_count: u8,
    /// Linux: whether the subflow is stale. It gets no new data until something arrives on it.
    pub stale: bool,
    /// Whether the connection's oldest unacknowledged byte was sent on it.
    pub holds_oldest: bool,
}

impl View {
    /// Whether the congestion window has space for another segment beyond the assigned data.
    fn has_room(&self) -> bool {
        let window = self.mss * u64::from(self.cwnd);
        let taken = self.mss * u64::from(self.in_flight) + self.unsent;
        self.usable && !self.stale && taken < window
    }
}

/// State of a connection, as a scheduler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The subflows, always in the same order.
    pub subflows: &'a [View],
    /// Space left in the peer's receive window.
    pub window_left: Bytes,
    /// Bytes written by the application and not yet assigned to a subflow.
    pub unassigned: Bytes,
}

impl Connection<'_> {
    /// Subflows to choose from: those that are not backup, or the backups if no other is usable.
    fn candidates(&self) -> impl Iterator<Item = (usize, &View)> {
        let usable = |view: &View| view.usable && !view.stale;
        let backup = !self.subflows.iter().any(|view| usable(view) && !view.backup);
        self.subflows
            .iter()
            .enumerate()
            .filter(move |(_, view)| usable(view) && view.backup == backup)
    }

    /// Whether there is data to send and the peer's window has space.
    fn may_send(&self) -> bool {
        self.unassigned > Bytes::ZERO && self.window_left > Bytes::ZERO
    }

    /// One segment on this subflow, or less if the data or the peer's window ends.
    fn segment(&self, subflow: usize) -> Choice {
        let most = self.subflows[subflow]
            .mss
            .min(self.unassigned)
            .min(self.window_left);
        Choice::Send { subflow, most }
    }
}

/// Set of subflows by index in [`Connection::subflows`]. It never contains an index of 64 or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set(u64);

impl Set {
    /// Adds this subflow.
    #[must_use]
    pub const fn with(self, subflow: usize) -> Self {
        if subflow < 64 {
            Self(self.0 | (1 << subflow))
        } else {
            self
        }
    }

    /// Whether the set contains this subflow.
    pub const fn contains(self, subflow: usize) -> bool {
        subflow < 64 && self.0 & (1 << subflow) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What to do with the next data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Send nothing until something changes.
    Wait,
    /// Assign data to this subflow.
    Send {
        /// Index in [`Connection::subflows`].
        subflow: usize,
        /// Maximum number of bytes before the next choice. Zero: the peer's window is full, and only a window
        /// probe may be sent.
        most: Bytes,
    },
    /// Assign the same segment to all of these.
    Duplicate {
        /// The subflows.
        on: Set,
        /// Length of the segment.
        most: Bytes,
    },
}

/// The scheduler to run. Calls dispatch on this enum, not on a trait object.
#[derive(Debug, Clone)]
pub enum Scheduler {
    /// Lowest round-trip time first.
    LowestRtt(LowestRtt),
    /// Each subflow in turn.
    RoundRobin(RoundRobin),
    /// Every segment on every subflow.
    Redundant(Redundant),
    /// The scheduler of upstream Linux.
    LinuxDefault(LinuxDefault),
    /// Lowest round-trip time, unless the slow subflow would cause head-of-line blocking.
    Blest(Blest),
    /// Lowest round-trip time, but waits for the fast subflow if that completes earlier.
    Ecf(Ecf),
}

impl Scheduler {
    /// Decides what to do with the next data.
    pub fn choose(&mut self, now: Instant, connection: &Connection<'_>) -> Choice {
        match self {
            Self::LowestRtt(scheduler) => scheduler.choose(connection),
            Self::RoundRobin(scheduler) => scheduler.choose(connection),
            Self::Redundant(scheduler) => scheduler.choose(connection),
            Self::LinuxDefault(scheduler) => scheduler.choose(connection),
            Self::Blest(scheduler) => scheduler.choose(now, connection),
            Self::Ecf(scheduler) => scheduler.choose(connection),
        }
    }
}
