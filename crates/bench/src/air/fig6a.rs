//! `fig6a`: time of nsdi15's 120 combinations (figure 6a), each with three seeds, under `slowhand` on all
//! cores.

use std::time::Instant as Wall;

use scenario::{Plan, Setting};
use sim::{Play, play};
use trace::{BenchRow, PolicyName};

use crate::declaration::Setup;

const SCENARIO: &str = include_str!("../../../../papers/steering/scenario-1.toml");
const TIMES_MS: [u32; 6] = [1, 2, 3, 4, 5, 6];
const WEIGHTS: [u32; 5] = [1, 2, 4, 8, 16];
const ROUND_TRIPS_MS: [u32; 4] = [10, 25, 50, 100];
const SEEDS: u64 = 3;

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plans = plans()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut seconds = Vec::new();
    for trial in 0..setup.trials() {
        let first = setup.seed + u64::from(trial) * SEEDS;
        let runs = plans
            .iter()
            .flat_map(|plan| (first..first + SEEDS).map(move |seed| (plan, seed)));
        let runs: Vec<(&Plan, u64)> = runs.collect();
        let started = Wall::now();
        let done = sim::sweep(&runs, cores, |&(plan, seed)| bytes(plan, seed));
        seconds.push(started.elapsed().as_secs_f64());
        done.into_iter().collect::<anyhow::Result<Vec<u64>>>()?;
    }
    Ok(vec![
        setup.only_row().trials(&seconds).with("cores", cores as f64),
    ])
}

/// Bytes that the client reads in a run.
fn bytes(plan: &Plan, seed: u64) -> anyhow::Result<u64> {
    let mut what = Play::new(plan, PolicyName::Slowhand);
    (what.seed, what.events) = (seed, false);
    let series = play(&what)?.run.goodput_series;
    Ok(series.iter().sum())
}

/// Plans of the 120 combinations.
fn plans() -> anyhow::Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for time in TIMES_MS {
        for weight in WEIGHTS {
            for rtt in ROUND_TRIPS_MS {
                plans.push(plan(&[
                    format!("aps.poor.wfq.packet_ms={time}"),
                    format!("aps.poor.wfq.weight={weight}"),
                    format!("aps.good.backhaul.rtt_ms={rtt}"),
                    format!("aps.poor.backhaul.rtt_ms={rtt}"),
                ])?);
            }
        }
    }
    Ok(plans)
}

fn plan(values: &[String]) -> anyhow::Result<Plan> {
    let mut settings = Vec::new();
    for value in values {
        settings.extend(Setting::alternatives(value)?);
    }
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let name = "papers/steering/scenario-1.toml";
    Ok(scenario::parse(name, SCENARIO.as_bytes(), &settings, &no_files)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combination_carries_what_its_good_access_point_can() {
        let mut plans = plans().unwrap();
        assert_eq!(plans.len(), 120);
        plans[0].duration = units::Duration::from_secs(4);
        let read = bytes(&plans[0], 1).unwrap();
        assert!(read > 4_000_000, "{read} bytes");
    }
}
