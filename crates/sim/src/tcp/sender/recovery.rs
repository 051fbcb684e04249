//! Reaction to a loss, and its undo if nothing was lost.
//!
//! # Sources
//! - Linux, `net/ipv4/tcp_input.c`: `tcp_fastretrans_alert`, `tcp_try_undo_recovery`, `tcp_try_undo_loss`.
//! - RFC 3522 (Eifel: the timestamp of the first transmission), RFC 2883 (every retransmitted segment has
//!   arrived twice).

use super::Sender;
use crate::tcp::config::Detection;
use policy::cc::{Flow, Interval, Prr};
use units::Instant;

/// State of loss recovery.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// No loss.
    Open,
    /// The window is reduced because of ECN, until segment `until` is acknowledged (Linux: CWR).
    Reduced { until: u64, prr: Prr },
    /// Recovery after a detected loss, until segment `until` is acknowledged.
    Recovery { until: u64, prr: Prr },
    /// The window is reduced after a time-out, until segment `until` is acknowledged.
    Loss { until: u64 },
}

/// State before the last loss, to undo the reduction.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    cwnd: u32,
    ssthresh: u32,
    interval: Interval,
    /// Time of the first retransmission.
    since: Option<Instant>,
    /// Number of retransmissions not yet known to have arrived twice.
    unproven: u32,
}

impl Undo {
    /// Counts a retransmission.
    pub(super) const fn repaired(&mut self, now: Instant) {
        if self.since.is_none() {
            self.since = Some(now);
        }
        self.unproven += 1;
    }
}

impl Sender {
    /// Marks lost segments. Returns their number.
    pub(super) fn detect(&mut self, now: Instant, siblings: &[Flow]) -> u32 {
        self.check_late_at = None;
        if self.ignores_duplicates_now(now) {
            return 0;
        }
        let marked = match self.config.detection {
            Detection::ThreeDuplicates => self.board.mark_behind(),
            Detection::Linux if self.board.is_orderly() => 0,
            Detection::Linux => {
                let repairs = !matches!(self.phase, Phase::Open);
                let srtt = self.round_trip.srtt().unwrap_or_default();
                let window = self.board.reordering_window(repairs, self.min_rtt, srtt);
                let (marked, check_late_at) = self.board.mark_late(now, window);
                self.check_late_at = check_late_at;
                marked
            }
        };
        if marked > 0 {
            self.recover(siblings);
        }
        marked
    }

    /// Begins a recovery, unless one is in progress. A reduction by ECN in the same RTT is enough.
    fn recover(&mut self, siblings: &[Flow]) {
        let prr = match &self.phase {
            Phase::Open => {
                self.reduce(siblings);
                Prr::new(self.cwnd)
            }
            Phase::Reduced { prr, .. } => *prr,
            Phase::Recovery { .. } | Phase::Loss { .. } => return,
        };
        self.counts.recoveries += 1;
        self.phase = Phase::Recovery {
            until: self.board.end(),
            prr,
        };
    }

    /// The receiver reports congestion (RFC 3168 §6.1.2): reduces the window, once per RTT.
    pub(super) fn congested(&mut self, siblings: &[Flow]) {
        if matches!(self.phase, Phase::Open) {
            self.reduce(siblings);
            self.undo = None;
            self.counts.congested += 1;
            self.owes_cwr = true;
            self.phase = Phase::Reduced {
                until: self.board.end(),
                prr: Prr::new(self.cwnd),
            };
        }
    }

    /// Reduces the threshold for the first loss of an RTT.
    pub(super) fn reduce(&mut self, siblings: &[Flow]) {
        self.undo = Some(Box::new(Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            interval: self.interval,
            since: None,
            unproven: 0,
        }));
        self.ssthresh = self.after_loss(siblings);
        self.mean.lost();
        self.interval.lost();
        self.round_end = self.delivered;
    }

    /// Ends the recovery if everything up to its end is acknowledged.
    pub(super) fn leave(&mut self) {
        let first = self.board.first();
        match self.phase {
            Phase::Reduced { until, .. } if first >= until => {
                self.cwnd = self.ssthresh;
                self.phase = Phase::Open;
            }
            Phase::Recovery { until, .. } if first >= until => {
                self.cwnd = self.ssthresh;
                self.board.recovered();
                self.phase = Phase::Open;
            }
            Phase::Loss { until } if first >= until => self.phase = Phase::Open,
            Phase::Open | Phase::Reduced { .. } | Phase::Recovery { .. } | Phase::Loss { .. } => {}
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

    /// The segment that fills the first hole was sent at `sent`. If that was before the first retransmission,
    /// the loss was spurious.
    pub(super) fn undo_if_late(&mut self, sent: Instant) {
        let Some(undo) = &self.undo else {
            return;
        };
        let late = undo.since.is_none_or(|since| sent < since);
        let waits = |since| self.board.waits_for_repair(since);
        let undone = match self.phase {
            Phase::Open | Phase::Reduced { .. } => false,
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
            self.interval = undo.interval;
            self.board.unmark();
            self.phase = Phase::Open;
        }
    }
}
