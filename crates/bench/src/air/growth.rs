//! `growth`: what a transmission attempt costs in a network of 1,000 access points with ten clients each, against one of 10.
//!
//! The density is the same, but a small network is mostly edge: beside the cost it is told how many stations hear another's preamble in the
//! mean, and how many are near enough on its channel to count as interference.
//!
//! Either network is run as [`Islands`] on all cores, channel by channel; beside it as one [`World`] on one core, which has all channels in turn.

use show::tell;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Instant as Wall;

use anyhow::Context as _;
use links::air::AirConfig;
use sim::cells::network;
use sim::{Islands, World};
use trace::{BenchRow, Better};
use units::wifi::NOISE_FLOOR_MBM;
use units::{Dbm, Duration};

use crate::declaration::Setup;

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
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (mut islands, mut worlds) = (Ratios::default(), Ratios::default());
    for trial in 0..setup.trials() {
        let seed = setup.seed + u64::from(trial);
        let (mut of_islands, mut of_worlds) = (Vec::new(), Vec::new());
        for (access_points, time) in SIZES {
            of_islands.push(in_islands(seed, access_points, time, cores)?);
            of_worlds.push(in_one_world(seed, access_points, time)?);
        }
        islands.add(of_islands);
        worlds.add(of_worlds);
        tell!("growth: trial {} of {}", trial + 1, setup.trials());
    }
    let one_world = BenchRow::new("", "", Better::Lower).trials(&worlds.grown).p50;
    let mut row = setup
        .only_row()
        .trials(&islands.grown)
        .with("one_world", one_world)
        .with("cores", cores.get() as f64);
    for (index, (access_points, _)) in SIZES.iter().enumerate() {
        let (hear, reach) = neighbours(&network(*access_points, CLIENTS).air);
        row = row
            .with(&format!("ns_per_attempt_{access_points}"), islands.last[index])
            .with(&format!("one_world_ns_{access_points}"), worlds.last[index])
            .with(&format!("hear_{access_points}"), hear)
            .with(&format!("interfere_{access_points}"), reach);
    }
    Ok(vec![row])
}

/// What an attempt costs in the largest network over the smallest, in each trial, and in the last one in all of them.
#[derive(Default)]
struct Ratios {
    grown: Vec<f64>,
    last: Vec<f64>,
}

impl Ratios {
    fn add(&mut self, nanos: Vec<f64>) {
        self.grown.push(nanos[SIZES.len() - 1] / nanos[0]);
        self.last = nanos;
    }
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
fn in_islands(seed: u64, access_points: u32, time: Duration, cores: NonZeroUsize) -> anyhow::Result<f64> {
    let plan = network(access_points, CLIENTS);
    let mut islands =
        Islands::new(seed, &plan.air, &plan.flows, cores).context("the benchmark's own plan")?;
    islands.run_for(WARM);
    Ok(nanos_per_attempt(
        &mut islands,
        Islands::transmissions,
        |islands| islands.run_for(time),
    ))
}

fn in_one_world(seed: u64, access_points: u32, time: Duration) -> anyhow::Result<f64> {
    let plan = network(access_points, CLIENTS);
    let mut world = World::new(seed, &plan.air, plan.flows).context("the benchmark's own plan")?;
    world.run_for(WARM);
    Ok(nanos_per_attempt(
        &mut world,
        |world| world.air().transmissions(),
        |world| world.run_for(time),
    ))
}

fn nanos_per_attempt<N>(network: &mut N, transmissions: impl Fn(&N) -> u64, run: impl FnOnce(&mut N)) -> f64 {
    let before = transmissions(network);
    let started = Wall::now();
    run(network);
    started.elapsed().as_secs_f64() * 1e9 / (transmissions(network) - before) as f64
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
