//! Changes of the window by ACKs.
//!
//! # Sources
//! - RFC 5681 §3.1. `bpf/cc/control.h` and `orders.h` for a first slow start that ends by delay, and for
//!   orders.

use super::recovery::Phase;
use super::{ENDLESS, Sender};
use crate::tcp::config::{MAX_WINDOW, SlowStart};
use policy::cc::{Credit, Flow};

impl Sender {
    /// The controller's view: this path, and no other.
    pub(super) fn flows(&self) -> [Flow; 1] {
        let srtt = self.round_trip.srtt().unwrap_or_default();
        [Flow {
            cwnd: self.cwnd,
            srtt_us: srtt.as_micros() as u32,
            ..Flow::default()
        }]
    }

    /// Updates the window after an ACK of `newly` segments.
    pub(super) fn adapt(&mut self, newly: u32, advanced: bool) {
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            let in_flight = self.board.in_flight();
            self.cwnd = in_flight.saturating_add(prr.may_send(newly, self.ssthresh, in_flight));
        } else if advanced {
            self.obey();
            self.grow(newly);
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    /// Applies a pending order, like `obey` in `bpf/cc/orders.h`.
    pub(super) fn obey(&mut self) {
        if let Some(order) = self.order.take() {
            self.counts.orders += 1;
            self.credit = Credit::default();
            self.round_end = self.delivered;
            self.ssthresh = order.ssthresh.unwrap_or(self.ssthresh);
            self.cwnd = order.cwnd;
        }
    }

    fn grow(&mut self, newly: u32) {
        let acked = if self.cwnd < self.ssthresh {
            self.slow_start(newly)
        } else {
            newly
        };
        if acked > 0 {
            let increase = self.config.controller.increase(0, &self.flows());
            let more = self.credit.add(increase, acked);
            self.cwnd = self.cwnd.saturating_add_signed(more).max(2);
        }
    }

    /// Performs slow start. Returns what is left of `acked` for congestion avoidance. Follows
    /// `start_by_delay` in `bpf/cc/control.h` if slow start ends by delay.
    fn slow_start(&mut self, acked: u32) -> u32 {
        if self.config.slow_start == SlowStart::Standard || self.ssthresh < ENDLESS {
            let grown = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            return acked - grown;
        }
        if self.delivered >= self.round_end {
            self.start.round();
            self.round_end = self.delivered + self.board.end() - self.board.first();
        }
        self.start.sample(self.last_rtt.as_micros() as u32);
        self.cwnd += self.start.growth(acked);
        if self.start.is_over() {
            self.ssthresh = self.cwnd;
        }
        0
    }
}
