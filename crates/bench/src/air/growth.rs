//! `growth`: cost of a transmission attempt in a network of 1,000 access points with ten clients each, over
//! that in one of 10.
//!
//! The density is the same, but a small network is mostly edge. So two means are reported beside the cost:
//! how many stations detect another's preamble, and how many on its channel are near enough to count as
//! interference.
//!
//! Each network runs as [`Islands`] on all cores, channel by channel. Beside it, it runs as one [`World`] on
//! one core, which simulates all channels in turn.

use runs::progress::Progress;
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
/// Stations whose neighbours are counted.
const SAMPLE: usize = 500;
/// Access points, and how long they run: about equally many attempts in each.
const SIZES: [(u32, Duration); 3] = [
    (10, Duration::from_secs(10)),
    (100, Duration::from_secs(1)),
    (1_000, Duration::from_millis(100)),
];

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (mut islands, mut worlds) = (Ratios::default(), Ratios::default());
    let progress = Progress::new("growth", setup.trials() as usize);
    for trial in 0..setup.trials() {
        progress.begin(trial as usize, format_args!("trial {}", trial + 1));
        let seed = setup.seed + u64::from(trial);
        let (mut of_islands, mut of_worlds) = (Vec::new(), Vec::new());
        for (access_points, time) in SIZES {
            of_islands.push(in_islands(seed, access_points, time, cores)?);
            of_worlds.push(in_one_world(seed, access_points, time)?);
        }
        islands.add(of_islands);
        worlds.add(of_worlds);
        let line = format_args!("growth: trial {} of {}", trial + 1, setup.trials());
        progress.end_with(trial as usize, line);
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

/// Cost of an attempt in the largest network over the smallest, for each trial, and the last trial's figures
/// of every network.
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

/// For a station, how many others detect its preamble, and how many receive it strongly enough to count as
/// interference. Both are means over a sample.
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

/// Time before measuring starts: queues and sessions are set up, and the first frames, which all start at
/// once, are over.
const WARM: Duration = Duration::from_millis(20);

/// Wall time per frame sent, in ns, without building the network.
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
