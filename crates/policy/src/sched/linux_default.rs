//! The scheduler of upstream Linux, its only one: chooses the subflow that will empty its queue first.
//!
//! A subflow's linger time is its queue divided by its mean pacing rate. The scheduler chooses the subflow
//! with the shortest one, whatever its round-trip time. If that subflow's send buffer is full, it sends
//! nothing, even if another one has space. The chosen subflow gets up to 64 KiB before the next choice. Its
//! mean rate moves towards its pacing rate, weighted by queue and burst.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`: `mptcp_subflow_get_send`, `mptcp_subflow_active`,
//!   `__mptcp_push_pending`, `mptcp_subflow_get_retrans`; `net/mptcp/sched.c`.
//! - `include/net/sock.h`: `sk_stream_memory_free`.
//!
//! # Where we differ, and why
//! 1. Linux counts the memory of a socket's buffers, including headers and slack (`sk_wmem_queued`). Here a
//!    queue is its payload unless the world reports something else. Linger times compare in the same way.
//! 2. In Linux, a stale subflow becomes usable once anything arrives after it went stale. The world reports
//!    this in [`View::stale`].
//!
//! # Checked by
//! `sched::tests`: golden vectors calculated by hand, and a model in real numbers.

use super::{Choice, Connection, View};
use crate::io::SubflowId;
use alloc::vec::Vec;
use units::Bytes;

/// Maximum size of one choice: 64 KiB minus the headers of TCP (60), IPv6 (40) and its fragment (8).
pub const BURST: Bytes = Bytes::new(65_536 - 108);

/// The scheduler of upstream Linux.
#[derive(Debug, Clone, Default)]
pub struct LinuxDefault {
    /// Mean pacing rate of each subflow considered so far, in bytes per second.
    means: Vec<(SubflowId, u64)>,
}

impl LinuxDefault {
    /// As [`super::Scheduler::choose`].
    pub fn choose(&mut self, connection: &Connection<'_>) -> Choice {
        self.forget(connection);
        if connection.unassigned == Bytes::ZERO {
            return Choice::Wait;
        }
        let Some(subflow) = self.soonest(connection) else {
            return Choice::Wait;
        };
        let view = &connection.subflows[subflow];
        if view.queued >= view.send_buffer {
            return Choice::Wait;
        }
        let burst = BURST.min(connection.window_left);
        if burst > Bytes::ZERO {
            self.weigh(view, burst);
        }
        let most = burst.min(connection.unassigned);
        Choice::Send { subflow, most }
    }

    fn soonest(&mut self, connection: &Connection<'_>) -> Option<usize> {
        // In Linux, every subflow that is not backup counts as active, even if its rate is unknown and it
        // cannot be chosen.
        let active = connection
            .subflows
            .iter()
            .any(|view| is_active(view) && !view.backup);
        let mut best: Option<(u64, usize)> = None;
        for (at, view) in connection.subflows.iter().enumerate() {
            if !is_active(view) || view.backup == active {
                continue;
            }
            if let Some(linger) = self.linger(view)
                && best.is_none_or(|(least, _)| linger < least)
            {
                best = Some((linger, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Time until the queue is empty, in units of 2⁻³² seconds.
    fn linger(&mut self, view: &View) -> Option<u64> {
        let rate = u128::from(*self.mean(view));
        let linger = (u128::from(view.queued.get()) << 32).checked_div(rate)?;
        Some(u64::try_from(linger).unwrap_or(u64::MAX))
    }

    /// Mean pacing rate, in bytes per second. It starts with the first known rate.
    fn mean(&mut self, view: &View) -> &mut u64 {
        let known = self.means.iter().position(|(id, _)| *id == view.id);
        let at = known.unwrap_or_else(|| {
            self.means.push((view.id, 0));
            self.means.len() - 1
        });
        let mean = &mut self.means[at].1;
        if *mean == 0 {
            *mean = view.pacing_rate.as_bps() / 8;
        }
        mean
    }

    fn weigh(&mut self, view: &View, burst: Bytes) {
        let (queued, burst) = (u128::from(view.queued.get()), u128::from(burst.get()));
        let rate = u128::from(view.pacing_rate.as_bps() / 8);
        let mean = self.mean(view);
        let weighted = (u128::from(*mean) * queued + rate * burst) / (burst + queued);
        *mean = u64::try_from(weighted).unwrap_or(u64::MAX);
    }

    fn forget(&mut self, connection: &Connection<'_>) {
        self.means
            .retain(|(id, _)| connection.subflows.iter().any(|view| view.id == *id));
    }

    /// The subflow that retransmits the connection's oldest data after a time-out: the first one with nothing
    /// in flight. A backup only if all others have made no progress for two time-outs.
    pub fn retransmit_on(connection: &Connection<'_>) -> Option<usize> {
        let usable = || {
            connection
                .subflows
                .iter()
                .enumerate()
                .filter(|(_, view)| view.usable)
        };
        let idle = |backup: bool| {
            usable()
                .find(|(_, view)| view.queued == Bytes::ZERO && view.backup == backup)
                .map(|(at, _)| at)
        };
        let stuck = usable()
            .filter(|(_, view)| view.queued > Bytes::ZERO)
            .all(|(_, view)| view.stale_count > 1);
        idle(false).or_else(|| idle(true).filter(|_| stuck))
    }
}

const fn is_active(view: &View) -> bool {
    view.usable && !view.stale
}
