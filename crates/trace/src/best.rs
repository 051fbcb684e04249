//! The row `tcp-best`: what a host with one plain TCP connection at a time could reach if it always knew the
//! best link.
//!
//! # Sources
//! - MobiArch '11, "Optimal TCP": per 10 s the best single path, no cost of switching.
//!
//! # Where we differ, and why
//! 1. Windows are counted from scenario time 0 and include the gap before the first byte, so that every
//!    policy is measured by the same clock. Only whole windows count.
//! 2. If the run has a warm-up, windows begin at its end.

use crate::{Flow, PolicyName, Run, SERIES_BIN};
use units::{Bytes, Duration};

/// How often the omniscient host may choose again.
pub const BEST_WINDOW: Duration = Duration::from_secs(10);

const BINS_PER_WINDOW: usize = (BEST_WINDOW.as_nanos() / SERIES_BIN.as_nanos()) as usize;

/// Computes the run: for every whole [`BEST_WINDOW`], the most that any `tcp:<link>` run among `runs` moved
/// in it.
///
/// All runs must belong to one comparison with one seed. `None` if there is no such run, or if the shortest
/// one is not a whole window long. Stalls do not apply and are zero; `longest_stall_ms` of this row is
/// meaningless.
pub fn tcp_best(runs: &[Run]) -> Option<Run> {
    let singles: Vec<&Run> = runs
        .iter()
        .filter(|run| run.policy.only_link().is_some())
        .collect();
    let first = singles.first()?;
    let windows = singles
        .iter()
        .map(|run| whole_windows(run))
        .min()
        .filter(|windows| *windows > 0)?;
    let per_window: Vec<Vec<u64>> = (0..windows).map(|window| best_bins(&singles, window)).collect();
    Some(computed(
        first,
        [vec![0; warm_bins(first)], per_window.concat()].concat(),
        singles.iter().all(|run| run.intact()),
    ))
}

/// Bytes of `run` divided by bytes of `best`, both within the whole windows that `best` covers. `None` if
/// `best` moved nothing.
pub fn versus_best(run: &Run, best: &Run) -> Option<f64> {
    let bins = warm_bins(best)..best.goodput_series.len();
    let theirs: u64 = best.goodput_series.iter().sum();
    let ours: u64 = run.goodput_series.iter().take(bins.end).skip(bins.start).sum();
    (theirs > 0).then(|| ours as f64 / theirs as f64)
}

fn whole_windows(run: &Run) -> usize {
    (run.counted_s() / BEST_WINDOW.as_secs_f64() + 1e-6) as usize
}

/// Bins of the series that begin before anything counts.
fn warm_bins(run: &Run) -> usize {
    (run.warmup_s / SERIES_BIN.as_secs_f64() - 1e-6).ceil() as usize
}

fn window_of(run: &Run, window: usize) -> &[u64] {
    let series = &run.goodput_series;
    let from = (warm_bins(run) + window * BINS_PER_WINDOW).min(series.len());
    let to = (from + BINS_PER_WINDOW).min(series.len());
    &series[from..to]
}

fn best_bins(singles: &[&Run], window: usize) -> Vec<u64> {
    let best = singles
        .iter()
        .map(|run| window_of(run, window))
        .max_by_key(|bins| bins.iter().sum::<u64>());
    let mut bins = best.unwrap_or_default().to_vec();
    bins.resize(BINS_PER_WINDOW, 0);
    bins
}

fn computed(like: &Run, series: Vec<u64>, intact: bool) -> Run {
    let bytes = Bytes::new(series.iter().sum());
    let duration = SERIES_BIN * series.len() as u32;
    let counted = duration - SERIES_BIN * warm_bins(like) as u32;
    let name = like.flows.first().map(|flow| flow.name.clone());
    let flow = Flow {
        name: name.unwrap_or_default(),
        bytes: bytes.get(),
        goodput_mbps: bytes.per(counted).as_mbps_f64(),
        intact: Some(intact),
        ..Flow::default()
    };
    Run {
        case: like.case.clone(),
        cc: like.cc.clone(),
        server: like.server.clone(),
        warmup_s: like.warmup_s,
        optimal_mbps: like.optimal_mbps,
        goodput_series: series,
        notes: vec!["computed: in every 10 s, the best tcp:<link> run".to_owned()],
        ..Run::of_flows(PolicyName::TcpBest, like.seed, duration.as_secs_f64(), vec![flow])
    }
}
