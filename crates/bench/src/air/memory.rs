//! `memory-station`: heap that one more saturated station of a cell takes, after 5 s.

use anyhow::Context as _;
use sim::World;
use sim::cells::cell;
use trace::BenchRow;
use units::wifi::Standard;
use units::{Bitrate, Duration};

use crate::declaration::Setup;
use crate::heap;

const FEW: u32 = 100;
const MANY: u32 = 1_000;

/// Runs the benchmark: bytes at 1,000 stations minus those at 100, for each of the 900.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let [few, many] = [held_by(setup.seed, FEW)?, held_by(setup.seed, MANY)?];
    let bytes = many.saturating_sub(few) as f64 / f64::from(MANY - FEW);
    Ok(vec![setup.only_row().trials(&[bytes])])
}

fn held_by(seed: u64, stations: u32) -> anyhow::Result<usize> {
    let plan = cell(Standard::A, Bitrate::from_mbps(54), stations, 1_470);
    let before = heap::in_use();
    let mut world = World::new(seed, &plan.air, plan.flows.clone()).context("the benchmark's own plan")?;
    world.run_for(Duration::from_secs(5));
    Ok(heap::in_use().saturating_sub(before))
}
