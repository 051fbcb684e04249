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
    let most = moments(plan, lasts).map(|(at, here)| {
        let most = links::optimal(network, direction, at, here, &conditions(at, direction));
        u128::from(most.as_bps())
    });
    let (count, sum) = most.fold((0_u128, 0_u128), |(count, sum), most| (count + 1, sum + most));
    Bitrate::from_bps(sum.checked_div(count).unwrap_or(0) as u64)
}

/// What this link could carry by itself at every moment of a time of length `lasts`.
pub fn alone(
    plan: &Plan,
    network: &NetworkConfig,
    link: usize,
    lasts: Duration,
    conditions: impl Fn(Instant, Direction) -> Vec<Condition>,
) -> Vec<Bitrate> {
    let direction = direction(plan);
    let only = NetworkConfig {
        links: vec![network.links[link].clone()],
        ..network.clone()
    };
    let most = |(at, here)| {
        let condition = conditions(at, direction)[link];
        links::optimal(&only, direction, at, here, &[condition])
    };
    moments(plan, lasts).map(most).collect()
}

/// Every [`SERIES_BIN`] of a time of length `lasts`, with the client's position.
fn moments(plan: &Plan, lasts: Duration) -> impl Iterator<Item = (Instant, Position)> {
    let moments = (lasts.as_nanos() / SERIES_BIN.as_nanos()) as u32;
    let client = plan.walkers.first();
    (0..moments).map(move |moment| {
        let since = SERIES_BIN * moment;
        let here = client.map_or_else(Position::default, |client| position(client.position(since)));
        (Instant::ZERO + since, here)
    })
}

fn direction(plan: &Plan) -> Direction {
    let goes_up = |work| matches!(work, Work::Upload { .. } | Work::Datagrams { way: Way::Up, .. });
    if !plan.flows.is_empty() && plan.flows.iter().all(|flow| goes_up(flow.work)) {
        Direction::Up
    } else {
        Direction::Down
    }
}
