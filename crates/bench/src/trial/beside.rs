//! Takes one figure from each of many trials: ours, and in turn with them those of another policy.

use scenario::Plan;
use trace::{BenchRow, PolicyName, TheirsFrom};

use crate::declaration::Setup;
use crate::trial::{self, Observed, Trial};

/// Fills the benchmark's row with ours and, if requested, with the other policy's. `prepare` makes the plan
/// of the trial with a seed, and `figure` reads the figure of a trial. Less is better.
pub fn measure(
    setup: &Setup,
    prepare: impl Fn(u64) -> Plan,
    figure: impl Fn(&Observed) -> anyhow::Result<f64>,
) -> anyhow::Result<BenchRow> {
    let policies: Vec<PolicyName> = std::iter::once(PolicyName::Slowhand)
        .chain(setup.beside.clone())
        .collect();
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let trials: Vec<Trial> = seeds
        .flat_map(|seed| {
            let plan = prepare(seed);
            policies.iter().map(move |policy| Trial {
                plan: plan.clone(),
                policy: policy.clone(),
                seed,
            })
        })
        .collect();
    let observed = trial::side_by_side(trials)?;
    let figures = |wanted: &PolicyName| {
        let of_policy = observed.iter().filter(|observed| observed.run.policy == *wanted);
        of_policy.map(&figure).collect::<anyhow::Result<Vec<f64>>>()
    };
    let row = setup
        .only_row()
        .trials(&figures(&policies[0])?)
        .with("cc", trial::sender(&observed));
    match policies.get(1) {
        Some(other) => Ok(compared(row, other, &figures(other)?)),
        None => Ok(row),
    }
}

fn compared(row: BenchRow, other: &PolicyName, figures: &[f64]) -> BenchRow {
    let theirs = BenchRow::new("", "", row.better).trials(figures);
    let ratio = row
        .p50
        .zip(theirs.p50)
        .and_then(|(ours, theirs)| (ours > 0.0).then_some(theirs / ours));
    let peer = if *other == PolicyName::Mptcp {
        "stock kernel".to_owned()
    } else {
        other.to_string()
    };
    let spread = |figure: Option<f64>| figure.map_or(serde_json::Value::Null, Into::into);
    BenchRow {
        peer: Some(peer),
        theirs: theirs.p50,
        theirs_from: TheirsFrom::ThisRun,
        ratio,
        ..row
    }
    .with("theirs_min", spread(theirs.min))
    .with("theirs_max", spread(theirs.max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_compare_as_theirs_over_ours() {
        let ours = crate::catalogue::row("stall-drop").trials(&[100.0, 200.0, 300.0]);
        let row = compared(ours, &PolicyName::Mptcp, &[700.0, 800.0, 900.0]);
        assert_eq!((row.theirs, row.ratio), (Some(800.0), Some(4.0)));
        assert_eq!(row.peer.as_deref(), Some("stock kernel"));
        assert_eq!(row.extra["theirs_max"], 900.0);
    }
}
