//! CLA's inputs and their effects on the sender.
//!
//! # Sources
//! - cla §IV, and the steps of [`policy::cc::HandOffStage`]. `crates/linux/src/cla/advisor.rs` for the orders
//!   in the kernel.

use super::recovery::Phase;
use super::{Order, Sender};
use crate::tcp::config::{Estimates, MSS, Ordered, Steps};
use policy::cc::{MobileStage, Report};
use units::{Duration, Instant};

/// A path may carry up to this many times the rate before the hand-off.
const HEADROOM: f64 = 2.0;
/// RFC 9406's `RttThresh`: the most by which an RTT without queueing exceeds the minimum RTT, as a part of it
/// and its limits.
const PART: u32 = 8;
const LEAST_JITTER: Duration = Duration::from_millis(4);
const MOST_JITTER: Duration = Duration::from_millis(16);

impl Sender {
    /// The path begins to fade, and the other paths carry all that they can. CLA's mobile stage lowers the
    /// window at the next ACK. Does nothing without CLA, or before the first RTT sample.
    pub fn fade(&mut self) {
        let (Some(srtt), Some(base)) = (self.round_trip.srtt(), self.min_rtt) else {
            return;
        };
        if self.cla.is_none() || srtt.is_zero() {
            return;
        }
        let jitter = (base / PART).clamp(LEAST_JITTER, MOST_JITTER);
        let in_flight = f64::from(self.board.in_flight()) * f64::from(MSS);
        let own = Report {
            rate: in_flight / srtt.as_secs_f64(),
            base_rtt_s: srtt.min(base + jitter).as_secs_f64(),
            mi: -0.5,
            q: 0.45,
            queued: true,
        };
        let other = Report {
            mi: 0.0,
            q: 1.0,
            ..own
        };
        if let Some([window, ..]) = MobileStage::default().report(&[own, other], MSS) {
            let cwnd = window.min(self.cwnd);
            let order = Order {
                cwnd,
                ssthresh: Some(cwnd),
            };
            if let Some(cla) = &mut self.cla {
                (cla.faded, cla.order) = (Some(own.rate), Some(order));
            }
        }
    }

    /// The subflow has a new access point. Does nothing without CLA.
    pub fn hand_off(&mut self, now: Instant) {
        let Some(steps) = self.config.cla else {
            return;
        };
        self.begin_stage(now, steps);
        self.set_duplicates_count_at(now);
        if steps.estimates != Estimates::Kept {
            self.counts.resets += 1;
            self.min_rtt = None;
        }
        if steps.estimates == Estimates::Strictly && self.timer.is_some() {
            self.set_timer(now);
        }
        if steps.window_at_once && !matches!(self.phase, Phase::Recovery { .. }) {
            self.obey();
        }
    }

    /// Starts the hand-off stage, and resets the estimates if configured. Keeps the order that follows.
    fn begin_stage(&mut self, now: Instant, steps: Steps) {
        let Some(cla) = &mut self.cla else {
            return;
        };
        let mut anew = self.round_trip;
        let cwnd = cla.stage.begin(now, &mut anew, None);
        if steps.estimates != Estimates::Kept {
            self.round_trip = anew;
        }
        cla.handed_off = now;
        let carried = cla.faded.take();
        match steps.ordered {
            Ordered::Nothing => {}
            Ordered::ThresholdOnceKnown => cla.carried = carried,
            Ordered::ByThePathBefore => {
                let before = carried.zip(self.min_rtt);
                let ssthresh = before.map(|(rate, rtt)| threshold(rate, rtt).max(cwnd));
                cla.order = Some(Order { cwnd, ssthresh });
            }
        }
    }

    /// Processes the RTT of a segment sent at `sent`. The minimum over the first RTT counts as the new path's
    /// RTT: it is complete once everything is acknowledged that was in flight at the first sample. Then the
    /// threshold is computed, and ordered if it exceeds the window.
    pub(super) fn learn_round_trip(&mut self, sent: Instant) {
        let Some(cla) = &mut self.cla else {
            return;
        };
        let Some(rate) = cla.carried.filter(|_| sent >= cla.handed_off) else {
            return;
        };
        let (shortest, until) = cla.shortest.unwrap_or((self.last_rtt, self.board.end()));
        let shortest = shortest.min(self.last_rtt);
        cla.shortest = Some((shortest, until));
        let is_free = matches!(self.phase, Phase::Open) && cla.order.is_none();
        if self.board.first() < until || !is_free {
            return;
        }
        (cla.carried, cla.shortest) = (None, None);
        let ssthresh = Some(threshold(rate, shortest)).filter(|&segments| segments > self.cwnd);
        let cwnd = self.cwnd;
        cla.order = ssthresh.map(|ssthresh| Order {
            cwnd,
            ssthresh: Some(ssthresh),
        });
    }
}

/// Slow-start threshold in segments, for a path with this RTT after one that carried `rate` bytes per second.
fn threshold(rate: f64, round_trip: Duration) -> u32 {
    (HEADROOM * rate * round_trip.as_secs_f64() / f64::from(MSS)) as u32
}
