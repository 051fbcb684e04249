//! LIA, the coupled increase: together the subflows take what one TCP would on their best path, and no more than a TCP on any.
//!
//! # Sources
//! - RFC 6356 §3, equations 1 and 2: `w_i += min(α/w_tot, 1/w_i)` per segment, `α = w_tot · max(w_i/rtt_i²) / (Σ w_i/rtt_i)²`.
//! - cla §IV prints α without the square of the sum: [`increase_printed`], for golden vectors only (its dimension does not
//!   fit: it depends on the unit of time; seconds here).
//!
//! # Where we differ, and why
//! 1. α is computed from mean windows ([`MeanWindow`](super::MeanWindow)) where they are known. The RFC derives it from windows in balance; with
//!    those of the moment, `max` picks whichever tooth of the saw is high just now, and four equal paths of one bottleneck take a quarter too much.
//! 2. The limit of one TCP, `1/w_i`, is that of the window of the moment, as in Reno.
//!
//! # Checked by
//! `cc::tests`: golden vectors; against the equations in `f64`; never more than Reno.

use super::{Flow, Increase, Soft, reno};

/// `max(w/rtt²) / (Σ w/rtt)²`, the common factor α/w_tot, and that sum.
fn common(flows: &[Flow]) -> (Soft, Soft) {
    let (mut best, mut total) = (Soft::ZERO, Soft::ZERO);
    for flow in flows.iter().filter(|flow| flow.counts()) {
        let rate = flow.balance().over(flow.rtt());
        best = best.most(rate.over(flow.rtt()));
        total = total.plus(rate);
    }
    (best.over(total).over(total), total)
}

pub(super) fn increase(own: usize, flows: &[Flow]) -> Increase {
    if !flows[own].counts() {
        return reno::increase(&flows[own]);
    }
    let (common, _) = common(flows);
    Increase(common.to_q32() as i64).min(reno::increase(&flows[own]))
}

pub(super) fn increase_printed(own: usize, flows: &[Flow]) -> Increase {
    if !flows[own].counts() {
        return reno::increase(&flows[own]);
    }
    let (common, total) = common(flows);
    let per_second = total.times(Soft::new(1_000_000));
    Increase(common.times(per_second).to_q32() as i64).min(reno::increase(&flows[own]))
}
