//! Which subflow the next data goes to: packet schedulers as decisions over what is known of the subflows.
//!
//! In go the subflows of a connection as their sender sees them. Out comes the subflow that sends next.
//!
//! A sender asks [`Scheduler::choose`] whenever it has data and something has changed (data was written, an acknowledgement came),
//! carries the answer out, and asks again until the answer is [`Choice::Wait`]. A scheduler keeps nothing but its own memory;
//! windows, queues and round-trip times are the sender's and come as [`View`]s. When the connection's window is full,
//! [`Rescue`] says how to get going again.
//!
//! This does not pass through the engine: a sender's data plane (a modelled one, or a relay's) owns a [`Scheduler`] and tells it which
//! subflows the other end made backup. On a stock host the kernel's own scheduler runs.
//!
//! Backup subflows (RFC 8684 §3.3.8) are used by every scheduler only while no other subflow is usable.
//!
//! # Sources
//! - Each scheduler's file names its own; RFC 6182 §5.6 and RFC 8684 §3.3 leave the choice to the sender.
//!
//! # Where we differ, and why
//! 1. Backup is one rule for all schedulers, in [`Connection`]: RFC 8684 asks for it whatever the scheduler.
//!
//! # Checked by
//! `tests`: golden vectors, properties, and a sender over unequal paths with a small window; `tests/data_plane.rs`: every scheduler with every
//! controller, beside an engine that makes subflows backup.

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

/// What a scheduler may know of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Which.
    pub id: SubflowId,
    /// Smoothed round-trip time; zero until one was measured.
    pub srtt: Duration,
    /// How far round-trip times vary.
    pub rttvar: Duration,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Bytes of a full segment.
    pub mss: Bytes,
    /// Assigned and not yet acknowledged, sent or not (Linux: `sk_wmem_queued`).
    pub queued: Bytes,
    /// Assigned and not yet sent.
    pub unsent: Bytes,
    /// How much may be queued (Linux: `sk_sndbuf`).
    pub send_buffer: Bytes,
    /// The rate at which TCP spaces its packets (Linux: `sk_pacing_rate`); zero if not known.
    pub pacing_rate: Bitrate,
    /// Whether it is backup, by either end's wish.
    pub backup: bool,
    /// Whether it is established, fully, and may send.
    pub usable: bool,
    /// Linux: how many time-outs of the connection in a row saw it make no progress. Not used for new data while it is stale.
    pub stale_count: u8,
    /// Linux: whether it is not used until something arrives.
    pub stale: bool,
    /// Whether the connection's oldest unacknowledged byte was sent on it.
    pub holds_oldest: bool,
}

impl View {
    /// Whether its congestion window takes another segment beyond what is assigned already.
    fn has_room(&self) -> bool {
        let window = self.mss * u64::from(self.cwnd);
        let taken = self.mss * u64::from(self.in_flight) + self.unsent;
        self.usable && !self.stale && taken < window
    }
}

/// What a scheduler may know of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// Its subflows, always in the same order.
    pub subflows: &'a [View],
    /// What its peer's window still takes.
    pub window_left: Bytes,
    /// Written by the application and not yet assigned to a subflow.
    pub unassigned: Bytes,
}

impl Connection<'_> {
    /// The subflows to choose from: those that are not backup, or the backups if no other is usable.
    fn candidates(&self) -> impl Iterator<Item = (usize, &View)> {
        let usable = |view: &View| view.usable && !view.stale;
        let backup = !self.subflows.iter().any(|view| usable(view) && !view.backup);
        self.subflows
            .iter()
            .enumerate()
            .filter(move |(_, view)| usable(view) && view.backup == backup)
    }

    /// Whether there is a segment to send and the peer takes it.
    fn may_send(&self) -> bool {
        self.unassigned > Bytes::ZERO && self.window_left > Bytes::ZERO
    }

    /// One segment on this subflow, or less if there is no more or the peer does not take it.
    fn segment(&self, subflow: usize) -> Choice {
        let most = self.subflows[subflow]
            .mss
            .min(self.unassigned)
            .min(self.window_left);
        Choice::Send { subflow, most }
    }
}

/// Subflows by their places in [`Connection::subflows`]; those beyond the 64th never belong to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set(u64);

impl Set {
    /// With this one.
    #[must_use]
    pub const fn with(self, subflow: usize) -> Self {
        if subflow < 64 {
            Self(self.0 | (1 << subflow))
        } else {
            self
        }
    }

    /// Whether this one belongs to it.
    pub const fn contains(self, subflow: usize) -> bool {
        subflow < 64 && self.0 & (1 << subflow) != 0
    }

    /// Whether nobody belongs to it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What to do with the next data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Nothing until something changes.
    Wait,
    /// Assign data to this subflow.
    Send {
        /// Its place in [`Connection::subflows`].
        subflow: usize,
        /// How much before asking again. Zero: the peer's window is full, and only a probe of it may go out.
        most: Bytes,
    },
    /// Assign one segment to all of these.
    Duplicate {
        /// Their places.
        on: Set,
        /// The segment's length.
        most: Bytes,
    },
}

/// Which scheduler runs; the call goes by this enum, not by a trait object.
#[derive(Debug, Clone)]
pub enum Scheduler {
    /// The subflow with the least round-trip time.
    LowestRtt(LowestRtt),
    /// One after the other.
    RoundRobin(RoundRobin),
    /// Everything on every subflow.
    Redundant(Redundant),
    /// As upstream Linux does.
    LinuxDefault(LinuxDefault),
    /// Lowest round-trip time, but never so that the slow one blocks the fast one.
    Blest(Blest),
    /// Lowest round-trip time, but waiting for the fast one where that ends sooner.
    Ecf(Ecf),
}

impl Scheduler {
    /// What to do with the next data.
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
