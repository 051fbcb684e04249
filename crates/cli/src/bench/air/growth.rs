//! `growth`: what a transmission attempt costs in a network of 1,000 access points with ten clients each, against one of 10.

use std::time::Instant as Wall;

use anyhow::Context as _;
use sim::World;
use sim::cells::network;
use trace::{BenchRow, Better};
use units::Duration;

use crate::bench::Setup;

const RUNS: u32 = 5;
const CLIENTS: u32 = 10;
/// Access points, and how long they run: about as many attempts in each.
const SIZES: [(u32, Duration); 3] = [
    (10, Duration::from_secs(10)),
    (100, Duration::from_secs(1)),
    (1_000, Duration::from_millis(100)),
];

/// Measures.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut ratios, mut last) = (Vec::new(), Vec::new());
    for trial in 0..setup.trials(RUNS) {
        let seed = setup.seed + u64::from(trial);
        last = SIZES
            .iter()
            .map(|&(access_points, time)| nanos_per_attempt(seed, access_points, time))
            .collect::<anyhow::Result<Vec<f64>>>()?;
        ratios.push(last[SIZES.len() - 1] / last[0]);
        eprintln!("growth: trial {} of {}", trial + 1, setup.trials(RUNS));
    }
    let mut row = BenchRow::new("growth", "ratio", Better::Lower).trials(&ratios);
    for ((access_points, _), nanos) in SIZES.iter().zip(last) {
        row = row.with(&format!("ns_per_attempt_{access_points}"), nanos);
    }
    Ok(vec![row])
}

/// Wall time for each frame that begins, without building the network.
fn nanos_per_attempt(seed: u64, access_points: u32, time: Duration) -> anyhow::Result<f64> {
    let plan = network(access_points, CLIENTS);
    let mut world = World::new(seed, &plan.air, plan.flows).context("the benchmark's own plan")?;
    let started = Wall::now();
    world.run_for(time);
    Ok(started.elapsed().as_secs_f64() * 1e9 / world.air().transmissions() as f64)
}
