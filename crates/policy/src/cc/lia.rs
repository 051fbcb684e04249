//! LIA, the coupled increase: together the subflows take what one TCP would on their best path, and no more than a TCP on any.
//!
//! # Sources
//! - RFC 6356 §3, equations 1 and 2: `w_i += min(α/w_tot, 1/w_i)` per segment, `α = w_tot · max(w_i/rtt_i²) / (Σ w_i/rtt_i)²`.
//! - cla §IV prints α without the square of the sum: [`increase_printed`], for golden vectors only (its dimension does not
//!   fit: it depends on the unit of time; seconds here).
//!
//! # Where we differ, and why
//! 1. α is computed at every acknowledgement, not once per window: the windows and times of the siblings are read anew anyway, and
//!    nothing is left to grow stale.
//!
//! # Checked by
//! `cc::tests`: golden vectors; against the equations in `f64`; never more than Reno.

use super::{Flow, Increase, Soft, reno, total_rate};

/// `max(w/rtt²) / (Σ w/rtt)²`, the common factor α/w_tot.
fn common(flows: &[Flow]) -> Soft {
    let best = flows
        .iter()
        .filter(|flow| flow.counts())
        .fold(Soft::ZERO, |best, flow| best.most(flow.gradient()));
    let total = total_rate(flows);
    best.over(total).over(total)
}

pub(super) fn increase(own: usize, flows: &[Flow]) -> Increase {
    if !flows[own].counts() {
        return reno::increase(&flows[own]);
    }
    Increase(common(flows).to_q32() as i64).min(reno::increase(&flows[own]))
}

pub(super) fn increase_printed(own: usize, flows: &[Flow]) -> Increase {
    if !flows[own].counts() {
        return reno::increase(&flows[own]);
    }
    let per_second = total_rate(flows).times(Soft::new(1_000_000));
    Increase(common(flows).times(per_second).to_q32() as i64).min(reno::increase(&flows[own]))
}
