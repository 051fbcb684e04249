//! `cc-shift`: how much of a connection stays on a path that four TCPs congest, beside what LIA's equations expect.
//!
//! # Sources
//! - RFC 6356 §3: each acknowledged segment adds `min(α/w_tot, 1/w_i)`, the first of which is the same on every path, and a loss halves
//!   the window. In the balance of both, `w_i = 2·min(α/w_tot, 1/w_i)/p_i`: windows are to each other as `1/p_i`, and none is over
//!   `sqrt(2/p_i)`; rates are `w_i/rtt_i`.

use trace::{BenchRow, Better};
use units::Instant;

use super::super::trial::Observed;
use super::super::{Setup, plans};
use super::{CONTROL, controllers, figures, read, run_all, spread};

/// How many runs with each controller.
const RUNS: u32 = 5;
/// Payload of a segment.
const SEGMENT: f64 = 1_448.0;

/// Measures; the figure is the default controller's, or the chosen one's.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("cc-shift", include_str!("../scenarios/cc-shift.toml"))?;
    let mut ccs = vec![CONTROL];
    ccs.extend(controllers(setup));
    let observed = run_all(setup, &[&plan], &ccs, RUNS)?;
    let (from, to) = (Instant::ZERO, Instant::ZERO + plan.duration);
    let share = |observed: &Observed| {
        let carried = |link| read::carried_between(&observed.record, "ours", link, from, to) as f64;
        Ok(carried("a") / (carried("a") + carried("b")))
    };
    let quoted = super::chosen(setup);
    let mut row = BenchRow::new("cc-shift", "ratio", Better::Lower)
        .trials(&figures(&observed, quoted, share)?)
        .with("cc", quoted);
    for cc in ccs {
        row = row.with(cc, spread(&figures(&observed, cc, share)?));
    }
    let expected = figures(&observed, super::DEFAULT, expectation)?;
    Ok(vec![row.with("lia_fixed_point", spread(&expected))])
}

/// A's share in LIA's balance, for the losses and round-trip times of this run.
fn expectation(observed: &Observed) -> anyhow::Result<f64> {
    let [a, b] = ["a", "b"].map(|link| path(observed, link));
    Ok(fixed_point(a?, b?))
}

/// Loss probability of a segment, and round-trip time in seconds.
type Path = (f64, f64);

fn path(observed: &Observed, link: &str) -> anyhow::Result<Path> {
    let used = observed.run.flows.iter().find(|flow| flow.name == "ours");
    let used = used.and_then(|flow| flow.paths.iter().find(|path| path.link == link));
    let used = used.ok_or_else(|| anyhow::anyhow!("seed {}: nothing went over {link}", observed.run.seed))?;
    let rtt = read::mean_rtt_s(&observed.record, "ours", link)
        .ok_or_else(|| anyhow::anyhow!("seed {}: no round-trip time over {link}", observed.run.seed))?;
    // A path without a loss has lost less than one.
    let lost = used.retransmits.max(1) as f64;
    Ok((lost * SEGMENT / (used.bytes as f64).max(SEGMENT), rtt))
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
