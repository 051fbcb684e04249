//! `wrong-removals`: how often a link is removed in two runs in which every link keeps delivering.

use scenario::Plan;
use trace::{BenchRow, PolicyName};
use units::Duration;

use crate::declaration::Setup;
use crate::trial::{self, Trial};
use crate::trial::{gap, plans};

/// Length of each run.
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// Measures an LTE trace with gaps, and applications that ask for little.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plans = [
        plans::embedded("lte-gaps", include_str!("../../../../scenarios/lte-gaps.toml"))?,
        plans::embedded(
            "app-limited",
            include_str!("../../../../scenarios/app-limited.toml"),
        )?,
    ];
    let trial = |plan: Plan| Trial {
        plan: Plan {
            duration: TEN_MINUTES,
            ..plan
        },
        policy: PolicyName::Slowhand,
        seed: setup.seed,
    };
    let observed = trial::side_by_side(plans.into_iter().map(trial).collect())?;
    let counts: Vec<f64> = observed
        .iter()
        .map(|observed| gap::given_up(&observed.record).len() as f64)
        .collect();
    let row = setup.only_row().trials(&counts);
    let row = BenchRow {
        ours: Some(counts.iter().sum()),
        ..row
    };
    Ok(vec![
        row.with("cc", trial::sender(&observed))
            .with("lte_gaps", counts[0])
            .with("app_limited", counts[1]),
    ])
}
