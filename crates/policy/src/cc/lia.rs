//! LIA, the coupled increase: together the subflows take as much as one TCP on their best path, and on no
//! path more than a TCP would.
//!
//! # Sources
//! - RFC 6356 §3, equations 1 and 2: `w_i += min(α/w_tot, 1/w_i)` per segment,
//!   `α = w_tot · max(w_i/rtt_i²) / (Σ w_i/rtt_i)²`.
//! - cla §IV prints α without the square of the sum: [`increase_printed`], for golden vectors only. Its
//!   dimension does not fit: it depends on the unit of time (seconds here).
//!
//! # Where we differ, and why
//! 1. α is computed from mean windows ([`MeanWindow`](super::MeanWindow)) where they are known. The RFC
//!    derives it from equilibrium windows. With current windows, `max` picks the path near the top of its
//!    sawtooth, and four equal paths of one bottleneck take a quarter too much.
//! 2. With mean windows, the best path's `g = w/rtt²` is `Σg²/Σg`, each path weighted by itself, instead of
//!    `max g`. A mean over eight losses still varies by a quarter. The largest of `n` such means exceeds
//!    their average by as much: four equal paths would take 1.24 of a TCP. If one path is much better than
//!    all others, the two formulas agree. In between, the connection takes at most a tenth less than a TCP on
//!    the best path: `sqrt(0.83)`, with one other path of 0.4 times its `g`. Without mean windows, it is the
//!    RFC's `max`.
//! 3. A single path behaves as Reno, whatever its mean.
//! 4. The limit of one TCP, `1/w_i`, uses the current window, as in Reno.
//!
//! # Checked by
//! `cc::tests`: golden vectors, the equations in `f64`, never more than Reno.

use super::{Flow, Increase, Soft, reno};

/// Sums over all paths from which α is computed, with `g = w/rtt²` of each path.
#[derive(Debug)]
struct View {
    /// Largest `g`.
    best: Soft,
    /// Σ g, and Σ g² in `squares`.
    sum: Soft,
    squares: Soft,
    /// Σ w/rtt.
    total: Soft,
    paths: usize,
    /// Whether any path has a mean window.
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
