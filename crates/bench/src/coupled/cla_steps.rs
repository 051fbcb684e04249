//! `cla-steps`: costs and gains of each step of CLA's hand-off stage, for a connection that survives a change
//! of access point, in virtual time.
//!
//! There a sender can take all of the steps. `cla-steps-unforeseen`: nobody warns the sender.
//! `cla-steps-duplicates`: the sender detects losses only by three duplicates and time-outs.
//!
//! The figure is the mean goodput of the paper's whole stage around a hand-off. Beside it is that of CLA as
//! in the kernel, which orders nothing there.
//!
//! # Sources
//! - cla §IV-C, Algorithm 2; the grid, and where it differs from radios: [`sim::handoff`].
//!
//! # Checked by
//! `tests` below; `crates/sim/tests/cla_handoff.rs`: the same grids, with what must hold of them.

use serde_json::{Value, json};
use sim::handoff::{CLA, Gain, Grid, HandOff, KINDS, Left, Outcome, Played, Row, Summary, WHOLE};
use trace::{BenchRow, TheirsFrom};

use crate::declaration::Setup;

/// Measures Linux senders that were told of the fading path two seconds before.
pub fn foreseen(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, Grid::FORESEEN)
}

/// Measures Linux senders that were told nothing.
pub fn unforeseen(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, Grid::UNFORESEEN)
}

/// Measures senders without RACK, probes and undo.
pub fn duplicates(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, Grid::THREE_DUPLICATES)
}

fn measure(setup: &Setup, grid: Grid) -> anyhow::Result<Vec<BenchRow>> {
    let seeds = u64::from(setup.trials());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let played = grid.play(setup.seed..setup.seed.saturating_add(seeds), cores)?;
    let [whole, kernel] = [WHOLE, CLA].map(|kind| goodput(&played.all(kind)));
    let each: Vec<f64> = played.all(WHOLE).iter().map(Outcome::goodput_mbps).collect();
    let row = BenchRow {
        ours: whole,
        peer: Some("CLA in the kernel".to_owned()),
        theirs: kernel,
        theirs_from: TheirsFrom::ThisRun,
        ratio: whole.zip(kernel).map(|(whole, kernel)| whole / kernel),
        ..setup.only_row().trials(&each)
    };
    let row = row.with("seeds", seeds).with("all", over_kernel(&played));
    let each = grid.hand_offs().into_iter().flat_map(|how| {
        let labels = json!({"what_waits": what_waits(how), "gap_ms": how.gap.as_millis() as u64});
        senders(&played, move |row| row.how == how, labels)
    });
    Ok(vec![row.with("each", each.collect::<Vec<_>>())])
}

fn goodput(outcomes: &[Outcome]) -> Option<f64> {
    Summary::of(outcomes).map(|summary| summary.goodput_mbps)
}

const fn what_waits(how: HandOff) -> &'static str {
    match how.left {
        Left::Lost => "lost",
        Left::Forwarded => "forwarded",
    }
}

/// Figures of each sender in the wanted rows, with these labels.
fn senders(played: &Played, wanted: impl Fn(&Row) -> bool, labels: Value) -> Vec<Value> {
    let lines = KINDS.iter().enumerate().filter_map(|(at, kind)| {
        let means = Summary::of(&played.runs(at, &wanted))?;
        let mut line = labels.clone();
        line["sender"] = kind.name.into();
        line["goodput_mbps"] = means.goodput_mbps.into();
        line["sent_again"] = means.retransmits.into();
        line["longest_silence_ms"] = means.longest_silence_ms.into();
        Some(line)
    });
    lines.collect()
}

/// Mean figures of each sender over all rows, their ratio to those of CLA in the kernel, and the standard
/// error of that ratio.
fn over_kernel(played: &Played) -> Vec<Value> {
    let kernel = played.all(CLA);
    let mut lines = senders(played, |_| true, json!({}));
    for (at, line) in lines.iter_mut().enumerate() {
        let gain = Gain::between(&kernel, &played.all(at));
        line["over_cla_mbps"] = gain.map(|gain| gain.mbps).into();
        line["over_cla_mbps_error"] = gain.map(|gain| gain.error_mbps).into();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    const GRID: Grid = Grid {
        gaps: &[Duration::from_millis(200)],
        ..Grid::FORESEEN
    };

    fn rows(seed: u64) -> Vec<BenchRow> {
        let setup = Setup {
            bench: crate::catalogue::bench("cla-steps"),
            asked_trials: Some(1),
            beside: None,
            cc: None,
            seed,
        };
        measure(&setup, GRID).unwrap()
    }

    #[test]
    fn one_seed_is_one_result() {
        assert_eq!(rows(3), rows(3));
        assert_ne!(rows(3), rows(4));
    }

    #[test]
    fn every_sender_is_told_of_every_hand_off_and_of_all() {
        let [row] = rows(1).try_into().unwrap();
        let (all, each) = (&row.extra["all"], &row.extra["each"]);
        let lines = |list: &Value| list.as_array().unwrap().clone();
        assert_eq!(lines(all).len(), KINDS.len());
        assert_eq!(lines(each).len(), 2 * KINDS.len());
        let whole = &lines(all)[WHOLE];
        assert_eq!(whole["sender"], "whole");
        assert_eq!(whole["goodput_mbps"].as_f64(), row.ours);
        let kernel = &lines(all)[CLA];
        assert_eq!(kernel["goodput_mbps"].as_f64(), row.theirs);
        assert_eq!(kernel["over_cla_mbps"].as_f64(), Some(0.0));
        let lost = lines(each)
            .iter()
            .filter(|line| line["what_waits"] == "lost")
            .count();
        assert_eq!(lost, KINDS.len());
        assert!(lines(each).iter().all(|line| line["gap_ms"] == 200));
        assert!(
            row.ours.is_some_and(|mbps| (5.0..20.0).contains(&mbps)),
            "{row:?}"
        );
    }
}
