//! Statistics over many trials.

use serde_json::{Map, Value};
use show::tell;
use trace::{BenchRow, PolicyName, SERIES_BIN};
use units::{Duration, Instant};

use crate::trial::{Observed, Trial};

/// Time in which a connection starts. After it, goodput is steady.
pub const FIRST: Duration = Duration::from_secs(5);

/// The median.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        length => f64::midpoint(sorted[(length - 1) / 2], sorted[length / 2]),
    }
}

/// The least figure that 99 % do not exceed.
pub fn p99(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * 99).div_ceil(100);
    rank.checked_sub(1).map_or(f64::NAN, |index| sorted[index])
}

/// The minimum.
pub fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The maximum.
pub fn most(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Mean rate of a series of [`SERIES_BIN`]s between two moments, in Mb/s. Leaves out an incomplete bin at the
/// end.
pub fn mean_mbps(series: &[u64], from: Duration, to: Duration) -> f64 {
    let bin = |at: Duration| (at.as_nanos() / SERIES_BIN.as_nanos()) as usize;
    let (from, to) = (bin(from), bin(to));
    let bytes: u64 = series.iter().take(to).skip(from).sum();
    let time = SERIES_BIN.as_secs_f64() * to.saturating_sub(from) as f64;
    bytes as f64 * 8e-6 / time.max(f64::MIN_POSITIVE)
}

/// Time since the start of the run.
pub fn since_start(at: Instant) -> Duration {
    at.since(Instant::ZERO)
}

/// Number of trials in which one link carried everything: the connection fell back to plain TCP, or no
/// subflow joined it.
pub fn over_one_link<'o>(observed: impl IntoIterator<Item = &'o Observed>) -> usize {
    let runs = observed.into_iter();
    runs.filter(|seen| seen.went_over_one_link()).count()
}

/// Numbers of ours and of stock's runs in which one link carried everything.
pub fn pairs_over_one_link(pairs: &[(&Observed, &Observed)]) -> [usize; 2] {
    [
        over_one_link(pairs.iter().map(|(ours, _)| *ours)),
        over_one_link(pairs.iter().map(|(_, stock)| *stock)),
    ]
}

/// Ours over theirs, where theirs counts for no more than the links can carry.
pub fn against(ours: f64, theirs: f64, limit: f64) -> f64 {
    ours / theirs.min(limit)
}

/// Our run and the stock kernel's of the same plan, in turn.
pub fn both(plan: &scenario::Plan, seed: u64) -> [Trial; 2] {
    [PolicyName::Slowhand, PolicyName::Mptcp].map(|policy| Trial {
        plan: plan.clone(),
        policy,
        seed,
    })
}

/// Takes the worst value of each figure over these rows, one per controller, where less is better: each
/// controller must meet every limit.
pub fn worst(row: BenchRow, each: &[BenchRow]) -> BenchRow {
    let worse = |figure: fn(&BenchRow) -> Option<f64>| each.iter().filter_map(figure).reduce(f64::max);
    BenchRow {
        ours: worse(|row| row.ours),
        p50: worse(|row| row.p50),
        p99: worse(|row| row.p99),
        min: worse(|row| row.min),
        max: worse(|row| row.max),
        runs: each.iter().map(|row| row.runs).min().unwrap_or(0),
        ..row
    }
}

/// Prints the figures of one part of a long benchmark on standard error at once. They are then known even if
/// a later part fails.
pub fn tell(bench: &str, part: &Value) {
    tell!("{bench}: {part}");
}

/// A value for a field, rounded to the digits that matter.
pub fn rounded(figure: f64) -> Value {
    Value::from((figure * 1e4).round() / 1e4)
}

/// A JSON object of figures.
pub fn object(fields: &[(&str, Value)]) -> Value {
    let fields = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    Value::Object(Map::from_iter(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Better;

    #[test]
    fn every_figure_is_the_worse_controllers() {
        let row = |figures: &[f64]| BenchRow::new("", "ms", Better::Lower).trials(figures);
        let worst = worst(
            crate::catalogue::row("window-equal"),
            &[row(&[1.0, 2.0, 9.0]), row(&[3.0, 4.0])],
        );
        assert_eq!((worst.name.as_str(), worst.runs), ("window-equal", 2));
        assert_eq!((worst.ours, worst.p50), (Some(3.5), Some(3.5)));
        assert_eq!((worst.min, worst.max), (Some(3.0), Some(9.0)));
    }

    #[test]
    fn means_count_whole_bins_only() {
        let series = [1_000, 2_000, 3_000, 4_000];
        let ms = Duration::from_millis;
        assert!((mean_mbps(&series, ms(100), ms(390)) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_faster_rival_than_the_links_is_cut_to_what_they_carry() {
        assert!((against(90.0, 120.0, 100.0) - 0.9).abs() < 1e-9);
        assert!((against(90.0, 45.0, 100.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert!((p99(&[1.0, 3.0, 2.0]) - 3.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }
}
