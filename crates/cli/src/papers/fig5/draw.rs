//! The curves of figure 5 and of its second experiments, beside what the paper says of all of each.

use trace::{PaperFigure, PaperSeries};

use super::{HIDDEN_MBPS, Paces, Powers, Published, Results, Sample, Summary, WINDOW};

/// Every figure, in the order of the page.
pub(super) fn all(results: &Results, published: &Published) -> Vec<PaperFigure> {
    let joined = results.joined();
    let (error, error_n) = (published.mean_error, published.mean_error_n);
    let mut figures = vec![
        over_time(&joined),
        error_over_time(&joined, error),
        over_power(
            "Powers that give a delivery probability between 0.3 and 1",
            &results.powers,
            error,
        ),
        overestimates(&results.sparse, published.sparse_overestimate),
    ];
    let hidden = HIDDEN_MBPS.into_iter().zip(&results.sparse);
    figures.extend(hidden.map(|(mbps, paces)| by_pace(mbps, paces)));
    let of_n = [
        ("802.11n with Minstrel-HT", &results.of_n),
        ("802.11n with Minstrel-HT, fading within 100 ms", &results.walking),
        ("802.11n with Minstrel-HT, fading within 1 s", &results.sitting),
    ];
    figures.extend(of_n.map(|(title, powers)| over_power(title, powers, error_n)));
    figures
}

fn ours(name: &str, points: Vec<[f64; 2]>) -> PaperSeries {
    PaperSeries {
        name: name.to_owned(),
        published: false,
        level: false,
        points,
    }
}

/// What the paper says of all of it, as wide as ours is.
fn level(name: &str, value: f64, ours: &[PaperSeries]) -> PaperSeries {
    let places = ours
        .iter()
        .flat_map(|series| &series.points)
        .map(|point| point[0]);
    let ends = places.fold(None, |ends: Option<(f64, f64)>, x| {
        Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
    });
    PaperSeries {
        name: name.to_owned(),
        published: true,
        level: true,
        points: ends.map_or_else(Vec::new, |(low, high)| vec![[low, value], [high, value]]),
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

fn over_time(samples: &[Sample]) -> PaperFigure {
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

/// How far the estimate is off in each half second and in the mean, beside the published mean.
fn error_over_time(samples: &[Sample], published: f64) -> PaperFigure {
    let at = |place: usize| (place + 1) as f64 * WINDOW.as_secs_f64();
    let known = samples.iter().enumerate();
    let errors = known.filter_map(|(place, sample)| Some([at(place), sample.error()?.abs()]));
    let mean = Summary::of(samples).mean_error;
    let mut series = vec![
        ours("|estimate − count|", errors.collect()),
        ours(
            "its mean",
            vec![[at(0), mean], [WINDOW.as_secs_f64() * samples.len() as f64, mean]],
        ),
    ];
    series.push(level("published mean", published, &series));
    figure(
        "Error of the estimate: two minutes at low power, two at full power",
        "time, s",
        "error, points",
        series,
    )
}

fn over_power(title: &str, powers: &Powers, published: f64) -> PaperFigure {
    let curve = |value: &dyn Fn(&Summary) -> f64| {
        powers
            .iter()
            .map(|(dbm, summary)| [f64::from(*dbm), value(summary)])
            .collect()
    };
    let mut series = vec![
        ours("mean error", curve(&|summary| summary.mean_error)),
        ours("delivery probability", curve(&|summary| 100.0 * summary.truth)),
    ];
    series.push(level("published mean error", published, &series));
    figure(
        title,
        "transmit power, dBm",
        "mean error, points; delivery probability, %",
        series,
    )
}

/// The overestimate at each pace and rate of hidden traffic, beside the published value, whose pace and rate
/// are unknown.
fn overestimates(sparse: &[Paces], published: f64) -> PaperFigure {
    let curve = |(mbps, paces): (&str, &Paces)| {
        let points = paces
            .iter()
            .map(|(pace, summary)| [*pace, summary.overestimate()]);
        ours(&format!("hidden frames at {mbps} Mb/s"), points.collect())
    };
    let mut series: Vec<PaperSeries> = HIDDEN_MBPS.into_iter().zip(sparse).map(curve).collect();
    series.push(level("published", published, &series));
    figure(
        "Overestimate beside a hidden access point",
        "hidden traffic, Mb/s",
        "overestimate, points",
        series,
    )
}

fn by_pace(hidden_mbps: &str, paces: &Paces) -> PaperFigure {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_lines_span_our_curves() {
        let ours = [
            ours("a", vec![[2.0, 50.0], [4.0, 60.0]]),
            ours("b", vec![[-1.0, 1.0]]),
        ];
        let drawn = level("theirs", 3.0, &ours);
        assert_eq!(drawn.points, [[-1.0, 3.0], [4.0, 3.0]]);
        assert!(drawn.published && drawn.level);
        assert!(level("theirs", 3.0, &[]).points.is_empty());
    }
}
