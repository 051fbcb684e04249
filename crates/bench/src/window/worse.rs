//! `window-never-worse`: long runs without a cut, against the stock kernel and against the best single link.

use scenario::Plan;
use serde_json::Value;
use trace::{BenchRow, PolicyName};
use units::Duration;

use super::figures::{self, object, rounded};
use super::rows::{self, Row};
use super::together::{self, Nth, Sets};
use crate::declaration::Setup;
use crate::trial::plans;
use crate::trial::{Doubts, Observed, Trial};

/// Length of each run but the walk's.
const TWO_MINUTES: Duration = Duration::from_secs(120);
/// A shorter gap counts as no stall.
const FREE_GAP_MS: f64 = 100.0;

/// Ours against the others, on one set of links.
struct Comparison {
    name: &'static str,
    cc: String,
    seed: u64,
    /// Late runs.
    late: usize,
    /// Whether ours and stock's used one link only.
    one_link: [bool; 2],
    versus_stock: f64,
    versus_best: f64,
    gap_ms: f64,
    stock_gap_ms: f64,
    /// Longest time for which the links themselves stood still because the machine did, in our run and in
    /// stock's.
    still_ms: [f64; 2],
}

/// Runs the benchmark. The figure is the smallest ratio, except for the slow link with bbr, whose loss
/// against stock is the slow link's share.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut comparisons, mut doubts) = (Vec::new(), Doubts::default());
    for row in rows::ALL {
        let (found, of_it) = compare(setup, row.name, &|cc| uncut(row, cc), 1)?;
        comparisons.extend(found);
        doubts.add(of_it);
    }
    let (found, of_it) = compare(setup, "building-walk", &walk, setup.trials())?;
    comparisons.extend(found);
    doubts.add(of_it);
    Ok(vec![doubts.note(row(setup.only_row(), &comparisons))])
}

fn uncut(row: Row, cc: &str) -> anyhow::Result<Plan> {
    Ok(Plan {
        duration: TWO_MINUTES,
        ..row.plan(cc)?
    })
}

fn walk(cc: &str) -> anyhow::Result<Plan> {
    let text = include_str!("../../../../scenarios/building-walk.toml");
    Ok(Plan {
        cc: cc.to_owned(),
        ..plans::embedded("building-walk", text)?
    })
}

/// Comparisons for each controller, as many as asked for, of which all runs gave a result.
fn compare(
    setup: &Setup,
    name: &'static str,
    plan: &dyn Fn(&str) -> anyhow::Result<Plan>,
    seeds: u32,
) -> anyhow::Result<(Vec<Comparison>, Doubts)> {
    let sets = Sets {
        places: Nth::all(setup, seeds.into()),
        trials: &|nth: &Nth, attempt| {
            let seed = nth.seed(setup.seed, attempt);
            Ok(everybody(&plan(&nth.cc)?, seed).collect())
        },
        play: &|trials, doubts| together::side_by_side(trials, &|_, _| Ok(()), doubts),
    };
    let results = sets.measure()?;
    let found = results
        .sets
        .iter()
        .map(|(nth, runs)| comparison(name, &nth.cc, runs));
    let found: Vec<Comparison> = found.collect();
    found
        .iter()
        .for_each(|found| figures::tell("window-never-worse", &found.to_value()));
    Ok((found, results.doubts))
}

fn everybody(plan: &Plan, seed: u64) -> impl Iterator<Item = Trial> + '_ {
    let alone = plan.links.iter().map(|link| PolicyName::Tcp(link.name.clone()));
    let all = [PolicyName::Slowhand, PolicyName::Mptcp].into_iter().chain(alone);
    all.map(move |policy| Trial {
        plan: plan.clone(),
        policy,
        seed,
    })
}

fn comparison(name: &'static str, cc: &str, runs: &[Observed]) -> Comparison {
    let of = |policy: &PolicyName| runs.iter().find(|seen| seen.run.policy == *policy);
    let mbps = |policy| of(policy).map_or(f64::NAN, |seen| seen.run.goodput_mbps());
    let gap = |policy| of(policy).map_or(f64::NAN, |seen| seen.run.longest_stall_ms());
    let still_ms = |policy| of(policy).map_or(f64::NAN, |seen| seen.lateness.max_us as f64 / 1e3);
    let one_link = |policy| of(policy).is_some_and(|seen| seen.went_over_one_link());
    let alone = runs.iter().filter(|seen| seen.run.policy.only_link().is_some());
    let best = alone.map(|seen| seen.run.goodput_mbps()).fold(0.0, f64::max);
    let ours = mbps(&PolicyName::Slowhand);
    Comparison {
        name,
        cc: cc.to_owned(),
        seed: runs.first().map_or(0, |seen| seen.run.seed),
        late: runs.iter().filter(|seen| seen.is_late()).count(),
        one_link: [one_link(&PolicyName::Slowhand), one_link(&PolicyName::Mptcp)],
        versus_stock: ours / mbps(&PolicyName::Mptcp),
        versus_best: ours / best,
        gap_ms: gap(&PolicyName::Slowhand),
        stock_gap_ms: gap(&PolicyName::Mptcp),
        still_ms: [still_ms(&PolicyName::Slowhand), still_ms(&PolicyName::Mptcp)],
    }
}

