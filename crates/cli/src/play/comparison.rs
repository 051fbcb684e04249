//! Runs in virtual time that are compared with each other: those of one scenario, with one seed.

use std::sync::Arc;

use trace::Run;

use super::virtual_world::Job;
use super::{report, world};

/// Whether these are the runs of one comparison: they differ in their policy only.
pub fn is_one(jobs: &[Job]) -> bool {
    jobs.windows(2).all(|pair| is_beside(&pair[0], &pair[1]))
}

fn is_beside(one: &Job, other: &Job) -> bool {
    Arc::ptr_eq(&one.plan, &other.plan) && one.seed == other.seed
}

/// The runs in the order of the request, with the computed ones in their places, and the job of each.
pub fn completed(jobs: &[Job], runs: Vec<Run>) -> (Vec<Job>, Vec<Run>) {
    let mut runs = runs.into_iter();
    let of_comparison = |made: &[Job]| {
        let own = runs.by_ref().take(made.len()).collect();
        let all = world::in_order(&made[0].compared, own);
        let job = |run: &Run| Job {
            policy: run.policy.clone(),
            ..made[0].clone()
        };
        all.into_iter().map(|run| (job(&run), run)).collect::<Vec<_>>()
    };
    let comparisons = jobs.chunk_by(is_beside);
    comparisons.flat_map(of_comparison).unzip()
}

/// Expectations that do not hold, a line each. The runs of one seed are judged together.
pub fn failures(jobs: &[Job], runs: &[Run]) -> Vec<String> {
    let mut rest = runs;
    let mut failed = Vec::new();
    for comparison in jobs.chunk_by(is_beside) {
        let own;
        (own, rest) = rest.split_at(comparison.len());
        let values: String = comparison[0]
            .settings
            .iter()
            .map(|value| format!(" with {value}"))
            .collect();
        let broken = report::broken(&comparison[0].plan, own).into_iter();
        failed.extend(broken.map(|line| format!("{line}{values}")));
    }
    failed
}
