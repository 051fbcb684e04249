//! Reno: the window grows by one segment per round trip and halves at a loss. Uncoupled: every subflow
//! behaves as a TCP of its own.
//!
//! # Sources
//! - RFC 5681 §3.1, equations 2 and 4.
//!
//! # Where we differ, and why
//! 1. A loss halves the window, not the flight size: an application-limited sender is not penalised twice.
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
