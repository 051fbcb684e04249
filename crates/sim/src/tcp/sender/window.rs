//! Changes of the window by ACKs.
//!
//! # Sources
//! - RFC 5681 §3.1. `bpf/cc/control.h` and `orders.h` for a first slow start that ends by delay, and for
//!   orders.

use super::cubic::AckInStart;
use super::recovery::Phase;
use super::{ENDLESS, Sender};
use crate::tcp::config::{Control, MAX_WINDOW, SlowStart};
use policy::cc::{Controller, Credit, Flow, Increase, MOST_PATHS};
use units::Instant;

impl Sender {
    /// This path, in the form that its own controller takes.
    fn own(&self) -> Flow {
        let srtt = self.round_trip.srtt().unwrap_or_default();
        Flow {
            cwnd: self.cwnd,
            srtt_us: srtt.as_micros() as u32,
            mean: self.mean,
            interval: self.interval,
        }
    }

    /// Calls the controller with this path first and its siblings behind it.
    fn coupled<T>(&self, siblings: &[Flow], call: impl FnOnce(&[Flow]) -> T) -> T {
        if siblings.is_empty() {
            return call(&[self.own()]);
        }
        let mut flows = [Flow::default(); MOST_PATHS];
        flows[0] = self.own();
        let count = siblings.len().min(MOST_PATHS - 1);
        flows[1..=count].copy_from_slice(&siblings[..count]);
        call(&flows[..=count])
    }

    /// Halves the window of a slow path that blocks its connection, and ends its slow start there
    /// ([`policy::sched::Rescue`]).
    pub fn penalise(&mut self) {
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
    }

    /// Window after a loss.
    pub(super) fn after_loss(&mut self, siblings: &[Flow]) -> u32 {
        match self.config.control {
            Control::Coupled(controller) => self.coupled(siblings, |flows| controller.after_loss(0, flows)),
            Control::Cubic => self.cubic.get_or_insert_default().after_loss(self.cwnd),
        }
    }

    /// Updates the window after an ACK of `newly` segments.
    pub(super) fn adapt(&mut self, now: Instant, newly: u32, advanced: bool, siblings: &[Flow]) {
        if let Phase::Recovery { prr, .. } | Phase::Reduced { prr, .. } = &mut self.phase {
            let in_flight = self.board.in_flight();
            self.cwnd = in_flight.saturating_add(prr.may_send(newly, self.ssthresh, in_flight));
        } else if advanced {
            self.obey();
            if self.is_limited() {
                self.grow(now, newly, siblings);
            }
        }
        self.cwnd = self.cwnd.clamp(1, MAX_WINDOW);
    }

    /// Applies a pending order, like `obey` in `bpf/cc/orders.h`.
    pub(super) fn obey(&mut self) {
        if let Some(order) = self.cla.as_mut().and_then(|cla| cla.order.take()) {
            self.counts.orders += 1;
            self.credit = Credit::default();
            self.round_end = self.delivered;
            self.ssthresh = order.ssthresh.unwrap_or(self.ssthresh);
            self.cwnd = order.cwnd;
        }
    }

    fn grow(&mut self, now: Instant, newly: u32, siblings: &[Flow]) {
        let acked = if self.cwnd < self.ssthresh {
            self.slow_start(now, newly)
        } else {
            newly
        };
        if acked > 0 {
            let increase = self.increase(now, acked, siblings);
            let more = self.credit.add(increase, acked);
            self.cwnd = self.cwnd.saturating_add_signed(more).max(2);
        }
    }

    /// Growth per segment in congestion avoidance. With siblings it is computed once per round trip, as in
    /// `bpf/cc/control.h`.
    fn increase(&mut self, now: Instant, acked: u32, siblings: &[Flow]) -> Increase {
        let begins = self.delivered >= self.round_end;
        if begins {
            self.mean.round(self.cwnd);
            self.round_end = self.delivered + self.board.end() - self.board.first();
        }
        match self.config.control {
            Control::Cubic => {
                let min_rtt = self.min_rtt.unwrap_or_default();
                let path = self.cubic.get_or_insert_default();
                path.increase(now, acked, self.cwnd, min_rtt)
            }
            Control::Coupled(Controller::Reno) => Controller::Reno.increase(0, &[self.own()]),
            Control::Coupled(controller) => {
                if begins || siblings.is_empty() {
                    self.increase = self.coupled(siblings, |flows| controller.increase(0, flows));
                }
                self.increase
            }
        }
    }

    /// Performs slow start. Returns what is left of `acked` for congestion avoidance. Follows
    /// `start_by_delay` in `bpf/cc/control.h` if slow start ends by delay.
    fn slow_start(&mut self, now: Instant, acked: u32) -> u32 {
        let is_first = self.ssthresh == ENDLESS;
        if self.config.slow_start != SlowStart::HyStart || !is_first {
            let grown = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            if is_first && self.config.slow_start == SlowStart::DelayOrTrain && self.start_ends(now) {
                self.ssthresh = self.cwnd;
            }
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

    fn start_ends(&mut self, now: Instant) -> bool {
        self.cubic.get_or_insert_default().ends_start(AckInStart {
            now,
            cwnd: self.cwnd,
            first: self.board.first(),
            end: self.board.end(),
            rtt: self.last_rtt,
            min_rtt: self.min_rtt.unwrap_or(self.last_rtt),
        })
    }
}
