//! Zero-window probes: a sender that waits only for the peer's window asks for it.
//!
//! The ACK that opens a window may be lost, or the window may open without one. So the sender asks after an
//! RTO, then after twice that time, and so on.
//!
//! # Sources
//! - RFC 9293 §3.8.6.1; Linux 6.18, `net/ipv4/tcp_output.c` (`tcp_send_probe0`, `tcp_xmit_probe_skb`),
//!   `net/ipv4/tcp_input.c` (`tcp_ack_probe`: an answer with a closed window does not end the back-off).
//!
//! # Where we differ, and why
//! 1. With MPTCP, too, a probe has no payload. Linux sends a byte again that is acknowledged at the data
//!    level: the effect is the same.
//! 2. A sender never gives up. Linux does after 15 unanswered probes, which is a quarter of an hour.
//!
//! # Checked by
//! `tests/hosts_protocol.rs`.

use super::connection::Connection;
use super::outbox::Outbox;
use units::{Duration, Instant};

/// Longest interval between two probes (`TCP_RTO_MAX`).
const MOST: Duration = Duration::from_secs(120);
/// Doublings after which the interval is the longest in any case.
const MOST_DOUBLINGS: u8 = 10;

/// State of the persist timer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Persist {
    at: Option<Instant>,
    probes: u8,
}

impl Persist {
    pub(super) const fn wake_at(self) -> Option<Instant> {
        self.at
    }
}

impl Connection {
    /// Whether data waits for the peer's window alone.
    fn is_shut_out(&self) -> bool {
        let outgoing = &self.outgoing;
        outgoing.unassigned() > 0
            && outgoing.window_left() == 0
            && !outgoing.is_outstanding()
            && self.is_open()
            && self.subflows.iter().all(|subflow| subflow.is_drained())
    }

    /// Starts or stops the persist timer.
    pub(super) fn set_persist_timer(&mut self, now: Instant) {
        if !self.is_shut_out() {
            self.persist = Persist::default();
        } else if self.persist.at.is_none() {
            self.persist.at = Some(now + self.persist_interval());
        }
    }

    fn persist_interval(&self) -> Duration {
        let open = self.subflows.iter().filter(|subflow| subflow.is_open());
        let rto = open.map(|subflow| subflow.sender.rto()).max();
        let doubled = rto.unwrap_or(MOST).saturating_mul(1 << self.persist.probes);
        doubled.min(MOST)
    }

    /// Sends a probe, if one is due, on the subflow that was heard last.
    pub(super) fn probe_window(&mut self, now: Instant, out: &mut Outbox) {
        if self.persist.at.is_none_or(|due| due > now) {
            return;
        }
        let stamp = self.stamp(now);
        let open = self.subflows.iter_mut().filter(|subflow| subflow.is_open());
        if let Some(subflow) = open.max_by_key(|subflow| subflow.last_heard) {
            subflow.send_window_probe(&stamp, out);
        }
        self.persist.probes = (self.persist.probes + 1).min(MOST_DOUBLINGS);
        self.persist.at = Some(now + self.persist_interval());
    }
}
