//! What a loss does, and what becomes of it when it turns out to have been none.
//!
//! # Sources
//! - Linux, `net/ipv4/tcp_input.c`: `tcp_fastretrans_alert`, `tcp_try_undo_recovery`, `tcp_try_undo_loss`.
//! - RFC 3522 (Eifel: the timestamp of the first transmission), RFC 2883 (all that was sent again has arrived twice).

use super::Sender;
use crate::tcp::config::Detection;
use policy::cc::Prr;
use units::Instant;

/// Where the repair of a loss stands.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Nothing is lost.
    Open,
    /// Until so much is acknowledged, after a loss that was noticed.
    Recovery { until: u64, prr: Prr },
    /// The same after a time-out.
    Loss { until: u64 },
}

/// As before the last loss.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    cwnd: u32,
    ssthresh: u32,
    /// When something was first sent again for it.
    since: Option<Instant>,
    /// Transmissions of what is not known to have arrived twice.
    unproven: u32,
}

impl Undo {
    /// Something was sent again.
    pub(super) const fn repaired(&mut self, now: Instant) {
        if self.since.is_none() {
            self.since = Some(now);
        }
        self.unproven += 1;
    }
}

impl Sender {
    /// Marks what is lost; how many.
    pub(super) fn detect(&mut self, now: Instant) -> u32 {
        self.look_at = None;
        if self.is_deaf(now) {
            return 0;
        }
        let marked = match self.config.detection {
            Detection::ThreeDuplicates => self.board.mark_behind(),
            Detection::Linux => {
                let repairs = !matches!(self.phase, Phase::Open);
                let srtt = self.round_trip.srtt().unwrap_or_default();
                let window = self.board.reordering_window(repairs, self.min_rtt, srtt);
                let (marked, look_at) = self.board.mark_late(now, window);
                self.look_at = look_at;
                marked
            }
        };
        if marked > 0 && matches!(self.phase, Phase::Open) {
            self.reduce();
            self.counts.recoveries += 1;
            self.phase = Phase::Recovery {
                until: self.board.end(),
                prr: Prr::new(self.cwnd),
            };
        }
        marked
    }

    /// A loss, the first of its round trip.
    pub(super) fn reduce(&mut self) {
        self.undo = Some(Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            since: None,
            unproven: 0,
        });
        self.ssthresh = self.config.controller.after_loss(0, &self.flows());
    }

    /// The repair of a loss may be over.
    pub(super) fn leave(&mut self) {
        let first = self.board.first();
        match self.phase {
            Phase::Recovery { until, .. } if first >= until => {
                self.cwnd = self.ssthresh;
                self.board.recovered();
                self.phase = Phase::Open;
            }
            Phase::Loss { until } if first >= until => self.phase = Phase::Open,
            Phase::Open | Phase::Recovery { .. } | Phase::Loss { .. } => {}
        }
        self.probed_to = self.probed_to.filter(|&probed| first < probed);
    }

    /// A segment has arrived a second time.
    pub(super) fn arrived_twice(&mut self) {
        self.board.arrived_twice();
        let Some(undo) = &mut self.undo else {
            return;
        };
        if undo.unproven > 0 {
            undo.unproven -= 1;
            if undo.unproven == 0 {
                self.undo();
            }
        }
    }

    /// What fills the first hole was sent at `sent`: if that was before the repair began, there was nothing to repair.
    pub(super) fn undo_if_late(&mut self, sent: Instant) {
        let Some(undo) = &self.undo else {
            return;
        };
        let late = undo.since.is_none_or(|since| sent < since);
        let waits = |since| self.board.waits_for_repair(since);
        let undone = match self.phase {
            Phase::Open => false,
            Phase::Recovery { .. } => late && !undo.since.is_some_and(waits),
            Phase::Loss { .. } => late,
        };
        if undone {
            self.undo();
        }
    }

    fn undo(&mut self) {
        if self.config.detection == Detection::ThreeDuplicates {
            return;
        }
        if let Some(undo) = self.undo.take() {
            self.counts.undone += 1;
            self.cwnd = self.cwnd.max(undo.cwnd);
            self.ssthresh = self.ssthresh.max(undo.ssthresh);
            self.board.unmark();
            self.phase = Phase::Open;
        }
    }
}
