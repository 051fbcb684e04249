//! BALIA, the balanced linked adaptation: a proven balance between LIA's responsiveness and OLIA's
//! friendliness.
//!
//! # Sources
//! - draft-walid-mptcp-congestion-control-04 §3: `x = w/rtt`, `a_r = max x / x_r`,
//!   `w_r += x_r / (rtt_r · (Σx)²) · (1 + a_r)/2 · (4 + a_r)/5`. On a loss `w_r −= w_r/2 · min(a_r, 3/2)`.
//!
//! # Where we differ, and why
//! 1. Growth is limited to one segment per acknowledged segment, as in slow start. Otherwise a path with very
//!    little traffic (`a_r` in the hundreds) would jump.
//!
//! # Consequence
//! On a path with more loss, growth `(1+a)(4+a)/10` and the deeper cut of 3/4 balance at
//! `a²/10 + a/2 + 2/5 = 3/4·P`. LIA balances at `a = P/2`. `P` is the loss probability, times the square of
//! all windows where round trips are equal. So BALIA moves more traffic than LIA off a path that keeps more
//! than a tenth of it, and less below that (`a` over 9.6).
//!
//! # Checked by
//! `cc::tests`: golden vectors, the equation in `f64`, BALIA equals Reno on one path, where BALIA holds more
//! than LIA.

use super::{Flow, Increase, Soft, reno, total_rate};

/// The controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Balia;

impl Balia {
    /// `a_r`: rate of the fastest path relative to this one.
    fn imbalance(own: usize, flows: &[Flow]) -> Soft {
        let fastest = flows
            .iter()
            .filter(|flow| flow.counts())
            .fold(Soft::ZERO, |most, flow| most.most(flow.rate()));
        fastest.over(flows[own].rate())
    }

    pub(super) fn increase(own: usize, flows: &[Flow]) -> Increase {
        if !flows[own].counts() {
            return reno::increase(&flows[own]);
        }
        let (a, total) = (Self::imbalance(own, flows), total_rate(flows));
        let kelly = flows[own].gradient().over(total).over(total);
        let lift = Soft::ONE.plus(a).times(Soft::new(4).plus(a)).over(Soft::new(10));
        Increase(kelly.times(lift).to_q32() as i64)
    }

    pub(super) fn after_loss(own: usize, flows: &[Flow]) -> u32 {
        let flow = &flows[own];
        if !flow.counts() {
            return reno::after_loss(flow);
        }
        // min(a, 3/2)/2 in units of 2⁻³². a ≥ 1, so the cut is 1/2 to 3/4 of the window.
        let half_of = Self::imbalance(own, flows)
            .least(Soft::new(3).over(Soft::new(2)))
            .over(Soft::new(2));
        let cut = (u64::from(flow.cwnd) * half_of.to_q32()) >> 32;
        (flow.cwnd - cut as u32).max(2)
    }
}
