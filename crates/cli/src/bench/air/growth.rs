//! `growth`: what a transmission attempt costs in a network of 1,000 access points with ten clients each, against one of 10.
//!
//! The density is the same, but a small network is mostly edge: beside the cost it is told how many stations hear another's preamble in the
//! mean, and how many are near enough on its channel to count as interference.

use std::time::Instant as Wall;

use anyhow::Context as _;
use links::air::AirConfig;
use sim::World;
use sim::cells::network;
use trace::{BenchRow, Better};
use units::wifi::NOISE_FLOOR_MBM;
use units::{Dbm, Duration};

use crate::bench::Setup;

const RUNS: u32 = 5;
const CLIENTS: u32 = 10;
/// Stations that are asked who is near them.
const SAMPLE: usize = 500;
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
        let (hear, reach) = neighbours(&network(*access_points, CLIENTS).air);
        row = row
            .with(&format!("ns_per_attempt_{access_points}"), nanos)
            .with(&format!("hear_{access_points}"), hear)
            .with(&format!("interfere_{access_points}"), reach);
    }
    Ok(vec![row])
}

/// How many others find a station's preamble, and how many receive it above what is left out of sums: means over a sample.
fn neighbours(air: &AirConfig) -> (f64, f64) {
    let negligible = Dbm::from_mbm(NOISE_FLOOR_MBM) - air.rules.negligible;
    let (mut asked, mut hear, mut reach) = (0_u32, 0_u32, 0_u32);
    for from in air.stations.iter().step_by(air.stations.len().div_ceil(SAMPLE)) {
        asked += 1;
        for to in air
            .stations
            .iter()
            .filter(|to| to.channel == from.channel && to.name != from.name)
        {
            let loss = air.propagation.loss(from.position, to.position, &air.walls);
            let received = from.power - loss;
            hear += u32::from(received >= to.carrier_sense);
            reach += u32::from(received > negligible);
        }
    }
    (
        f64::from(hear) / f64::from(asked),
        f64::from(reach) / f64::from(asked),
    )
}

/// Before the clock runs: queues and sessions come to be, and the first frames, which all begin at once, are over.
const WARM: Duration = Duration::from_millis(20);

/// Wall time for each frame that begins, without building the network.
fn nanos_per_attempt(seed: u64, access_points: u32, time: Duration) -> anyhow::Result<f64> {
    let plan = network(access_points, CLIENTS);
    let mut world = World::new(seed, &plan.air, plan.flows).context("the benchmark's own plan")?;
    world.run_for(WARM);
    let before = world.air().transmissions();
    let started = Wall::now();
    world.run_for(time);
    let attempts = world.air().transmissions() - before;
    Ok(started.elapsed().as_secs_f64() * 1e9 / attempts as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hears_is_the_own_cell_and_who_interferes_grows_with_the_network() {
        let [(few, near), (many, far)] =
            [10, 400].map(|access_points| neighbours(&network(access_points, CLIENTS).air));
        assert!(
            (8.0..=10.0).contains(&few) && (8.0..=10.0).contains(&many),
            "{few} {many}"
        );
        assert!(near < 40.0 && far > 10.0 * near, "{near} {far}");
    }
}
