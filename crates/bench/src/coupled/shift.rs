//! `cc-shift`: the share of a connection's bytes left on a path that four TCPs congest.
//!
//! Beside it stand the share that each controller's own equations predict, and the share that LIA's predict.
//!
//! # Sources
//! - RFC 6356 §3: each acknowledged segment adds `min(α/w_tot, 1/w_i)`, and a loss halves the window. The
//!   first term is the same on every path. In equilibrium `w_i = 2·min(α/w_tot, 1/w_i)/p_i`: windows are
//!   proportional to `1/p_i`, and none exceeds `sqrt(2/p_i)`. Rates are `w_i/rtt_i`.
//! - OLIA (Khalili et al., theorem 1): in equilibrium only the best path, the one with the largest
//!   `sqrt(2/p)/rtt`, is used, as by one TCP. The other keeps the smallest window.
//! - draft-walid-mptcp-congestion-control-04 §3 (BALIA), growth and loss in equilibrium: on the best path `Σx
//!   = sqrt(2/p)/rtt`, on the other `(1+a)(4+a)/10 = κ·min(a, 3/2)`. There `κ` is the ratio of the two paths'
//!   `p·rtt²` and `a` that of their rates. For `κ ≥ 1` and `a ≥ 3/2`, `a = (sqrt(9 + 60κ) − 5)/2`. Where
//!   round-trip times are equal, LIA's ratio is `κ`. BALIA's is smaller once `κ` exceeds 9.6.
//!
//! # Where we differ, and why
//! 1. The same is also measured with CoDel at both bottlenecks (`…_aqm`). All controllers' equations assume
//!    that a segment is equally likely to be lost whichever flow sent it. A full tail-drop queue mostly hits
//!    the flows that have just grown. OLIA, which does not grow on a congested path, is spared by it, and
//!    keeps its initial window.
//! 2. `p` is what the windows responded to: loss events per segment, not lost segments per segment. A full
//!    tail-drop queue drops several segments of a window at once, and the window is reduced once. `read` says
//!    how loss events are told apart, and where that errs.
//!
//! # Checked by
//! `tests`: the equilibria; `read`: round-trip times and loss events.

use scenario::Plan;
use trace::BenchRow;
use units::{Duration, Instant};

use super::{CONTROL, OURS, controllers, figures, read, run_all, spread};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{Doubts, Observed};

/// Payload of a segment, in bytes.
const SEGMENT: f64 = 1_448.0;
/// Smallest window that our controllers keep, in segments.
const LEAST_WINDOW: f64 = 2.0;
/// Time left out at the start of a run, which is slow start.
const WARM_UP: Duration = Duration::from_secs(10);

/// Runs the benchmark. The figure is the default controller's, or the chosen one's.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("cc-shift", include_str!("../scenarios/cc-shift.toml"))?;
    let managed = plans::embedded("cc-shift-aqm", include_str!("../scenarios/cc-shift-aqm.toml"))?;
    let mut ccs = vec![CONTROL];
    ccs.extend(controllers(setup));
    let quoted = super::chosen(setup);
    let observed = run_all(setup, &[&plan], &ccs)?;
    let mut doubts = Doubts::of(&observed);
    let mut row = setup
        .only_row()
        .trials(&figures(&observed, quoted, |observed| {
            Ok(share(&plan, observed))
        })?)
        .with("cc", quoted);
    row = with_all(row, "", &plan, &observed, &ccs)?;
    let observed = run_all(setup, &[&managed], &ccs)?;
    doubts.add(Doubts::of(&observed));
    row = with_all(row, "_aqm", &managed, &observed, &ccs)?;
    Ok(vec![doubts.note(row)])
}

/// Adds each controller's share on A, and two predictions for the losses and round-trip times of its runs: by
/// LIA's equations (`fixed_point`), and by its own.
fn with_all(
    mut row: BenchRow,
    suffix: &str,
    plan: &Plan,
    observed: &[Observed],
    ccs: &[&str],
) -> anyhow::Result<BenchRow> {
    for cc in ccs {
        let shares = figures(observed, cc, |observed| Ok(share(plan, observed)))?;
        let lias = figures(observed, cc, |observed| expectation("lia", plan, observed))?;
        let own = figures(observed, cc, |observed| expectation(cc, plan, observed))?;
        row = row
            .with(&format!("{cc}{suffix}"), spread(&shares))
            .with(&format!("{cc}_fixed_point{suffix}"), spread(&lias))
            .with(&format!("{cc}_own_fixed_point{suffix}"), spread(&own));
    }
    Ok(row)
}

/// A's share of the bytes.
fn share(plan: &Plan, observed: &Observed) -> f64 {
    let (from, to) = (Instant::ZERO, Instant::ZERO + plan.duration);
    let carried = |link| read::carried_between(&observed.record, OURS, link, from, to) as f64;
    carried("a") / (carried("a") + carried("b"))
}

