//! BALIA, the balanced linked adaptation: between LIA's responsiveness and OLIA's friendliness, with a proof that it is both.
//!
//! # Sources
//! - draft-walid-mptcp-congestion-control-04 §3: `x = w/rtt`, `a_r = max x / x_r`;
//!   `w_r += x_r / (rtt_r · (Σx)²) · (1 + a_r)/2 · (4 + a_r)/5`; on a loss `w_r −= w_r/2 · min(a_r, 3/2)`.
//!
//! # Where we differ, and why
//! 1. The growth is cut at one segment per acknowledged segment, slow start's: a path that carries next to nothing (`a_r` in the
//!    hundreds) would otherwise jump.
//!
//! # What follows
//! On a path that loses more, growth `(1+a)(4+a)/10` and the deeper cut of 3/4 balance at `a²/10 + a/2 + 2/5 = 3/4·P`, LIA's at `a = P/2` (`P` the
//! loss probability, times the square of all windows where round trips are equal). So BALIA moves more than LIA off a path that keeps more than a
//! tenth of the traffic, and less below that (`a` over 9.6).
//!
//! # Checked by
//! `cc::tests`: golden vectors; against the equation in `f64`; on one path it is Reno; where it holds more than LIA.

use super::{Flow, Increase, Soft, reno, total_rate};

/// The controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Balia;

impl Balia {
    /// `a_r`: how many times faster the fastest path is.
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
        // min(a, 3/2) in parts of 2³² of two: a ≥ 1, so 1/2 ..= 3/4 of the window goes.
        let half_of = Self::imbalance(own, flows)
            .least(Soft::new(3).over(Soft::new(2)))
            .over(Soft::new(2));
        let cut = (u64::from(flow.cwnd) * half_of.to_q32()) >> 32;
        (flow.cwnd - cut as u32).max(2)
    }
}
