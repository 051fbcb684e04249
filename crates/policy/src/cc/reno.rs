//! Reno: one segment more per window, half of it after a loss. Uncoupled: every subflow is a TCP of its own.
//!
//! # Sources
//! - RFC 5681 §3.1, equations 2 and 4.
//!
//! # Where we differ, and why
//! 1. The loss halves the window, not what is in flight: an application that sends less than it may is not punished for it twice.
//!
//! # Checked by
//! `cc::tests`: golden vectors, the equation.

use super::{Flow, Increase, Soft};

pub(super) const fn increase(flow: &Flow) -> Increase {
    let window = if flow.cwnd == 0 { 1 } else { flow.cwnd };
    Increase(Soft::ONE.over(Soft::new(window as u64)).to_q32() as i64)
}

pub(super) const fn after_loss(flow: &Flow) -> u32 {
    if flow.cwnd < 4 { 2 } else { flow.cwnd / 2 }
}
