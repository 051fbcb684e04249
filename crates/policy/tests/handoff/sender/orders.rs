//! What CLA is told, and what becomes of it.

use super::{Estimates, Kind, MSS, Order, Ordered, Phase, Sender};
use policy::cc::{MobileStage, Report, RoundTrip};
use units::{Duration, Instant};

/// A path may have so many times what it carried before the hand-off.
const HEADROOM: f64 = 2.0;

impl Sender {
    /// The path begins to fade, and the other one carries all that it can: as `crates/linux/src/cla/advisor.rs`.
    pub fn fade(&mut self) {
        let (Some(srtt), Some(base)) = (self.round_trip().srtt(), self.min_rtt) else {
            return;
        };
        if self.kind == Kind::Reno {
            return;
        }
        let jitter = (base / 8).clamp(Duration::from_millis(4), Duration::from_millis(16));
        let rate = f64::from(self.board.in_flight() * MSS) / srtt.as_secs_f64();
        let own = Report {
            rate,
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
        let windows = MobileStage::default().report(&[own, other], MSS);
        let cwnd = windows.expect("it has begun to fade")[0].min(self.cwnd);
        self.faded = Some(rate);
        self.order = Some(Order {
            cwnd,
            ssthresh: Some(cwnd),
        });
    }

    /// There is another access point under the subflow.
    pub fn hand_off(&mut self, now: Instant) {
        let Kind::Cla(steps) = self.kind else {
            return;
        };
        let cwnd = self.stage.begin(now, &mut self.anew, None);
        self.strict = RoundTrip::default();
        self.handed_off = now;
        let carried = self.faded.take();
        match steps.ordered {
            Ordered::Nothing => {}
            Ordered::ThresholdOnceKnown => self.carried = carried,
            Ordered::ByThePathBefore => {
                let before = carried.zip(self.min_rtt);
                let ssthresh = before.map(|(rate, rtt)| threshold(rate, rtt).max(cwnd));
                self.order = Some(Order { cwnd, ssthresh });
            }
        }
        self.heeds_at = self.stage.heeds_again_at(now).filter(|_| self.kind.is_deaf());
        if steps.estimates != Estimates::Kept {
            self.counts.resets += 1;
            self.min_rtt = None;
        }
        if steps.estimates == Estimates::Strictly && self.timer.is_some() {
            self.set_timer(now);
        }
        if steps.at_once && !matches!(self.phase, Phase::Recovery { .. }) {
            self.obey();
        }
    }

    /// The round trip of what was sent at `sent`. The new path's is the shortest until all is acknowledged that was in flight at its first; then the
    /// threshold can be counted, and is ordered where it is more than the window.
    pub(super) fn learn(&mut self, sent: Instant) {
        let Some(rate) = self.carried.filter(|_| sent >= self.handed_off) else {
            return;
        };
        let (shortest, until) = self.shortest.unwrap_or((self.last_rtt, self.board.end()));
        let shortest = shortest.min(self.last_rtt);
        self.shortest = Some((shortest, until));
        let is_free = matches!(self.phase, Phase::Open) && self.order.is_none();
        if self.board.first() < until || !is_free {
            return;
        }
        (self.carried, self.shortest) = (None, None);
        let ssthresh = Some(threshold(rate, shortest)).filter(|&segments| segments > self.cwnd);
        let cwnd = self.cwnd;
        self.order = ssthresh.map(|ssthresh| Order {
            cwnd,
            ssthresh: Some(ssthresh),
        });
    }
}

/// Where slow start ends on a path with this round trip, after one that carried so many bytes per second.
fn threshold(rate: f64, round_trip: Duration) -> u32 {
    (HEADROOM * rate * round_trip.as_secs_f64() / f64::from(MSS)) as u32
}
