//! Whether the window limits the sender, and what happens to a window that is not used.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_output.c` (`tcp_cwnd_validate`, `tcp_cwnd_application_limited`,
//!   `tcp_cwnd_restart`), `include/net/tcp.h` (`tcp_is_cwnd_limited`). RFC 7661.
//!
//! # Checked by
//! `tests/hosts.rs`: a source that pauses begins with the initial window again.

use super::recovery::Phase;
use super::{ENDLESS, Sender};
use units::Instant;

/// Use of the window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Whether the window has limited the sender in the last RTT.
    limited: bool,
    /// Most segments in flight in that RTT.
    most: u32,
    /// The RTT ends when this segment is acknowledged.
    until: u64,
    /// Most segments in flight since the window last limited the sender.
    used: u32,
    /// When the window was last used fully, or was last reduced for not being used.
    stamp: Instant,
    /// When something was last sent.
    sent: Instant,
}

impl Usage {
    /// The window limits the sender now.
    pub(super) const fn full(&mut self) {
        self.limited = true;
        self.most = u32::MAX / 2;
        self.until = u64::MAX;
    }
}

impl Sender {
    /// Begins to send: a sender that has been idle for longer than a time-out starts again with the initial
    /// window.
    pub fn begin_burst(&mut self, now: Instant) {
        if self.board.first() != self.board.end() || !self.config.restarts_after_idle {
            return;
        }
        let rto = self.rto();
        let idle = now - self.usage.sent;
        if idle < rto {
            return;
        }
        let periods = (idle.as_nanos() / rto.as_nanos().max(1)).min(31) as u32;
        let least = self.config.initial_window.min(self.cwnd);
        if self.ssthresh < ENDLESS || periods > 0 {
            self.ssthresh = self.kept_threshold();
        }
        self.cwnd = (self.cwnd >> periods).max(least);
        self.usage.stamp = now;
        self.usage.used = 0;
    }

    /// Records the end of a burst. `limited`: the window alone ended it.
    pub fn end_burst(&mut self, now: Instant, limited: bool) {
        self.usage.sent = now;
        let flight = self.board.in_flight();
        let usage = &mut self.usage;
        let over = self.board.first() >= usage.until;
        if over || limited || (!usage.limited && flight > usage.most) {
            usage.limited = limited;
            usage.most = flight;
            usage.until = self.board.end();
        }
        if self.is_limited() {
            self.usage.used = 0;
            self.usage.stamp = now;
        } else {
            self.usage.used = self.usage.used.max(flight);
            if self.config.restarts_after_idle && now - self.usage.stamp >= self.rto() {
                self.forget_unused(now);
            }
        }
    }

    /// Whether the window may grow.
    pub(super) const fn is_limited(&self) -> bool {
        self.usage.limited || (self.cwnd < self.ssthresh && self.cwnd < self.usage.most.saturating_mul(2))
    }

    /// The window falls halfway to what was used of it in the last time-out.
    fn forget_unused(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Open) && self.cwnd > self.usage.used {
            let used = self.usage.used.max(self.config.initial_window);
            if used < self.cwnd {
                self.ssthresh = self.kept_threshold();
                self.cwnd = self.cwnd.midpoint(used);
            }
        }
        self.usage.used = 0;
        self.usage.stamp = now;
    }

    /// `tcp_current_ssthresh`: three quarters of the window, if that is more than the threshold.
    fn kept_threshold(&self) -> u32 {
        let part = (self.cwnd >> 1) + (self.cwnd >> 2);
        match self.phase {
            Phase::Open => self.ssthresh.max(part),
            Phase::Reduced { .. } | Phase::Recovery { .. } | Phase::Loss { .. } => self.ssthresh,
        }
    }
}
