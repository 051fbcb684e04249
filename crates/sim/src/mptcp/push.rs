//! Which subflow gets which data, and what is reinjected when.
//!
//! Data stays on the subflow to which it was assigned, as in Linux. A subflow takes as much as its send
//! buffer allows, which is several windows. What is reinjected waits behind it.
//!
//! # Sources
//! - Linux 6.18, `net/mptcp/protocol.c` (`__mptcp_push_pending`, `__mptcp_retrans`, `mptcp_set_timeout`),
//!   `net/mptcp/pm_kernel.c` (`mptcp_pm_subflow_chk_stale`).
//!
//! # Where we differ, and why
//! 1. A time-out reinjects 32 KiB. Linux reinjects one page fragment, which has at most that size.
//!
//! # Checked by
//! `tests/hosts.rs`.

use super::connection::Connection;
use super::outbox::Outbox;
use policy::sched::{self, Choice, LinuxDefault, View};
use units::{Bytes, Duration, Instant};

/// Data that a time-out reinjects: a page fragment.
const FRAGMENT: u64 = 32 << 10;
/// Time-outs without progress after which a subflow is stale (`stale_loss_cnt`).
const STALE_AFTER: u8 = 4;
/// Time-out if no subflow's timer runs (`TCP_RTO_MIN`).
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

impl Connection {
    /// Assigns as much data as the scheduler and the peer's window allow.
    pub(super) fn push(&mut self, now: Instant, out: &mut Outbox) {
        if self.outgoing.unassigned() == 0 {
            return;
        }
        if !self.mptcp {
            return self.push_all();
        }
        let mut views = std::mem::take(&mut out.views);
        self.fill(&mut views);
        while self.choose(now, &mut views) {}
        self.unblock(now, &mut views);
        out.views = views;
        if self.retransmit_at.is_none() {
            self.set_retransmission_timer(now);
        }
    }

    /// Assigns all data to the only subflow of a connection without MPTCP.
    fn push_all(&mut self) {
        let left = self.outgoing.window_left();
        if let Some(subflow) = self.subflows.first_mut().filter(|subflow| subflow.may_send()) {
            let (data, bytes) = self.outgoing.assign(left);
            if bytes > 0 {
                subflow.assign(data, bytes);
            }
        }
    }

    fn fill(&mut self, views: &mut Vec<View>) {
        views.clear();
        let (config, unsent) = (&self.shared.host.config, self.unsent);
        views.extend(
            self.subflows
                .iter_mut()
                .map(|subflow| subflow.view(config, unsent)),
        );
    }

    /// Carries out one choice of the scheduler. Returns whether to ask again.
    fn choose(&mut self, now: Instant, views: &mut [View]) -> bool {
        let connection = sched::Connection {
            subflows: views,
            window_left: Bytes::new(self.outgoing.window_left()),
            unassigned: Bytes::new(self.outgoing.unassigned()),
        };
        let (most, on) = match self.scheduler.choose(now, &connection) {
            Choice::Wait => return false,
            Choice::Send { subflow, most } => (most, sched::Set::default().with(subflow)),
            Choice::Duplicate { on, most } => (most, on),
        };
        let (data, bytes) = self.outgoing.assign(most.get());
        if bytes == 0 {
            return false;
        }
        let chosen = self.subflows.iter_mut().zip(views).enumerate();
        for (_, (subflow, view)) in chosen.filter(|(at, _)| on.contains(*at)) {
            subflow.assign(data, bytes);
            view.queued += Bytes::new(bytes);
            view.unsent += Bytes::new(bytes);
            if self.unsent.is_some_and(|limit| view.unsent >= limit) {
                view.queued = view.queued.max(view.send_buffer);
            }
        }
        true
    }

    /// If configured, and if the peer's window is full: reinjects the oldest segment on a faster subflow, and
    /// penalises the one that holds it.
    fn unblock(&mut self, now: Instant, views: &mut [View]) {
        let Some(rescue) = &mut self.rescue else {
            return;
        };
        let window_left = Bytes::new(self.outgoing.window_left());
        if self.outgoing.unassigned() == 0 || views.iter().all(|view| window_left >= view.mss) {
            return;
        }
        let oldest = self.outgoing.first();
        for (subflow, view) in self.subflows.iter().zip(&mut *views) {
            view.holds_oldest = subflow.holds(oldest);
        }
        let connection = sched::Connection {
            subflows: views,
            window_left,
            unassigned: Bytes::new(self.outgoing.unassigned()),
        };
        let rescued = rescue.unblock(now, &connection);
        if let Some(at) = rescued.again_on {
            let bytes = u64::from(self.subflows[at].mss).min(self.outgoing.unacknowledged());
            self.subflows[at].assign(oldest, bytes);
        }
        if let Some(at) = rescued.penalise {
            self.subflows[at].sender.made().penalise();
        }
    }

    /// Starts or stops the connection's retransmission timer: the longest time-out of its subflows.
    pub(super) fn set_retransmission_timer(&mut self, now: Instant) {
        if !self.mptcp || !self.outgoing.is_outstanding() {
            self.retransmit_at = None;
            return;
        }
        if self.outgoing.unacknowledged() == 0 {
            self.retransmit_at = Some(now + self.data_fin_timeout());
            return;
        }
        let running = self.subflows.iter().filter(|subflow| subflow.stale_count == 0);
        let longest = running.filter_map(|subflow| subflow.sender.wake_at()).max();
        let after = longest.filter(|&at| at > now).unwrap_or(now + LEAST_TIMEOUT);
        self.retransmit_at = Some(after);
    }

    /// The connection's retransmission timer has expired.
    pub(super) fn reinject_oldest(&mut self, now: Instant) {
        if self.outgoing.unacknowledged() == 0 {
            self.repeat_data_fin();
            return self.set_retransmission_timer(now);
        }
        let mut views = Vec::with_capacity(self.subflows.len());
        self.find_stale();
        self.fill(&mut views);
        let connection = sched::Connection {
            subflows: &views,
            window_left: Bytes::new(self.outgoing.window_left()),
            unassigned: Bytes::new(self.outgoing.unassigned()),
        };
        if let Some(at) = LinuxDefault::retransmit_on(&connection) {
            let bytes = FRAGMENT.min(self.outgoing.unacknowledged());
            if bytes > 0 {
                self.subflows[at].assign(self.outgoing.first(), bytes);
            }
        }
        self.set_retransmission_timer(now);
    }

    /// Counts time-outs without progress. A subflow with too many gets no new data, and what it holds is
    /// reinjected, if there is another subflow that is not in trouble.
    fn find_stale(&mut self) {
        for subflow in &mut self.subflows {
            if !subflow.may_send() || subflow.is_drained() {
                continue;
            }
            if subflow.last_heard == subflow.stale_stamp {
                subflow.stale_count = subflow.stale_count.saturating_add(1);
            } else {
                (subflow.stale_count, subflow.stale_stamp) = (0, subflow.last_heard);
            }
        }
        for at in 0..self.subflows.len() {
            let subflow = &self.subflows[at];
            if subflow.stale || subflow.stale_count <= STALE_AFTER {
                continue;
            }
            let mut others = self.subflows.iter();
            if others.any(|other| other.may_send() && !other.stale && other.stale_count == 0) {
                self.subflows[at].stale = true;
                self.outgoing.reinject_all();
            }
        }
    }
}
