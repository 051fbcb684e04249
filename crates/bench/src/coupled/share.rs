//! `cc-share-2`, `cc-share-4`: share of a common bottleneck that a connection takes beside one TCP Reno, in
//! TCPs.

use scenario::Plan;
use trace::{BenchRow, Better, TheirsFrom};
use units::{Duration, Instant};

use super::{CONTROL, OURS, chosen, figures, read, run_all};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{Doubts, Observed};

/// Time left out at the start of a run.
const WARM_UP: Duration = Duration::from_secs(5);

/// Measures with two subflows.
pub fn two(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, "cc-share-2", include_str!("../scenarios/cc-share-2.toml"))
}

/// Measures with four subflows.
pub fn four(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    run(setup, "cc-share-4", include_str!("../scenarios/cc-share-4.toml"))
}

fn run(setup: &Setup, name: &str, text: &str) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded(name, text)?;
    let cc = chosen(setup);
    let observed = run_all(setup, &[&plan], &[CONTROL, cc])?;
    let share = |observed: &Observed| share(&plan, observed);
    let ours = setup.only_row().trials(&figures(&observed, cc, share)?);
    let theirs = BenchRow::new("", "", Better::Lower).trials(&figures(&observed, CONTROL, share)?);
    let ratio = ours.p50.zip(theirs.p50).map(|(ours, theirs)| ours / theirs);
    let row = BenchRow {
        peer: Some("uncoupled reno".to_owned()),
        theirs: theirs.p50,
        theirs_from: TheirsFrom::ThisRun,
        ratio,
        ..ours
    };
    let row = row
        .with("cc", cc)
        .with("theirs_min", theirs.min)
        .with("theirs_max", theirs.max);
    Ok(vec![Doubts::of(&observed).note(row)])
}

/// Bytes read by the connection's application over those read by the TCP's.
fn share(plan: &Plan, observed: &Observed) -> anyhow::Result<f64> {
    let (from, to) = (Instant::ZERO + WARM_UP, Instant::ZERO + plan.duration);
    let read = |flow| read::read_between(&observed.record, flow, from, to);
    match (read(OURS), read("rival")) {
        (_, 0) => anyhow::bail!(
            "seed {}: the competing TCP connection transferred nothing",
            observed.run.seed
        ),
        (ours, rival) => Ok(ours as f64 / rival as f64),
    }
}