impl Comparison {
    /// Whether to report it separately. Stock uses the slow link, which ours keeps as a backup, and that
    /// costs goodput.
    fn is_apart(&self) -> bool {
        self.name == rows::THIN.name && self.cc == "bbr"
    }

    fn ratios(&self) -> Vec<f64> {
        match self.is_apart() {
            true => vec![self.versus_best],
            false => vec![self.versus_stock, self.versus_best],
        }
    }

    fn gap_is_over(&self) -> bool {
        self.gap_ms > self.stock_gap_ms.max(FREE_GAP_MS)
    }

    fn to_value(&self) -> Value {
        object(&[
            ("links", self.name.into()),
            ("cc", self.cc.as_str().into()),
            ("seed", self.seed.into()),
            ("late", self.late.into()),
            ("one_link", self.one_link[0].into()),
            ("stock_one_link", self.one_link[1].into()),
            ("versus_stock", rounded(self.versus_stock)),
            ("versus_best", rounded(self.versus_best)),
            ("gap_ms", rounded(self.gap_ms)),
            ("stock_gap_ms", rounded(self.stock_gap_ms)),
            ("still_ms", rounded(self.still_ms[0])),
            ("stock_still_ms", rounded(self.still_ms[1])),
        ])
    }
}

fn row(blank: BenchRow, comparisons: &[Comparison]) -> BenchRow {
    let ratios: Vec<f64> = comparisons.iter().flat_map(Comparison::ratios).collect();
    let row = blank.trials(&ratios);
    let thin: Vec<f64> = comparisons
        .iter()
        .filter(|comparison| comparison.is_apart())
        .map(|comparison| comparison.versus_stock)
        .collect();
    let over = comparisons
        .iter()
        .filter(|comparison| comparison.gap_is_over())
        .count();
    let each: Vec<Value> = comparisons.iter().map(Comparison::to_value).collect();
    BenchRow {
        ours: row.min,
        runs: comparisons.len() as u64,
        ..row
    }
    .with("thin_bbr_versus_stock", rounded(figures::median(&thin)))
    .with("gaps_over", over)
    .with("each", each)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(name: &'static str, cc: &str, versus_stock: f64, gap_ms: f64) -> Comparison {
        Comparison {
            name,
            cc: cc.to_owned(),
            seed: 1,
            late: 0,
            one_link: [false; 2],
            versus_stock,
            versus_best: 1.5,
            gap_ms,
            stock_gap_ms: 120.0,
            still_ms: [0.0; 2],
        }
    }

    #[test]
    fn every_link_alone_is_a_rival_and_the_best_of_them_counts() {
        let plan = uncut(rows::LONG, "bbr").unwrap();
        let all: Vec<String> = everybody(&plan, 7)
            .map(|trial| trial.policy.to_string())
            .collect();
        assert_eq!(all, ["slowhand", "mptcp", "tcp:a", "tcp:b"]);
        assert!(everybody(&plan, 7).all(|trial| trial.seed == 7 && trial.plan == plan));
        assert_eq!((plan.duration, plan.faults.len()), (Duration::from_secs(120), 0));
        let seen = everybody(&plan, 7).zip([(3_600, 90.0), (4_000, 120.0), (3_000, 0.0), (900, 500.0)]);
        let seen: Vec<Observed> = seen
            .map(|(trial, (kilobytes, stall))| {
                let mut seen = Observed::blank().with_download(1_000 * kilobytes, stall);
                seen.run.policy = trial.policy;
                seen
            })
            .collect();
        let found = comparison("window-long", "bbr", &seen);
        assert!((found.versus_stock - 0.9).abs() < 1e-9 && (found.versus_best - 1.2).abs() < 1e-9);
        assert_eq!((found.gap_ms, found.stock_gap_ms), (90.0, 120.0));
        assert!(!found.gap_is_over());
    }

    #[test]
    fn the_figure_is_the_smallest_ratio_and_the_thin_link_with_bbr_is_apart() {
        let row = row(
            crate::catalogue::row("window-never-worse"),
            &[
                compared("window-thin", "bbr", 0.93, 90.0),
                compared("window-thin", "reno", 1.2, 119.0),
                compared("window-equal", "bbr", 0.98, 130.0),
            ],
        );
        assert_eq!((row.ours, row.runs), (Some(0.98), 3));
        assert_eq!(row.extra["thin_bbr_versus_stock"], 0.93);
        assert_eq!(row.extra["gaps_over"], 1);
    }
}
