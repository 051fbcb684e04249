//! nsdi15, §7.1: clients that switch between three channels, each for itself. A fluid model, as the paper's.

mod fluid;
mod scenario_file;

use anyhow::Context as _;
use trace::{PaperFigure, PaperSeries};

use super::folder::{Figures, Folder};
use super::{Experiment, Report};
use fluid::{Setting, share};
use scenario_file::{Scenario, Variant};

const SCENARIO: &str = include_str!("../../../../papers/nsdi15-users/scenario.toml");

/// One value for each number of users.
type Curve = Vec<[f64; 2]>;

/// Runs all of it.
pub(super) fn run(folder: &Folder, report: Report<'_>) -> anyhow::Result<Experiment> {
    let scenario = Scenario::read(SCENARIO)?;
    let curves = (scenario.cycles_ms.len() + scenario.variants.len()) as f64;
    let mut swept: Vec<Curve> = Vec::new();
    for &ms in &scenario.cycles_ms {
        swept.push(curve(&scenario, |users| Setting::new(&scenario, users, ms))?);
        report(swept.len() as f64 / curves);
    }
    let mean = mean(&swept);
    let mut measured: Figures = scenario
        .users
        .iter()
        .zip(&mean)
        .map(|(users, point)| (format!("users_{users}"), point[1]))
        .collect();
    let at_three = measured.get("users_3").context(
        "papers/nsdi15-users/scenario.toml: the claims are about three users, so `users` must contain 3",
    )?;
    measured.insert("lost_at_three".to_owned(), 1.0 - at_three / 100.0);
    let mut series = vec![ours("ours, mean over C".to_owned(), mean)];
    let cycles = scenario.cycles_ms.iter().zip(swept);
    series.extend(cycles.map(|(ms, points)| ours(format!("C = {ms} ms"), points)));
    for variant in &scenario.variants {
        let points = curve(&scenario, |users| varied(&scenario, variant, users))?;
        series.push(ours(variant.name.clone(), points));
        // The mean is one of the series, and no curve of its own.
        report((series.len() - 1) as f64 / curves);
    }
    series.push(PaperSeries {
        name: "published".to_owned(),
        published: true,
        level: false,
        points: folder.points(),
    });
    let figure = PaperFigure {
        id: "nsdi15-users".to_owned(),
        title: scenario.sentence.trim_end_matches('.').to_owned(),
        x: "users".to_owned(),
        y: "total throughput, % of the optimum".to_owned(),
        series,
    };
    Ok(Experiment {
        measured,
        figures: vec![figure],
    })
}

const fn ours(name: String, points: Curve) -> PaperSeries {
    PaperSeries {
        name,
        published: false,
        level: false,
        points,
    }
}

/// Of several curves over the same numbers of users.
fn mean(curves: &[Curve]) -> Curve {
    let first = curves.first().into_iter().flatten();
    let of = |(place, [users, _]): (usize, &[f64; 2])| {
        let sum: f64 = curves.iter().map(|curve| curve[place][1]).sum();
        [*users, sum / curves.len() as f64]
    };
    first.enumerate().map(of).collect()
}

fn curve<'s>(scenario: &Scenario, setting: impl Fn(usize) -> Setting<'s>) -> anyhow::Result<Curve> {
    let users = scenario.users.iter();
    users
        .map(|&users| Ok([users as f64, percent(&setting(users))?]))
        .collect()
}

/// What the paper leaves open, one thing at a time.
fn varied<'s>(scenario: &'s Scenario, variant: &Variant, users: usize) -> Setting<'s> {
    Setting {
        alpha: variant.alpha.unwrap_or(scenario.alpha),
        deaf: variant.deaf,
        together: variant.together(),
        ..Setting::new(scenario, users, variant.cycle_ms)
    }
}

/// The clients' throughput in percent of the optimum, mean over the seeds.
fn percent(setting: &Setting<'_>) -> anyhow::Result<f64> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = (1..=setting.scenario.seeds).collect();
    let shares: Vec<f64> = sim::sweep(&seeds, cores, |&seed| share(setting, seed))
        .into_iter()
        .collect::<Result<_, _>>()?;
    Ok(100.0 * shares.iter().sum::<f64>() / shares.len() as f64)
}
