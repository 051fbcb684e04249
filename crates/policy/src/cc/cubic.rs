//! CUBIC, for background traffic: the window grows with the cube of the time since the last loss.
//!
//! # Sources
//! - RFC 9438 §4.1–4.7: `W(t) = C·(t − K)³ + W_max`, `C = 0.4`, `β = 0.7`, `K = ∛(W_max·(1−β)/C)` (with the
//!   window after the loss), the Reno-friendly region, fast convergence.
//!
//! # Where we differ, and why
//! 1. Time is in µs and `libm` computes the cube in `f64`: no BPF program repeats background traffic.
//!
//! # Checked by
//! `cc::tests`: the plateau at W_max, the value of K. `tests`: `golden/cubic.csv`, limits, monotone growth.

use super::Increase;

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// CUBIC state of one path.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cubic {
    w_max: f64,
    w_reno: f64,
    epoch: Option<Epoch>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Epoch {
    start_us: u64,
    k_s: f64,
}

impl Cubic {
    /// Growth for one segment acknowledged at `now_us`, with this window and round-trip time.
    pub fn increase(&mut self, now_us: u64, cwnd: u32, srtt_us: u32) -> Increase {
        let cwnd = f64::from(cwnd.max(1));
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_max = self.w_max.max(cwnd);
            self.w_reno = cwnd;
            Epoch {
                start_us: now_us,
                k_s: libm::cbrt((self.w_max - cwnd) / C),
            }
        });
        let at_s = (now_us.saturating_sub(epoch.start_us) + u64::from(srtt_us)) as f64 / 1e6;
        let target = (C * libm::pow(at_s - epoch.k_s, 3.0) + self.w_max).clamp(cwnd, 1.5 * cwnd);
        let alpha = if self.w_reno >= self.w_max {
            1.0
        } else {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        };
        self.w_reno += alpha / cwnd;
        let per_segment = ((target - cwnd) / cwnd)
            .max((self.w_reno - cwnd) / cwnd)
            .clamp(0.0, 1.0);
        Increase((per_segment * 4_294_967_296.0) as i64)
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
}

#[cfg(test)]
mod tests;
