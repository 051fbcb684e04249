//! CUBIC as in Linux, for background traffic: the window grows with the cube of the time since the last loss.
//!
//! # Sources
//! - RFC 9438 §4.1–4.7: `W(t) = C·(t − K)³ + W_max`, `C = 0.4`, `β = 0.7`, `K = ∛(W_max·(1−β)/C)` (with the
//!   window after the loss), the Reno-friendly region, fast convergence.
//! - Linux 6.18, `net/ipv4/tcp_cubic.c` (`bictcp_update`, `cubictcp_state`) and `tcp_cong_avoid_ai`.
//!
//! # Where we differ, and why
//! 1. Time is in µs and `libm` computes the cube in `f64`: no BPF program repeats background traffic.
//! 2. As in Linux, the Reno-friendly estimate grows by 9/17 of a segment per RTT for ever. RFC 9438 §4.3
//!    lets it grow by one segment per RTT beyond `W_max`.
//! 3. As in Linux, the window follows that estimate at once, by whole segments. With the growth of RFC 9438
//!    §4.3 it would follow one RTT later.
//! 4. As in Linux, the window grows by at least 1/20 per RTT while no loss is known.
//!
//! # Checked by
//! `cc::tests`: the plateau at W_max, the value of K. `tests`: `golden/cubic.csv`, limits, monotone growth,
//! the Reno-friendly region with delayed acknowledgements.

use super::Increase;

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Growth of the Reno-friendly estimate per RTT, in segments: `3·(1 − β)/(1 + β)`.
const RENO_GROWTH: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Smallest growth per acknowledged segment while no loss is known.
const LEAST_GROWTH: f64 = 1.0 / 20.0;

/// CUBIC state of one path.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cubic {
    /// 0 while no loss is known.
    w_max: f64,
    epoch: Option<Epoch>,
}

/// State since the last loss.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Epoch {
    start_us: u64,
    k_s: f64,
    /// The window at the inflection point of the curve.
    origin: f64,
    /// The Reno-friendly estimate.
    w_reno: f64,
}

impl Epoch {
    fn new(start_us: u64, w_max: f64, cwnd: f64) -> Self {
        let origin = w_max.max(cwnd);
        Self {
            start_us,
            k_s: libm::cbrt((origin - cwnd) / C),
            origin,
            w_reno: cwnd,
        }
    }

    /// Window that the curve has at this time.
    fn curve(&self, at_us: u64) -> f64 {
        let at_s = at_us.saturating_sub(self.start_us) as f64 / 1e6;
        C * libm::pow(at_s - self.k_s, 3.0) + self.origin
    }
}

impl Cubic {
    /// Growth per acknowledged segment, after an acknowledgement of `acked` segments at `now_us`, with this
    /// window and shortest round-trip time.
    pub fn increase(&mut self, now_us: u64, acked: u32, cwnd: u32, min_rtt_us: u32) -> Increase {
        let (cwnd, acked) = (f64::from(cwnd.max(1)), f64::from(acked.max(1)));
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now_us, w_max, cwnd));
        let target = epoch.curve(now_us.saturating_add(min_rtt_us.into()));
        let least = if w_max > 0.0 { 0.0 } else { LEAST_GROWTH };
        let cubic = ((target - cwnd) / cwnd).clamp(least, 0.5);
        epoch.w_reno += RENO_GROWTH * acked / cwnd;
        let reno = libm::floor(epoch.w_reno - cwnd) / acked;
        // Rounded up, so that a whole segment is one.
        let per_segment = libm::ceil(cubic.max(reno).min(1.0) * 4_294_967_296.0);
        Increase(per_segment as i64)
    }

    /// Window after a loss, in segments, with fast convergence (§4.7).
    pub fn after_loss(&mut self, cwnd: u32) -> u32 {
        let window = f64::from(cwnd);
        self.w_max = if window < self.w_max {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        self.epoch = None;
        ((window * BETA) as u32).max(2)
    }

    /// Forgets the window of the last loss, as Linux does after a time-out.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
