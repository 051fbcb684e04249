//! `optimal_mbps`: what a plan's links could carry at most, on average over a run.
//!
//! # Sources
//! - [`links::optimal`]: the most at one moment.
//!
//! # Where we differ, and why
//! 1. Data goes up where every flow goes up, and down otherwise: there is one figure for a run.
//! 2. It is computed every 100 ms, the interval at which goodput is reported.
//!
//! # Checked by
//! `tests/models.rs`; `cli`'s `tests/both_worlds.rs`.

use super::position;
use crate::plan::{Plan, Way, Work};
use links::{Condition, Direction, NetworkConfig, Position};
use trace::SERIES_BIN;
use units::{Bitrate, Duration, Instant};

/// The mean over a run of length `lasts`. `conditions` gives the state of the links under faults at a moment,
/// for data in that direction.
pub fn optimal(
    plan: &Plan,
    network: &NetworkConfig,
    lasts: Duration,
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> Bitrate {
    let direction = direction(plan);
    let moments = (lasts.as_nanos() / SERIES_BIN.as_nanos()) as u32;
    let most = |moment: u32| {
        let since = SERIES_BIN * moment;
        let at = Instant::ZERO + since;
        let client = plan.walkers.first();
        let here = client.map_or_else(Position::default, |client| position(client.position(since)));
        links::optimal(network, direction, at, here, &conditions(at, direction)).as_bps()
    };
    let sum: u128 = (0..moments).map(|moment| u128::from(most(moment))).sum();
    Bitrate::from_bps(sum.checked_div(u128::from(moments)).unwrap_or(0) as u64)
}

fn direction(plan: &Plan) -> Direction {
    let goes_up = |work| matches!(work, Work::Upload { .. } | Work::Datagrams { way: Way::Up, .. });
    if !plan.flows.is_empty() && plan.flows.iter().all(|flow| goes_up(flow.work)) {
        Direction::Up
    } else {
        Direction::Down
    }
}
