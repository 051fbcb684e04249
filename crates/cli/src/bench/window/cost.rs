//! `window-cost`: what bounding the window takes of a processor: the daemon, and its programs in the kernel.

use anyhow::Context as _;
use linux::bpf::{CountRunTime, WindowKind};
use scenario::{Flow, Plan};
use trace::{BenchRow, Better, PolicyName};
use units::Duration;

use super::figures::{self, median, rounded};
use super::rows;
use crate::bench::Setup;
use crate::bench::trial::{self, Observed, Trial};

/// Runs with each lever and number of downloads.
const RUNS: u32 = 3;
const LASTS: Duration = Duration::from_secs(20);
/// How many downloads share the links.
const MANY: usize = 100;
const LEVERS: [(&str, WindowKind); 2] = [("egress", WindowKind::Egress), ("clamp", WindowKind::Clamp)];

/// Measures, one run after another. The figure is that of one download with the lever that is the default, with the worse controller.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let _counting = CountRunTime::start().context("counting what programs take; run as root")?;
    let blank = || BenchRow::new("window-cost", "% of a core", Better::Lower);
    let (mut defaults, mut fields) = (Vec::new(), Vec::new());
    for cc in setup.controllers() {
        for (lever, kind) in LEVERS {
            for downloads in [1, MANY] {
                let costs = (0..u64::from(setup.trials(RUNS)))
                    .map(|index| cost(kind, &plan(downloads, cc)?, setup.seed + index))
                    .collect::<anyhow::Result<Vec<Cost>>>()?;
                let all: Vec<f64> = costs.iter().map(|cost| cost.daemon + cost.programs).collect();
                if (kind, downloads) == (WindowKind::Egress, 1) {
                    defaults.push(blank().trials(&all));
                }
                let programs: Vec<f64> = costs.iter().map(|cost| cost.programs).collect();
                let key = format!("{cc}_{lever}_{downloads}");
                fields.push((format!("{key}_programs"), median(&programs)));
                fields.push((key, median(&all)));
            }
        }
    }
    let row = fields
        .into_iter()
        .fold(figures::worst(blank(), &defaults), |row, (key, share)| {
            row.with(&key, rounded(share))
        });
    Ok(vec![row])
}

/// Shares of a core, in percent.
struct Cost {
    daemon: f64,
    programs: f64,
}

fn cost(kind: WindowKind, plan: &Plan, seed: u64) -> anyhow::Result<Cost> {
    let trial = Trial {
        plan: plan.clone(),
        policy: PolicyName::Slowhand,
        seed,
    };
    Cost::of(&trial::alone_with(trial, Some(kind))?, kind)
}

impl Cost {
    /// Of a run whose windows were bounded in that way; any other measured nothing.
    fn of(observed: &Observed, kind: WindowKind) -> anyhow::Result<Self> {
        let report = observed.daemon.as_ref();
        let report =
            report.context("the daemon was too busy to say what it took; run on a quieter machine")?;
        let loaded = report.levers.window.as_ref();
        anyhow::ensure!(
            loaded == Ok(&kind),
            "{kind:?}: windows were not bounded: {loaded:?}; see `slowhand doctor`"
        );
        anyhow::ensure!(
            report.conns.iter().any(|conn| conn.window.is_some()),
            "{kind:?}: no window was bounded, so that nothing was measured; please report this"
        );
        let share = |time: Duration| time.as_secs_f64() / observed.run.duration_s * 100.0;
        Ok(Self {
            daemon: share(report.cpu),
            programs: share(report.levers.run_time),
        })
    }
}

/// So many downloads over the links of `window-equal`.
fn plan(downloads: usize, cc: &str) -> anyhow::Result<Plan> {
    let plan = rows::EQUAL.plan(cc)?;
    let one = plan.flows.first().context("the scenario has a download")?;
    let flow = |number: usize| Flow {
        name: format!("download-{number}"),
        ..one.clone()
    };
    Ok(Plan {
        duration: LASTS,
        flows: (1..=downloads).map(flow).collect(),
        ..plan.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_downloads_have_names_of_their_own() {
        let plan = plan(MANY, "bbr").unwrap();
        assert_eq!(plan.cc, "bbr");
        assert_eq!(plan.flows.len(), MANY);
        assert_eq!(
            (plan.flows[0].name.as_str(), plan.flows[99].name.as_str()),
            ("download-1", "download-100")
        );
    }
}
