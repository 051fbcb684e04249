//! OLIA, the opportunistic linked increase: takes capacity from congested paths as LIA does, but can leave
//! such a path completely.
//!
//! - R. Khalili et al.: MPTCP is not Pareto-optimal (CoNEXT 2012), and
//!   draft-khalili-mptcp-congestion-control-05 §2.
//! - imc13 §2.2.2.
//! - imc13 §2.2.2.
//!
//! # Where we differ, and why
//! 1. Best paths maximise `l/rtt²`, as in the draft and the former Linux implementation. `l` is the larger of
//!    the bytes acknowledged since the last loss and between the last two.
//! 2. In the draft a loss leaves one segment, and a joining path starts in congestion avoidance. Ours leaves
//!    two and uses slow start. Otherwise a path that comes into range would grow from one segment by at most
//!    one per round trip.
//! 3. "Equal" means within 1/64. With noise, two paths are never exactly equal, and each set would always
//!    contain one path.
//!
//! # Checked by
//! `cc::tests`: golden vectors, the equation in `f64`, the α sum to zero, no path loses window if every best
//! path has the largest window.

use super::{Flow, Increase, MOST_PATHS, Soft, reno, total_rate};

/// Bytes that a path had acknowledged around its last losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Since the last loss.
    pub since_loss: u64,
    /// Between the last two losses.
    pub between_losses: u64,
}

impl Interval {
    /// Adds acknowledged bytes.
    pub const fn acknowledged(&mut self, bytes: u64) {
        self.since_loss = self.since_loss.saturating_add(bytes);
    }

    /// Records a loss.
    pub const fn lost(&mut self) {
        self.between_losses = self.since_loss;
        self.since_loss = 0;
    }

    fn length(&self) -> Soft {
        Soft::new(self.since_loss.max(self.between_losses))
    }
}

/// The controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Olia;

/// Which paths belong to one of the draft's sets.
type Set = [bool; MOST_PATHS];

impl Olia {
    pub(super) fn increase(own: usize, flows: &[Flow]) -> Increase {
        if !flows[own].counts() {
            return reno::increase(&flows[own]);
        }
        let total = total_rate(flows);
        let kelly = flows[own].gradient().over(total).over(total).to_q32() as i64;
        Increase(kelly + Self::opportunity(own, &flows[..flows.len().min(MOST_PATHS)]))
    }

    /// `α_r / w_r` in units of 2⁻³²: positive for the best paths with small windows, negative for the largest
    /// windows.
    fn opportunity(own: usize, flows: &[Flow]) -> i64 {
        let best = near_largest(flows, |flow| {
            flow.interval.length().over(flow.rtt()).over(flow.rtt())
        });
        let largest = near_largest(flows, Flow::window);
        let count = |set: &Set| set.iter().filter(|&&member| member).count() as u64;
        let collected: Set = core::array::from_fn(|path| best[path] && !largest[path]);
        let paths = flows.iter().filter(|flow| flow.counts()).count() as u64;
        let share = |members: u64| {
            Soft::ONE
                .over(Soft::new(paths * members))
                .over(flows[own].window())
                .to_q32() as i64
        };
        match count(&collected) {
            0 => 0,
            members if collected[own] => share(members),
            _ if largest[own] => -share(count(&largest)),
            _ => 0,
        }
    }
}

/// Paths whose measure is within 1/64 of the largest.
fn near_largest(flows: &[Flow], measure: impl Fn(&Flow) -> Soft) -> Set {
    let most = flows
        .iter()
        .filter(|flow| flow.counts())
        .fold(Soft::ZERO, |most, flow| most.most(measure(flow)));
    let threshold = most.times(Soft::new(63)).over(Soft::new(64));
    core::array::from_fn(|path| {
        flows
            .get(path)
            .is_some_and(|flow| flow.counts() && measure(flow).at_least(threshold))
    })
}
