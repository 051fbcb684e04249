//! `walk`: the building walk against the best single link in hindsight, and against the limit of the models.
//!
//! The best single link is `tcp-best`: in every window of 10 s, the run over one link alone that moved most.
//! So a run over one link is needed only until the last window in which its link can be the best ([`ends`]).
//! A seed takes 300 s of scenario time: 60 s under `slowhand` and over each of `lte`, `ap4` and `ap5`, 30 s
//! over `ap3`, 20 s over `ap2` and 10 s over `ap1`. Played to the end of the walk, the seven runs are 420 s.
//!
//! All seeds are one batch, the shortest runs first: a batch lowers its load after late runs, which are
//! repeated alone, so it learns with the cheapest ones. With 2 cores (8 runs side by side) three seeds take
//!
//! | | one batch for each seed, whole runs | one batch |
//! |---|---|---|
//! | no run late | 3 × 66 s | 160 s |
//! | more than 4 side by side are late | 3 × (66 + 7 × 60) s = 24 min | 30 + 60 + 120 + 480 s = 12 min |

use links::NetworkConfig;
use scenario::{Plan, models};
use trace::{BEST_WINDOW, BenchRow, PolicyName, Run, tcp_best, versus_best};
use units::Duration;

use crate::declaration::Setup;
use crate::trial::{self, Trial, plans};

/// A link whose limit is a smaller part of the greatest limit is not the best one.
const SHARE: f64 = 3.0;

/// Result of one seed.
struct Walk {
    versus_best: f64,
    versus_optimal: f64,
    longest_stall_ms: f64,
}

/// Runs the benchmark. The figure is the mean over the seeds.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plan()?;
    let seeds = || (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let mut trials: Vec<Trial> = seeds().flat_map(|seed| trials(&plan, seed)).collect();
    trials.sort_by_key(|trial| trial.plan.duration);
    let observed = trial::side_by_side(trials)?.into_iter();
    let runs: Vec<Run> = observed.map(|observed| observed.run).collect();
    let walks: Vec<Walk> = seeds()
        .map(|seed| walk(&plan, seed, &runs))
        .collect::<Result<_, _>>()?;
    let mean = |figure: fn(&Walk) -> f64| walks.iter().map(figure).sum::<f64>() / walks.len() as f64;
    let ratios: Vec<f64> = walks.iter().map(|walk| walk.versus_best).collect();
    let row = setup.only_row().trials(&ratios);
    let row = BenchRow {
        ours: Some(mean(|walk| walk.versus_best)),
        ..row
    };
    let longest = walks.iter().map(|walk| walk.longest_stall_ms).fold(0.0, f64::max);
    Ok(vec![
        row.with("cc", plan.cc.as_str())
            .with("vs_optimal", mean(|walk| walk.versus_optimal))
            .with("longest_stall_ms", longest),
    ])
}

fn plan() -> anyhow::Result<Plan> {
    plans::embedded(
        "building-walk",
        include_str!("../../../../scenarios/building-walk.toml"),
    )
}

/// The trials of a seed: one under `slowhand`, and one over each link that can be the best in some window.
fn trials(plan: &Plan, seed: u64) -> Vec<Trial> {
    let trial = |policy, duration| Trial {
        plan: Plan {
            duration,
            ..plan.clone()
        },
        policy,
        seed,
    };
    let singles = std::iter::zip(&plan.links, ends(plan, seed))
        .filter(|(_, end)| *end > Duration::ZERO)
        .map(|(link, end)| trial(PolicyName::Tcp(link.name.clone()), end));
    singles
        .chain([trial(PolicyName::Slowhand, plan.duration)])
        .collect()
}

