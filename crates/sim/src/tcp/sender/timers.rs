//! Transmission and timers: the retransmission timer, the loss probe, the check for late segments.
//!
//! # Sources
//! - RFC 6298 §5, RFC 8985 §7; Linux, `net/ipv4/tcp_output.c` (`tcp_schedule_loss_probe`).

use super::recovery::Phase;
use super::{Segment, Sender};
use crate::tcp::config::{Detection, MSS};
use crate::tcp::scoreboard::Payload;
use policy::cc::Flow;
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

/// What the sender should transmit after a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Nothing beyond what the window allows.
    Nothing,
    /// A loss probe: one segment, whatever the window is. New data, or the last segment again.
    Probe,
    /// The retransmission timer has expired.
    TimedOut,
}

/// The earlier of two times, of those that there are.
pub(crate) fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}

/// Payload of a sender that always has data.
const FULL: Payload = Payload {
    data: 0,
    bytes: MSS as u16,
    fin: false,
};

impl Sender {
    /// When to call [`wake`](Self::wake). `None` if no timer runs.
    pub fn wake_at(&self) -> Option<Instant> {
        let timer = self.timer.map(|(at, _)| at);
        let mut first = earlier(timer, self.check_late_at);
        if let Some(cla) = &self.cla {
            first = earlier(first, cla.duplicates_count_at);
        }
        first
    }

    /// Handles the timers that are due, of a sender that always has data. Appends transmissions to `out`.
    pub fn wake(&mut self, now: Instant, out: &mut Vec<Segment>) {
        if self.expire(now, &[]) == Woken::Probe {
            out.push(self.send_new(now, FULL));
        }
        self.send(now, out);
    }

    /// Handles the timers that are due. `siblings`: the connection's other subflows.
    pub fn expire(&mut self, now: Instant, siblings: &[Flow]) -> Woken {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let duplicates_count_at = self.cla.as_ref().and_then(|cla| cla.duplicates_count_at);
        if due(self.check_late_at) || due(duplicates_count_at) {
            if let Some(cla) = &mut self.cla {
                cla.duplicates_count_at = None;
            }
            let marked = self.detect(now, siblings);
            if marked > 0 {
                self.adapt(now, 1, false, siblings);
            }
        }
        match self.timer {
            Some((at, Timer::Rto)) if at <= now => {
                self.time_out(now, siblings);
                Woken::TimedOut
            }
            Some((at, Timer::Probe)) if at <= now => self.probe(now),
            _ => Woken::Nothing,
        }
    }

    /// Sends all that the window allows, lost segments first, of a sender that always has data. Appends them
    /// to `out`.
    pub fn send(&mut self, now: Instant, out: &mut Vec<Segment>) {
        while self.has_room() {
            let again = self.send_again(now).map(|(segment, _)| segment);
            out.push(again.unwrap_or_else(|| self.send_new(now, FULL)));
        }
        self.usage.full();
    }

    /// Whether the window allows another segment.
    pub const fn has_room(&self) -> bool {
        self.board.in_flight() < self.cwnd
    }

    /// Sends a new segment.
    pub fn send_new(&mut self, now: Instant, payload: Payload) -> Segment {
        let segment = self.board.send_new(now, payload);
        if !matches!(self.timer, Some((_, Timer::Rto))) {
            self.set_timer(now);
        }
        segment
    }

    /// Retransmits the first lost segment. `None` if there is none.
    pub fn send_again(&mut self, now: Instant) -> Option<(Segment, Payload)> {
        let (segment, payload) = self.board.send_lost(now)?;
        self.count_retransmission(now);
        if segment.number == self.board.first() {
            self.set_timer(now);
        }
        Some((segment, payload))
    }

    /// Retransmits the last segment as a loss probe.
    pub fn probe_again(&mut self, now: Instant) -> Option<(Segment, Payload)> {
        let probe = self.board.send_last_again(now)?;
        self.count_retransmission(now);
        Some(probe)
    }

    fn count_retransmission(&mut self, now: Instant) {
        self.counts.retransmits += 1;
        if let Some(undo) = &mut self.undo {
            undo.repaired(now);
        }
    }

    pub(super) fn set_timer(&mut self, now: Instant) {
        let out = self.board.end() - self.board.first();
        let rto = self.rto();
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

    /// The probe is due. At most one is in flight.
    fn probe(&mut self, now: Instant) -> Woken {
        let sends = self.probed_to.is_none();
        self.timer = Some((now + self.rto(), Timer::Rto));
        if !sends {
            return Woken::Nothing;
        }
        self.counts.probes += 1;
        self.probed_to = Some(self.board.end() + 1);
        Woken::Probe
    }

    fn time_out(&mut self, now: Instant, siblings: &[Flow]) {
        self.counts.timeouts += 1;
        if matches!(self.phase, Phase::Open | Phase::Reduced { .. }) {
            self.reduce(siblings);
        }
        if let Some(cubic) = &mut self.cubic {
            cubic.timed_out();
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
