//! The curves of figure 5 and of its second experiments.

use trace::{PaperFigure, PaperSeries};

use super::{Sample, Summary, WINDOW};

fn ours(name: &str, points: Vec<[f64; 2]>) -> PaperSeries {
    PaperSeries {
        name: name.to_owned(),
        published: false,
        points,
    }
}

fn figure(title: &str, x: &str, y: &str, series: Vec<PaperSeries>) -> PaperFigure {
    PaperFigure {
        id: "nsdi15-fig5".to_owned(),
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        series,
    }
}

pub(super) fn over_time(samples: &[Sample]) -> PaperFigure {
    let at = |place: usize| (place + 1) as f64 * WINDOW.as_secs_f64();
    let truth = samples
        .iter()
        .enumerate()
        .map(|(place, sample)| [at(place), sample.truth]);
    let known = samples
        .iter()
        .enumerate()
        .filter_map(|(place, sample)| Some([at(place), sample.estimate?]));
    figure(
        "Two minutes at low power, two at full power",
        "time, s",
        "delivery probability",
        vec![
            ours("counted at the sender", truth.collect()),
            ours("estimated by the client", known.collect()),
        ],
    )
}

pub(super) fn over_power(title: &str, powers: &[(i32, Summary)]) -> PaperFigure {
    let curve = |value: &dyn Fn(&Summary) -> f64| {
        powers
            .iter()
            .map(|(dbm, summary)| [f64::from(*dbm), value(summary)])
            .collect()
    };
    figure(
        title,
        "transmit power, dBm",
        "mean error, points; delivery probability, %",
        vec![
            ours("mean error", curve(&|summary| summary.mean_error)),
            ours("delivery probability", curve(&|summary| 100.0 * summary.truth)),
        ],
    )
}

pub(super) fn by_pace(hidden_mbps: &str, paces: &[(f64, Summary)]) -> PaperFigure {
    let curve = |value: &dyn Fn(&Summary) -> f64| {
        paces
            .iter()
            .map(|(mbps, summary)| [*mbps, value(summary)])
            .collect()
    };
    figure(
        &format!("A hidden access point sends at {hidden_mbps} Mb/s"),
        "hidden traffic, Mb/s",
        "delivery probability",
        vec![
            ours("counted at the sender", curve(&|summary| summary.truth)),
            ours("estimated by the client", curve(&|summary| summary.estimate)),
        ],
    )
}
