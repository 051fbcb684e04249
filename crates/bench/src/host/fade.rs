//! `fade`: a link's signal fades until nothing gets through, and no application should have to wait.

use trace::BenchRow;

use crate::declaration::Setup;
use crate::trial::Observed;
use crate::trial::{beside, gap, plans};

/// Runs the benchmark. The figure is the worst trial: no stall if it is at most 100 ms.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("fading", include_str!("../../../../scenarios/fading.toml"))?;
    let row = beside::measure(setup, |_| plan.clone(), longest_ms)?;
    Ok(vec![BenchRow { ours: row.max, ..row }])
}

fn longest_ms(observed: &Observed) -> anyhow::Result<f64> {
    gap::last_change(&observed.record)?;
    let longest = gap::longest(&observed.only_flow()?.waits);
    Ok(longest.as_micros() as f64 / 1e3)
}
