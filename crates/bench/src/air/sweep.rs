//! `sweep-2`: speed of 64 runs on two cores over one, and the machine's own limit: two calibration loops
//! against one.

use std::time::Instant as Wall;

use anyhow::Context as _;
use sim::World;
use sim::cells::cell;
use trace::{BenchRow, Better};
use units::wifi::Standard;
use units::{Bitrate, Duration};

use crate::calibration::pairs_per_second;
use crate::declaration::Setup;

const JOBS: u64 = 64;
const LOOP: u64 = 5_000_000;

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut ratios, mut ceilings) = (Vec::new(), Vec::new());
    for _ in 0..setup.trials() {
        let [one, two] = [1, 2].map(|cores| seconds(setup.seed, cores));
        ratios.push(one? / two?);
        ceilings.push(ceiling());
    }
    let ceiling = BenchRow::new("", "", Better::Higher).trials(&ceilings).p50;
    let row = setup.only_row().trials(&ratios);
    Ok(vec![row.with("ceiling", ceiling)])
}

/// Wall time of the whole sweep, in s.
fn seconds(seed: u64, cores: usize) -> anyhow::Result<f64> {
    let seeds: Vec<u64> = (seed..seed + JOBS).collect();
    let started = Wall::now();
    let packets = sim::sweep(&seeds, cores, |&seed| received(seed));
    let wall = started.elapsed().as_secs_f64();
    let total: anyhow::Result<Vec<u64>> = packets.into_iter().collect();
    total.map(|_| wall)
}

fn received(seed: u64) -> anyhow::Result<u64> {
    let plan = cell(Standard::A, Bitrate::from_mbps(54), 10, 1_470);
    let mut world = World::new(seed, &plan.air, plan.flows).context("the benchmark's own plan")?;
    world.run_for(Duration::from_secs(10));
    Ok(world.total().received)
}

/// Speed of two calibration loops in parallel over the same two in sequence.
fn ceiling() -> f64 {
    let wall = |cores| {
        let started = Wall::now();
        sim::sweep(&[LOOP; 2], cores, |&rounds| pairs_per_second(rounds));
        started.elapsed().as_secs_f64()
    };
    wall(1) / wall(2)
}
