//! `cc-shift`: how much of a connection stays on a path that four TCPs congest, beside what LIA's equations expect.
//!
//! # Sources
//! - RFC 6356 §3: each acknowledged segment adds `min(α/w_tot, 1/w_i)`, the first of which is the same on every path, and a loss halves
//!   the window. In the balance of both, `w_i = 2·min(α/w_tot, 1/w_i)/p_i`: windows are to each other as `1/p_i`, and none is over
//!   `sqrt(2/p_i)`; rates are `w_i/rtt_i`.
//!
//! # Where we differ, and why
//! 1. The same is measured with CoDel at both bottlenecks, too (`…_aqm`): the equations of all controllers take a segment to be as likely lost on
//!    whoever's path it is, and a full tail-drop queue mostly hits those who have just grown. OLIA, which does not grow on a congested path, is
//!    spared by it, and keeps the window that it began with.

use scenario::Plan;
use trace::{BenchRow, Better};
use units::{Duration, Instant};

use super::super::trial::Observed;
use super::super::{Setup, plans};
use super::{CONTROL, controllers, figures, read, run_all, spread};

/// How many runs of each plan with each controller.
const RUNS: u32 = 3;
/// Payload of a segment.
const SEGMENT: f64 = 1_448.0;
/// The balance is that of the run without its beginning: a slow start loses half a queue at once, which is one loss to the window.
const WARM_UP: Duration = Duration::from_secs(10);

/// Measures; the figure is the default controller's, or the chosen one's.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("cc-shift", include_str!("../scenarios/cc-shift.toml"))?;
    let managed = plans::embedded("cc-shift-aqm", include_str!("../scenarios/cc-shift-aqm.toml"))?;
    let mut ccs = vec![CONTROL];
    ccs.extend(controllers(setup));
    let quoted = super::chosen(setup);
    let observed = run_all(setup, &[&plan], &ccs, RUNS)?;
    let mut row = BenchRow::new("cc-shift", "ratio", Better::Lower)
        .trials(&figures(&observed, quoted, |observed| {
            Ok(share(&plan, observed))
        })?)
        .with("cc", quoted);
    row = with_all(row, "", &plan, &observed, &ccs)?;
    let observed = run_all(setup, &[&managed], &ccs, RUNS)?;
    Ok(vec![with_all(row, "_aqm", &managed, &observed, &ccs)?])
}

/// What each controller left on A, and what LIA's equations say to the losses and round-trip times of its runs.
fn with_all(
    mut row: BenchRow,
    suffix: &str,
    plan: &Plan,
    observed: &[Observed],
    ccs: &[&str],
) -> anyhow::Result<BenchRow> {
    for cc in ccs {
        let shares = figures(observed, cc, |observed| Ok(share(plan, observed)))?;
        let expected = figures(observed, cc, |observed| expectation(plan, observed))?;
        row = row
            .with(&format!("{cc}{suffix}"), spread(&shares))
            .with(&format!("{cc}_fixed_point{suffix}"), spread(&expected));
    }
    Ok(row)
}

/// A's share of the bytes.
fn share(plan: &Plan, observed: &Observed) -> f64 {
    let (from, to) = (Instant::ZERO, Instant::ZERO + plan.duration);
    let carried = |link| read::carried_between(&observed.record, "ours", link, from, to) as f64;
    carried("a") / (carried("a") + carried("b"))
}

/// A's share in LIA's balance, for the losses and round-trip times of this run.
fn expectation(plan: &Plan, observed: &Observed) -> anyhow::Result<f64> {
    let [a, b] = ["a", "b"].map(|link| path(plan, observed, link));
    Ok(fixed_point(a?, b?))
}

/// Loss probability of a segment, and round-trip time in seconds.
type Path = (f64, f64);

fn path(plan: &Plan, observed: &Observed, link: &str) -> anyhow::Result<Path> {
    let (record, from, to) = (
        &observed.record,
        Instant::ZERO + WARM_UP,
        Instant::ZERO + plan.duration,
    );
    let rtt = read::mean_rtt_s(record, "ours", link)
        .ok_or_else(|| anyhow::anyhow!("seed {}: no round-trip time over {link}", observed.run.seed))?;
    // A path without a loss has lost less than one.
    let lost = read::path_retransmits_between(record, "ours", link, from, to).max(1) as f64;
    let bytes = read::carried_between(record, "ours", link, from, to) as f64;
    Ok((lost * SEGMENT / bytes.max(SEGMENT), rtt))
}

/// A's share of the bytes: windows in segments `c/p`, at most `sqrt(2/p)`, with the `c` that LIA's own α gives.
fn fixed_point(a: Path, b: Path) -> f64 {
    let window = |(loss, _): Path, common: f64| (2.0 * common / loss).min((2.0 / loss).sqrt());
    // α/w_tot of these windows, and the windows of that: a contraction, since α is homogeneous of degree −1.
    let mut common = a.0.min(b.0).sqrt();
    for _ in 0..200 {
        let (wa, wb) = (window(a, common), window(b, common));
        let best = (wa / (a.1 * a.1)).max(wb / (b.1 * b.1));
        let total = wa / a.1 + wb / b.1;
        common = (common * best / (total * total)).sqrt();
    }
    let rates = [a, b].map(|path| window(path, common) / path.1);
    rates[0] / (rates[0] + rates[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_share_equally() {
        assert!((fixed_point((0.01, 0.05), (0.01, 0.05)) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn windows_are_as_one_over_the_loss_up_to_a_tcps() {
        let share = fixed_point((0.04, 0.05), (0.01, 0.05));
        // B has 4 times A's window: best/total² = 4/25 of A's; B's cap of a TCP is not reached.
        assert!((share - 0.2).abs() < 1e-6, "{share}");
        let long = fixed_point((0.01, 0.1), (0.01, 0.05));
        assert!((long - 1.0 / 3.0).abs() < 1e-3, "{long}");
    }
}