/// For each link, the end of the last window in which it can be the best: its limit
/// ([`models::optimal`]) is at least a third of the greatest limit in that window. A run never exceeds its
/// link's limit, and the best run of a window reaches more than a third of the greatest one.
fn ends(plan: &Plan, seed: u64) -> Vec<Duration> {
    let network = models::network(plan, seed);
    let windows = (plan.duration.as_nanos() / BEST_WINDOW.as_nanos()) as u32;
    let limits: Vec<Vec<f64>> = (0..network.links.len())
        .map(|link| limits(plan, &network, link, windows))
        .collect();
    let can_be_best = |limits_of_link: &[f64], window: usize| {
        let greatest = limits.iter().map(|limits| limits[window]).fold(0.0, f64::max);
        greatest > 0.0 && limits_of_link[window] >= greatest / SHARE
    };
    let end = |limits_of_link: &Vec<f64>| {
        let last = (1..=windows).rfind(|&end| can_be_best(limits_of_link, end as usize - 1));
        BEST_WINDOW * last.unwrap_or(0)
    };
    limits.iter().map(end).collect()
}

/// The limit of one link in each window, as bits per second times the length of the window.
fn limits(plan: &Plan, network: &NetworkConfig, link: usize, windows: u32) -> Vec<f64> {
    let alone = NetworkConfig {
        links: vec![network.links[link].clone()],
        ..network.clone()
    };
    let until = |end: u32| {
        let mean = models::optimal(plan, &alone, BEST_WINDOW * end, |_, _| Vec::new());
        mean.as_bps() as f64 * f64::from(end)
    };
    (0..windows)
        .map(|window| until(window + 1) - until(window))
        .collect()
}

fn walk(plan: &Plan, seed: u64, runs: &[Run]) -> anyhow::Result<Walk> {
    let missing = || anyhow::anyhow!("walk: seed {seed}: a run is missing or transferred nothing");
    let of_seed: Vec<Run> = runs
        .iter()
        .filter(|run| run.seed == seed)
        .map(|run| padded(run, plan))
        .collect();
    let best = tcp_best(&of_seed).ok_or_else(missing)?;
    let ours = of_seed
        .iter()
        .find(|run| run.policy.is_ours())
        .ok_or_else(missing)?;
    Ok(Walk {
        versus_best: versus_best(ours, &best).ok_or_else(missing)?,
        versus_optimal: ours.versus_optimal().ok_or_else(missing)?,
        longest_stall_ms: ours.longest_stall_ms(),
    })
}

/// A run as long as the walk, of which the part that was not played moved nothing.
fn padded(run: &Run, plan: &Plan) -> Run {
    Run {
        duration_s: plan.duration.as_secs_f64(),
        ..run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_over_one_link_ends_with_the_last_window_in_which_it_can_be_the_best() {
        let trials = trials(&plan().unwrap(), 1);
        let seconds: Vec<(String, u64)> = trials
            .iter()
            .map(|trial| (trial.policy.to_string(), trial.plan.duration.as_secs()))
            .collect();
        let expected = [
            ("tcp:ap1", 10),
            ("tcp:ap2", 20),
            ("tcp:ap3", 30),
            ("tcp:ap4", 60),
            ("tcp:ap5", 60),
            ("tcp:lte", 60),
            ("slowhand", 60),
        ];
        assert_eq!(
            seconds,
            expected.map(|(name, seconds)| (name.to_owned(), seconds))
        );
    }

    #[test]
    fn a_run_that_was_cut_short_counts_in_its_own_windows_only() {
        let plan = plan().unwrap();
        let run = |policy: &str, bins: usize, each: u64| Run {
            policy: policy.parse().unwrap(),
            duration_s: bins as f64 / 10.0,
            goodput_series: vec![each; bins],
            ..trial::Observed::blank().run
        };
        let runs = [run("tcp:ap1", 100, 5), run("tcp:lte", 600, 3)].map(|run| padded(&run, &plan));
        let best = tcp_best(&runs).unwrap();
        assert_eq!(best.goodput_series.len(), 600);
        assert_eq!(best.bytes(), 100 * 5 + 500 * 3);
    }
}
