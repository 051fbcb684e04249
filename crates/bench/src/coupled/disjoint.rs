//! `cc-disjoint`: goodput of a coupled connection over two paths that share nothing, over that of an
//! uncoupled one.

use trace::{BenchRow, Better, TheirsFrom};
use units::{Duration, Instant};

use super::{CONTROL, OURS, controllers, figures, read, run_all, spread};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{Doubts, Observed};

/// Time left out at the start of a run.
const WARM_UP: Duration = Duration::from_secs(5);

/// Runs the benchmark. The figure is the default controller's, or the chosen one's.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("cc-disjoint", include_str!("../scenarios/cc-disjoint.toml"))?;
    let mut ccs = vec![CONTROL];
    ccs.extend(controllers(setup));
    let observed = run_all(setup, &[&plan], &ccs)?;
    let (from, to) = (Instant::ZERO + WARM_UP, Instant::ZERO + plan.duration);
    let mbps = |observed: &Observed| {
        let bytes = read::read_between(&observed.record, OURS, from, to);
        Ok(bytes as f64 * 8e-6 / to.since(from).as_secs_f64())
    };
    let control = figures(&observed, CONTROL, mbps)?;
    let theirs = BenchRow::new("", "", Better::Higher)
        .trials(&control)
        .ours
        .unwrap_or(f64::NAN);
    let ratios = |cc: &str| -> anyhow::Result<Vec<f64>> {
        let rates = figures(&observed, cc, mbps)?;
        Ok(rates.into_iter().map(|rate| rate / theirs).collect())
    };
    let quoted = super::chosen(setup);
    let mut row = setup
        .only_row()
        .trials(&ratios(quoted)?)
        .with("cc", quoted)
        .with("reno_mbps", spread(&control));
    for cc in controllers(setup) {
        row = row.with(cc, spread(&ratios(cc)?));
    }
    let row = Doubts::of(&observed).note(row);
    Ok(vec![BenchRow {
        peer: Some("uncoupled reno".to_owned()),
        theirs: Some(1.0),
        theirs_from: TheirsFrom::ThisRun,
        ratio: row.ours,
        ..row
    }])
}
