//! `emulator`, `emulator-late`, `emulator-cpu`: throughput, lateness and processor time of the lab's links.

pub mod both_worlds;
pub mod lab_tcp;

use trace::{BenchRow, Better, PolicyName};

use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Observed, Trial};

/// Runs the trials one after another: nothing else may use the processors.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("emulator", include_str!("../scenarios/emulator.toml"))?;
    let trial = |seed| Trial {
        plan: plan.clone(),
        policy: PolicyName::Mptcp,
        seed,
    };
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let observed: Vec<Observed> = seeds
        .map(|seed| trial::alone(trial(seed)))
        .collect::<Result<_, _>>()?;
    let each = |figure: fn(&Observed) -> f64| observed.iter().map(figure).collect::<Vec<f64>>();
    let late = setup
        .row("emulator-late")
        .trials(&each(|seen| seen.lateness.p99_us as f64));
    let p50 = BenchRow::new("", "", Better::Lower)
        .trials(&each(|seen| seen.lateness.p50_us as f64))
        .ours;
    Ok(vec![
        setup
            .row("emulator")
            .trials(&each(|seen| seen.run.goodput_mbps()))
            .with("cc", trial::sender(&observed)),
        // Medians over the runs of their packets' median and 99th percentile.
        BenchRow {
            p50,
            p99: late.ours,
            ..late
        },
        setup.row("emulator-cpu").trials(&each(|seen| seen.cores)),
    ])
}
