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
//! 2. Of mean windows, the best path's `g = w/rtt²` is taken to be `Σg²/Σg`, each path weighed by itself, instead of `max g`. A mean over eight
//!    losses is still a quarter off, and the largest of `n` such means is as much over what they all are: four equal paths would take 1.24 of a TCP.
//!    Where one path is much better than all others the two are the same; in between the connection takes at most a tenth less than a TCP on the
//!    best path would (`sqrt(0.83)`, with one other path of 0.4 times its `g`). Without mean windows it is the RFC's `max`.
//! 3. A path without siblings is Reno, whatever its mean.
//! 4. The limit of one TCP, `1/w_i`, is that of the window of the moment, as in Reno.
//!
//! # Checked by
//! `cc::tests`: golden vectors; against the equations in `f64`; never more than Reno.

use super::{Flow, Increase, Soft, reno};

/// What α is made of, `g = w/rtt²` of each path.
#[derive(Debug)]
struct View {
    /// The largest `g`.
    best: Soft,
    /// Of all `g`, and of their squares.
    sum: Soft,
    squares: Soft,
    /// Σ w/rtt.
    total: Soft,
    paths: usize,
    /// There is a mean window.
    measured: bool,
}

impl View {
    fn of(flows: &[Flow]) -> Self {
        let mut view = Self {
            best: Soft::ZERO,
            sum: Soft::ZERO,
            squares: Soft::ZERO,
            total: Soft::ZERO,
            paths: 0,
            measured: false,
        };
        for flow in flows.iter().filter(|flow| flow.counts()) {
            let rate = flow.balance().over(flow.rtt());
            let g = rate.over(flow.rtt());
            view.best = view.best.most(g);
            view.sum = view.sum.plus(g);
            view.squares = view.squares.plus(g.times(g));
            view.total = view.total.plus(rate);
            view.measured |= flow.mean.parts() > 0;
            view.paths += 1;
        }
        view
    }

    /// The common factor α/w_tot.
    fn common(&self) -> Soft {
        let best = if self.measured {
            self.squares.over(self.sum)
        } else {
            self.best
        };
        best.over(self.total).over(self.total)
    }
}

pub(super) fn increase(own: usize, flows: &[Flow]) -> Increase {
    let alone = reno::increase(&flows[own]);
    if !flows[own].counts() {
        return alone;
    }
    match View::of(flows) {
        View { paths: 1, .. } => alone,
        view => Increase(view.common().to_q32() as i64).min(alone),
    }
}

pub(super) fn increase_printed(own: usize, flows: &[Flow]) -> Increase {
    let alone = reno::increase(&flows[own]);
    if !flows[own].counts() {
        return alone;
    }
    let view = View::of(flows);
    let per_second = view.total.times(Soft::new(1_000_000));
    Increase(view.common().times(per_second).to_q32() as i64).min(alone)
}
