//! The figures of the study: the sorted combinations, goodput over other flows, and over access points.

use trace::{PaperFigure, PaperSeries};

use super::cases::{OTHER_FLOWS, OTHERS};
use super::{BEST_TWO, POLICIES, Percent, Results, mean};

/// Every figure, in the order of the page.
pub(super) fn all(results: &Results) -> Vec<PaperFigure> {
    let shown = results
        .second_mbps
        .iter()
        .zip(POLICIES.into_iter().chain(["tcp:good"]));
    let mut mixed = named(&results.more[1], over_others);
    mixed.push(over_others(BEST_TWO, &results.best_two));
    let second = shown.map(|(values, name)| series(name, OTHER_FLOWS.map(f64::from), values));
    vec![
        figure(
            "Scenario 1: the 120 combinations, each policy's in ascending order",
            "combination",
            PERCENT,
            named(&results.first, sorted),
        ),
        figure(
            "Scenario 2: other flows behind the good access point",
            "other flows",
            "goodput, Mb/s",
            second.collect(),
        ),
        figure(
            "Poor access points beside a good one",
            "other access points",
            PERCENT,
            named(&results.more[0], over_others),
        ),
        figure(
            "Mixed access points beside a good one",
            "other access points",
            PERCENT,
            mixed,
        ),
    ]
}

const PERCENT: &str = "goodput, % of the good one alone";

fn figure(title: &str, x: &str, y: &str, series: Vec<PaperSeries>) -> PaperFigure {
    PaperFigure {
        id: "steering".to_owned(),
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        series,
    }
}

fn named(all: &[Vec<Vec<Percent>>], draw: impl Fn(&str, &[Vec<Percent>]) -> PaperSeries) -> Vec<PaperSeries> {
    let all = POLICIES.into_iter().zip(all);
    all.map(|(policy, cases)| draw(policy, cases)).collect()
}

fn sorted(policy: &str, cases: &[Vec<Percent>]) -> PaperSeries {
    let mut means: Vec<f64> = cases.iter().map(|runs| mean(runs)).collect();
    means.sort_by(f64::total_cmp);
    series(policy, (1..=means.len()).map(|place| place as f64), &means)
}

fn over_others(policy: &str, cases: &[Vec<Percent>]) -> PaperSeries {
    let means: Vec<f64> = cases.iter().map(|runs| mean(runs)).collect();
    series(policy, OTHERS.map(|others| others as f64), &means)
}

fn series(name: &str, places: impl IntoIterator<Item = f64>, values: &[f64]) -> PaperSeries {
    let points = places.into_iter().zip(values);
    PaperSeries {
        name: name.to_owned(),
        published: false,
        level: false,
        points: points.map(|(x, value)| [x, *value]).collect(),
    }
}
