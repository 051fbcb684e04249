//! `stall-drop` and `stall-backup`: a link silently drops everything. The figure is how long the application
//! waits.

use scenario::Plan;
use trace::BenchRow;
use units::Duration;

use crate::declaration::Setup;
use crate::trial::Observed;
use crate::trial::{beside, gap, plans};

/// Length of a run after its fault: the gap may begin up to 3 s after it.
const AFTER_FAULT: Duration = Duration::from_secs(5);

/// The busiest of three links drops everything.
pub fn drop(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("stall-drop", include_str!("../scenarios/stall-drop.toml"))?;
    Ok(vec![measure(setup, &plan)?])
}

/// The only good link drops everything, and a backup remains.
pub fn backup(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("stall-backup", include_str!("../scenarios/stall-backup.toml"))?;
    Ok(vec![measure(setup, &plan)?])
}

fn measure(setup: &Setup, plan: &Plan) -> anyhow::Result<BenchRow> {
    beside::measure(setup, |seed| ending_soon_after_its_fault(plan, seed), gap_ms)
}

/// Shortens the plan: nothing is measured once the fault's aftermath is over.
fn ending_soon_after_its_fault(plan: &Plan, seed: u64) -> Plan {
    let last = plan
        .timeline(seed)
        .last()
        .map_or(plan.duration, |happening| happening.at);
    Plan {
        duration: plan.duration.min(last + AFTER_FAULT),
        ..plan.clone()
    }
}

fn gap_ms(observed: &Observed) -> anyhow::Result<f64> {
    let fault = gap::last_change(&observed.record)?;
    Ok(gap::longest_wait(&observed.only_flow()?.waits, fault.at).as_micros() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_ends_five_seconds_after_its_fault_and_draws_it_as_before() {
        let plan = plans::embedded("stall-drop", include_str!("../scenarios/stall-drop.toml")).unwrap();
        for seed in 0..50 {
            let cut = ending_soon_after_its_fault(&plan, seed);
            let at = plan.timeline(seed)[0].at;
            assert!(
                (Duration::from_secs(3)..=Duration::from_secs(8)).contains(&at),
                "{at:?}"
            );
            assert_eq!(cut.timeline(seed)[0].at, at);
            assert_eq!(cut.duration, plan.duration.min(at + AFTER_FAULT));
        }
    }
}