/// A's share in a controller's equilibrium, for the losses and round-trip times of this run.
fn expectation(cc: &str, plan: &Plan, observed: &Observed) -> anyhow::Result<f64> {
    let [a, b] = ["a", "b"].map(|link| path(plan, observed, link));
    let (a, b) = (a?, b?);
    Ok(match cc {
        "lia" | "cla" => lia(a, b),
        "olia" => olia(a, b),
        "balia" => balia(a, b),
        _ => reno(a, b),
    })
}

/// Loss events per segment, and round-trip time in seconds.
type Path = (f64, f64);

fn path(plan: &Plan, observed: &Observed, link: &str) -> anyhow::Result<Path> {
    let (record, from, to) = (
        &observed.record,
        Instant::ZERO + WARM_UP,
        Instant::ZERO + plan.duration,
    );
    let rtt = read::mean_rtt_s(record, OURS, link, from, to)
        .ok_or_else(|| anyhow::anyhow!("seed {}: no round-trip time over {link}", observed.run.seed))?;
    // A path without a loss has lost less than one segment: count one.
    let lost = read::loss_events_between(record, OURS, link, from, to).max(1) as f64;
    let bytes = read::carried_between(record, OURS, link, from, to) as f64;
    Ok((lost * SEGMENT / bytes.max(SEGMENT), rtt))
}

/// Rate of one TCP, in segments per second.
fn tcp((loss, rtt): Path) -> f64 {
    (2.0 / loss).sqrt() / rtt
}

/// A's share of the bytes with one TCP on each path.
fn reno(a: Path, b: Path) -> f64 {
    tcp(a) / (tcp(a) + tcp(b))
}

/// A's share of the bytes under LIA: windows of `c/p` segments, at most `sqrt(2/p)`, with the `c` that LIA's
/// own α gives.
fn lia(a: Path, b: Path) -> f64 {
    let window = |(loss, _): Path, common: f64| (2.0 * common / loss).min((2.0 / loss).sqrt());
    // Iterates: α/w_tot from these windows, then windows from it. This is a contraction, since α is
    // homogeneous of degree −1.
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

/// A's share of the bytes under OLIA: one TCP on the better path, the smallest window on the other.
fn olia(a: Path, b: Path) -> f64 {
    if tcp(a) > tcp(b) {
        return 1.0 - olia(b, a);
    }
    let left = LEAST_WINDOW / a.1;
    left / (left + tcp(b))
}

/// A's share of the bytes in BALIA's equilibrium.
fn balia(a: Path, b: Path) -> f64 {
    let kappa = (a.0 * a.1 * a.1) / (b.0 * b.1 * b.1);
    if kappa < 1.0 {
        return 1.0 - balia(b, a);
    }
    // Equal paths have two equilibria: equal use, or the one of the deeper cut.
    let faster = if kappa > 1.0 {
        (f64::sqrt(9.0 + 60.0 * kappa) - 5.0) / 2.0
    } else {
        1.0
    };
    1.0 / (1.0 + faster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_share_equally() {
        assert!((lia((0.01, 0.05), (0.01, 0.05)) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn windows_are_as_one_over_the_loss_up_to_a_tcps() {
        let share = lia((0.04, 0.05), (0.01, 0.05));
        // B has 4 times A's window: best/total² = 4/25 of A's; B's cap of a TCP is not reached.
        assert!((share - 0.2).abs() < 1e-6, "{share}");
        let long = lia((0.01, 0.1), (0.01, 0.05));
        assert!((long - 1.0 / 3.0).abs() < 1e-3, "{long}");
    }

    #[test]
    fn each_controller_has_its_own_balance() {
        let (crowded, free) = ((0.01, 0.05), (0.000_5, 0.05));
        // κ = 20: TCPs share as 1 to sqrt(20), LIA as 1 to 20, BALIA as 1 to (sqrt(1209) − 5)/2 = 14.9.
        assert!((reno(crowded, free) - 1.0 / (1.0 + f64::sqrt(20.0))).abs() < 1e-9);
        assert!((lia(crowded, free) - 1.0 / 21.0).abs() < 1e-3);
        assert!((balia(crowded, free) - 1.0 / 15.885).abs() < 1e-4);
        // OLIA's two segments beside sqrt(2/0.0005) = 63.2.
        assert!((olia(crowded, free) - 2.0 / 65.246).abs() < 1e-4);
        for balance in [reno, lia, olia, balia] {
            let (there, back) = (balance(crowded, free), balance(free, crowded));
            assert!((there + back - 1.0).abs() < 1e-6);
        }
        // Below κ = 9.6 BALIA shifts more than LIA, above it less.
        assert!(balia((0.005, 0.05), (0.001, 0.05)) < lia((0.005, 0.05), (0.001, 0.05)));
    }
}
