//! Transmission and timers: the retransmission timer, the loss probe, the check for late segments.
//!
//! # Sources
//! - RFC 6298 §5, RFC 8985 §7; Linux, `net/ipv4/tcp_output.c` (`tcp_schedule_loss_probe`).

use super::recovery::Phase;
use super::{Segment, Sender};
use crate::tcp::config::Detection;
use units::{Duration, Instant};

/// Time that a probe waits beyond two RTTs: the timer granularity, or the delayed-ACK time if only one
/// segment is in flight.
const GRAIN: Duration = Duration::from_millis(2);
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// The running timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Rto,
    Probe,
}

impl Sender {
    /// When to call [`wake`](Self::wake). `None` if no timer runs.
    pub fn wake_at(&self) -> Option<Instant> {
        let timer = self.timer.map(|(at, _)| at);
        [timer, self.check_late_at, self.duplicates_count_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles the timers that are due. Appends transmissions to `out`.
    pub fn wake(&mut self, now: Instant, out: &mut Vec<Segment>) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.check_late_at) || due(self.duplicates_count_at) {
            self.duplicates_count_at = None;
            let marked = self.detect(now);
            if marked > 0 {
                self.adapt(1, false);
            }
        }
        match self.timer {
            Some((at, Timer::Rto)) if at <= now => self.time_out(now),
            Some((at, Timer::Probe)) if at <= now => self.probe(now, out),
            _ => {}
        }
        self.send(now, out);
    }

    /// Sends all that the window allows, lost segments first. Appends them to `out`.
    pub fn send(&mut self, now: Instant, out: &mut Vec<Segment>) {
        while self.board.in_flight() < self.cwnd {
            out.push(self.transmit(now));
        }
    }

    fn transmit(&mut self, now: Instant) -> Segment {
        let Some(segment) = self.board.send_lost(now) else {
            let segment = self.board.send_new(now);
            if !matches!(self.timer, Some((_, Timer::Rto))) {
                self.set_timer(now);
            }
            return segment;
        };
        self.counts.retransmits += 1;
        if let Some(undo) = &mut self.undo {
            undo.repaired(now);
        }
        if segment.number == self.board.first() {
            self.set_timer(now);
        }
        segment
    }

    pub(super) fn set_timer(&mut self, now: Instant) {
        let out = self.board.end() - self.board.first();
        let rto = self.round_trip.rto();
        let probe = self.probe_after(out).filter(|&probe| probe < rto);
        let (after, timer) = probe.map_or((rto, Timer::Rto), |probe| (probe, Timer::Probe));
        self.timer = (out > 0).then_some((now + after, timer));
    }

    fn probe_after(&self, out: u64) -> Option<Duration> {
        let usual = self.config.detection == Detection::Linux && matches!(self.phase, Phase::Open);
        let extra = if out == 1 { DELAYED_ACK } else { GRAIN };
        let srtt = self.round_trip.srtt()?;
        (usual && self.board.in_order()).then_some(srtt * 2 + extra)
    }

    fn probe(&mut self, now: Instant, out: &mut Vec<Segment>) {
        if self.probed_to.is_none() {
            self.counts.probes += 1;
            out.push(self.board.send_new(now));
            self.probed_to = Some(self.board.end());
        }
        self.timer = Some((now + self.round_trip.rto(), Timer::Rto));
    }

    fn time_out(&mut self, now: Instant) {
        self.counts.timeouts += 1;
        if matches!(self.phase, Phase::Open) {
            self.reduce();
        }
        let rack = self.config.detection == Detection::Linux;
        self.board.mark_all(now, rack);
        self.cwnd = self.board.in_flight() + 1;
        self.phase = Phase::Loss {
            until: self.board.end(),
        };
        self.round_trip.back_off();
        self.set_timer(now);
    }
}
