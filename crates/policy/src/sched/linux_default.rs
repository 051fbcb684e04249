//! The scheduler of upstream Linux, the only one that it has: the subflow that will have sent its queue soonest.
//!
//! A subflow's linger time is what it has queued over its mean pacing rate. The subflow with the least is chosen, whatever its
//! round-trip time; if its send buffer is full, nothing is sent at all, even if another has room. The chosen one gets up to 64 KiB
//! before the question is asked again, and its mean rate moves towards its pacing rate, weighted by queue and burst.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c`: `mptcp_subflow_get_send`, `mptcp_subflow_active`, `__mptcp_push_pending`,
//!   `mptcp_subflow_get_retrans`; `net/mptcp/sched.c`.
//! - `include/net/sock.h`: `sk_stream_memory_free`.
//!
//! # Where we differ, and why
//! 1. Linux counts the memory of a socket's buffers, headers and slack included (`sk_wmem_queued`); here a queue is its payload
//!    unless the world says otherwise. Linger times compare the same.
//! 2. A stale subflow comes back in Linux when anything has arrived since it was found stale; the world says so by
//!    [`View::stale`].
//!
//! # Checked by
//! `sched::tests`: golden vectors worked out by hand, and a model in real numbers.

use super::{Choice, Connection, View};
use crate::io::SubflowId;
use alloc::vec::Vec;
use units::Bytes;

/// The most that one choice is good for: 64 KiB less the headers of TCP (60), IPv6 (40) and its fragment (8).
pub const BURST: Bytes = Bytes::new(65_536 - 108);

/// As upstream Linux does.
#[derive(Debug, Clone, Default)]
pub struct LinuxDefault {
    /// The mean pacing rate of each subflow that was ever looked at, in bytes per second.
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
        // Linux counts as active whatever is not backup, even if its rate is not known and it cannot be chosen.
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

    /// How long its queue takes to leave, in parts of 2³² seconds.
    fn linger(&mut self, view: &View) -> Option<u64> {
        let rate = u128::from(*self.mean(view));
        let linger = (u128::from(view.queued.get()) << 32).checked_div(rate)?;
        Some(u64::try_from(linger).unwrap_or(u64::MAX))
    }

    /// The mean begins with the first rate that is known.
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

    /// The subflow on which the connection's oldest data is sent again after a time-out: the first that has nothing under way; a
    /// backup only if all the others have made no progress for two time-outs.
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
