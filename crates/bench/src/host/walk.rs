//! `walk`: the building walk against the best single link in hindsight, and against the limit of the models.

use scenario::Plan;
use trace::{BenchRow, PolicyName, Run, tcp_best, versus_best};

use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{self, Trial};

/// Result of one seed.
struct Walk {
    versus_best: f64,
    versus_optimal: f64,
    longest_stall_ms: f64,
}

/// Runs the benchmark. The figure is the mean over the seeds.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded(
        "building-walk",
        include_str!("../../../../scenarios/building-walk.toml"),
    )?;
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let walks: Vec<Walk> = seeds.map(|seed| walk(&plan, seed)).collect::<Result<_, _>>()?;
    let mean = |figure: fn(&Walk) -> f64| walks.iter().map(figure).sum::<f64>() / walks.len() as f64;
    let ratios: Vec<f64> = walks.iter().map(|walk| walk.versus_best).collect();
    let row = setup.only_row().trials(&ratios);
    let row = BenchRow {
        ours: Some(mean(|walk| walk.versus_best)),
        ..row
    };
    let longest = walks.iter().map(|walk| walk.longest_stall_ms).fold(0.0, f64::max);
    Ok(vec![
        row.with("cc", plan.cc.as_str())
            .with("vs_optimal", mean(|walk| walk.versus_optimal))
            .with("longest_stall_ms", longest),
    ])
}

fn walk(plan: &Plan, seed: u64) -> anyhow::Result<Walk> {
    let singles = plan.links.iter().map(|link| PolicyName::Tcp(link.name.clone()));
    let trial = |policy| Trial {
        plan: plan.clone(),
        policy,
        seed,
    };
    let trials = singles.chain([PolicyName::Slowhand]).map(trial).collect();
    let runs: Vec<Run> = trial::side_by_side(trials)?
        .into_iter()
        .map(|observed| observed.run)
        .collect();
    let missing = || anyhow::anyhow!("walk: seed {seed}: a run is missing or moved nothing");
    let best = tcp_best(&runs).ok_or_else(missing)?;
    let ours = runs.last().ok_or_else(missing)?;
    Ok(Walk {
        versus_best: versus_best(ours, &best).ok_or_else(missing)?,
        versus_optimal: ours.versus_optimal().ok_or_else(missing)?,
        longest_stall_ms: ours.longest_stall_ms(),
    })
}
