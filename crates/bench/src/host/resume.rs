//! `resume`: all links are down for 5 s, then one returns with a new address; time until the next new byte.

use trace::BenchRow;

use crate::declaration::Setup;
use crate::trial::Observed;
use crate::trial::{beside, gap, plans};

/// Runs the benchmark. The figure is the worst trial.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("resume", include_str!("../scenarios/resume.toml"))?;
    let row = beside::measure(setup, |_| plan.clone(), resumed_ms)?;
    Ok(vec![BenchRow { ours: row.max, ..row }])
}

fn resumed_ms(observed: &Observed) -> anyhow::Result<f64> {
    let restored = gap::last_change(&observed.record)?;
    let waited = gap::until_new_byte(&observed.record, &restored.link, restored.at);
    let waited = waited.ok_or_else(|| {
        anyhow::anyhow!(
            "resume: seed {}: no new byte after the link was back",
            observed.run.seed
        )
    })?;
    Ok(waited.as_micros() as f64 / 1e3)
}
