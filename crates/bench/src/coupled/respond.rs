//! `cc-respond`: time a connection needs to use the new capacity after a path's capacity doubled or halved.
//!
//! Two times are reported: until the rate stays near its new value, and until it first comes near
//! (`…_reached`). On a path with a short queue, every controller that halves its window varies by more than a
//! tenth of the change. That includes uncoupled Reno, and such a rate may never stay.

use scenario::Plan;
use trace::BenchRow;
use units::Duration;

use super::{CONTROL, OURS, controllers, read, run_all, spread};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{Doubts, Observed};

/// The controller whose figure is quoted, unless the user chooses another: the one with an aim.
const QUOTED: &str = "olia";
/// Averaging time of rates.
const STEP: Duration = Duration::from_millis(500);
/// Step at which the capacity changes.
const CHANGE: usize = 60;
/// Steps at the end of the run whose mean is the new rate: 20 s.
const TAIL: usize = 40;
/// Steps before the change whose mean is the old rate.
const BEFORE: usize = 20;
/// Steps in a row near the new rate that count as steady: 2 s.
const STEADY: usize = 4;

/// Measures both changes. The figure is the slower one.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let double = plans::embedded(
        "cc-respond-double",
        include_str!("../scenarios/cc-respond-double.toml"),
    )?;
    let halve = plans::embedded(
        "cc-respond-halve",
        include_str!("../scenarios/cc-respond-halve.toml"),
    )?;
    let mut ccs = vec![CONTROL];
    ccs.extend(controllers(setup));
    let plans = [&double, &halve];
    let observed = run_all(setup, &plans, &ccs)?;
    let quoted = setup.cc.as_deref().unwrap_or(QUOTED);
    let times = |cc: &str, plan: usize, steps: Steps| -> Vec<f64> {
        let of_plan = observed
            .iter()
            .enumerate()
            // Trials run in turn: for every seed the plans, for each plan the controllers.
            .filter(|(index, _)| index / ccs.len() % plans.len() == plan)
            .map(|(_, observed)| observed);
        let sent = of_plan.filter(|observed| observed.run.cc.as_deref() == Some(cc));
        sent.map(|observed| seconds(plans[plan], observed, steps))
            .collect()
    };
    let slower: Vec<f64> = times(quoted, 0, steps_until_steady)
        .into_iter()
        .zip(times(quoted, 1, steps_until_steady))
        .map(|(double, halve)| double.max(halve))
        .collect();
    let mut row = setup.only_row().trials(&slower).with("cc", quoted);
    for cc in &ccs {
        for (plan, change) in ["double", "halve"].into_iter().enumerate() {
            let (stays, reached) = (
                times(cc, plan, steps_until_steady),
                times(cc, plan, steps_until_near),
            );
            row = row
                .with(&format!("{cc}_{change}"), spread(&stays))
                .with(&format!("{cc}_{change}_reached"), spread(&reached));
        }
    }
    Ok(vec![Doubts::of(&observed).note(row)])
}

/// Finds a number of steps after the change, from the rate in each step.
type Steps = fn(&[f64]) -> usize;

fn seconds(plan: &Plan, observed: &Observed, steps: Steps) -> f64 {
    let series = read::series_mbps(&observed.record, OURS, "a", STEP, plan.duration);
    steps(&series) as f64 * STEP.as_secs_f64()
}

/// Steps after the change until the rate enters a tenth of the change around its new value and stays for
/// `STEADY` steps. All steps if it never does.
fn steps_until_steady(series: &[f64]) -> usize {
    let change = Change::of(series);
    let near = |rate: &f64| (rate - change.becomes).abs() <= change.tenth();
    let arrived = change
        .after
        .windows(STEADY)
        .position(|steps| steps.iter().all(near));
    arrived.unwrap_or(change.after.len())
}

/// Steps after the change until the rate has covered nine tenths of the change for the first time.
fn steps_until_near(series: &[f64]) -> usize {
    let change = Change::of(series);
    let rises = change.becomes > change.was;
    let left = |rate: &f64| (if rises { 1.0 } else { -1.0 }) * (change.becomes - rate);
    let arrived = change.after.iter().position(|rate| left(rate) <= change.tenth());
    arrived.unwrap_or(change.after.len())
}

struct Change<'s> {
    after: &'s [f64],
    was: f64,
    becomes: f64,
}

impl<'s> Change<'s> {
    fn of(series: &'s [f64]) -> Self {
        let mean = |steps: &[f64]| steps.iter().sum::<f64>() / steps.len().max(1) as f64;
        let (before, after) = series.split_at(CHANGE.min(series.len()));
        Self {
            after,
            was: mean(&before[before.len().saturating_sub(BEFORE)..]),
            becomes: mean(&after[after.len().saturating_sub(TAIL)..]),
        }
    }

    const fn tenth(&self) -> f64 {
        (self.becomes - self.was).abs() / 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_until_it_stays_near() {
        let mut series = vec![20.0; CHANGE];
        series.extend([25.0, 30.0, 39.5, 30.0]);
        series.extend([40.0; 56]);
        assert_eq!(steps_until_steady(&series), 4);
        assert_eq!(steps_until_near(&series), 2);
    }

    #[test]
    fn a_rate_that_falls_arrives_from_above() {
        let mut series = vec![20.0; CHANGE];
        series.extend([15.0, 11.2, 10.5, 12.0]);
        series.extend([10.0; 56]);
        assert_eq!((steps_until_near(&series), steps_until_steady(&series)), (2, 4));
    }

    #[test]
    fn what_never_settles_takes_all_there_is() {
        let mut series = vec![20.0; CHANGE];
        series.extend((0..60).map(|step| if step % 2 == 0 { 10.0 } else { 40.0 }));
        assert_eq!(steps_until_steady(&series), 60);
    }
}
