//! Goodput of the first seconds and after them, and the longest gap after a silent cut of the fastest link.
//!
//! The seconds and the cut count from connect, which comes at most [`connect::LATEST`] after the moment that they are counted from here; a
//! trial in which it comes later gives no result.

use trace::{BenchRow, Better, What};
use units::{Duration, Instant};

use super::connect;
use super::figures::{self, FIRST, against, mean_mbps, median, most, rounded, since_start};
use super::rows::{self, Row};
use super::together::Pairs;
use crate::bench::trial::Observed;
use crate::bench::{Setup, gap};

/// Trials of each policy with each controller.
const TRIALS: u32 = 20;

/// Three equal links with ordinary queues.
pub fn equal(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::EQUAL)
}

/// Three equal links with short queues.
pub fn bdp(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::BDP)
}

/// A fast link and a long one.
pub fn long(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::LONG)
}

/// A link behind a buffer of a second.
pub fn deep(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::DEEP)
}

/// A thin link beside two fast ones.
pub fn thin(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::THIN)
}

/// The client sends.
pub fn upload(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::UPLOAD)
}

/// A link that loses and delays.
pub fn lossy(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::LOSSY)
}

/// What one trial came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Mean goodput of the first seconds, in Mb/s.
    pub first_mbps: f64,
    /// Mean goodput from then to the cut, in Mb/s.
    pub steady_mbps: f64,
    /// The longest gap after the cut, in ms.
    pub stall_ms: f64,
    /// From the cut to the first link that was given up, in ms.
    pub found_ms: Option<f64>,
}

impl Figures {
    /// Reads them off a trial whose only flow connects as the run begins.
    pub fn of(observed: &Observed) -> anyhow::Result<Self> {
        Self::around(observed, Duration::ZERO, gap::last_change(&observed.record)?.at)
    }

    /// The same, with a first flow that was to connect so long after the beginning, and a cut at that moment.
    pub fn around(observed: &Observed, connects: Duration, cut: Instant) -> anyhow::Result<Self> {
        connect::ensure_prompt(observed, connects)?;
        let flow = observed.only_flow()?;
        let removed = observed.record.events.iter().find(|event| {
            event.at() >= cut && matches!(&event.what, What::Decision { verb, .. } if verb == "remove")
        });
        let steady = connects + FIRST;
        Ok(Self {
            first_mbps: mean_mbps(&flow.series, connects, steady),
            steady_mbps: mean_mbps(&flow.series, steady, since_start(cut)),
            stall_ms: gap::longest_wait(&flow.waits, cut).as_micros() as f64 / 1e3,
            found_ms: removed.map(|event| event.at().since(cut).as_micros() as f64 / 1e3),
        })
    }
}

/// Ours over theirs, the median of all pairs; theirs counts for no more than the links can carry.
pub fn goodput(ours: &[Figures], stock: &[Figures], limit: f64, figure: fn(&Figures) -> f64) -> f64 {
    let pairs = ours.iter().zip(stock);
    let ratios = pairs.map(|(our, their)| against(figure(our), figure(their), limit));
    median(&ratios.collect::<Vec<_>>())
}

/// What all trials with one controller came to.
struct Verdict {
    cc: String,
    steady: f64,
    first: f64,
    ours: Vec<Figures>,
    stock: Vec<Figures>,
    /// How many of ours and of stock's went over one link only.
    one_link: [usize; 2],
}

fn measure(setup: &Setup, row: Row) -> anyhow::Result<Vec<BenchRow>> {
    let pairs = Pairs {
        setup,
        defined: TRIALS,
        seed: setup.seed,
        plan: &|nth, seed| Ok(row.cut(&row.plan(&nth.cc)?, nth.index as usize, seed)),
        holds: &|seen| Figures::of(seen).map(drop),
    };
    let results = pairs.measure()?;
    let verdicts: Vec<Verdict> = setup
        .controllers()
        .map(|cc| verdict(row, &results.pairs(cc), cc))
        .collect::<Result<_, _>>()?;
    let bench = verdicts.iter().fold(worst(row, &verdicts), with_fields);
    Ok(vec![results.doubts.note(bench)])
}

fn verdict(row: Row, pairs: &[(&Observed, &Observed)], cc: &str) -> anyhow::Result<Verdict> {
    let limit = rows::payload_limit_mbps(&row.plan(cc)?);
    let (mut ours, mut stock) = (Vec::new(), Vec::new());
    for (our, their) in pairs {
        ours.push(Figures::of(our)?);
        stock.push(Figures::of(their)?);
    }
    Ok(Verdict {
        steady: goodput(&ours, &stock, limit, |figures| figures.steady_mbps),
        first: goodput(&ours, &stock, limit, |figures| figures.first_mbps),
        cc: cc.to_owned(),
        one_link: [
            figures::over_one_link(pairs.iter().map(|(ours, _)| *ours)),
            figures::over_one_link(pairs.iter().map(|(_, stock)| *stock)),
        ],
        ours,
        stock,
    })
}

/// One figure of each trial.
pub fn each(figures: &[Figures], figure: fn(&Figures) -> f64) -> Vec<f64> {
    figures.iter().map(figure).collect()
}

/// The longest gap after the cut.
pub const fn stall(figures: &Figures) -> f64 {
    figures.stall_ms
}

/// The row: of every figure of the stall the worse controller's.
fn worst(row: Row, verdicts: &[Verdict]) -> BenchRow {
    let rows: Vec<BenchRow> = verdicts
        .iter()
        .map(|verdict| BenchRow::new(row.name, "ms", Better::Lower).trials(&each(&verdict.ours, stall)))
        .collect();
    figures::worst(BenchRow::new(row.name, "ms", Better::Lower), &rows)
}

fn with_fields(row: BenchRow, verdict: &Verdict) -> BenchRow {
    let cc = &verdict.cc;
    let (ours, stock) = (&verdict.ours, &verdict.stock);
    let found: Vec<f64> = ours.iter().filter_map(|figures| figures.found_ms).collect();
    let fields = [
        ("steady", verdict.steady),
        ("first_5s", verdict.first),
        ("stall_p50_ms", median(&each(ours, stall))),
        ("stall_max_ms", most(&each(ours, stall))),
        ("stock_stall_p50_ms", median(&each(stock, stall))),
        ("stock_stall_max_ms", most(&each(stock, stall))),
        ("steady_mbps", median(&each(ours, |figures| figures.steady_mbps))),
        (
            "stock_steady_mbps",
            median(&each(stock, |figures| figures.steady_mbps)),
        ),
        ("first_5s_mbps", median(&each(ours, |figures| figures.first_mbps))),
        (
            "stock_first_5s_mbps",
            median(&each(stock, |figures| figures.first_mbps)),
        ),
        ("found_p50_ms", median(&found)),
    ];
    let row = fields.iter().fold(row, |row, (name, figure)| {
        row.with(&format!("{cc}_{name}"), rounded(*figure))
    });
    row.with(&format!("{cc}_not_found"), ours.len() - found.len())
        .with(&format!("{cc}_one_link"), verdict.one_link[0])
        .with(&format!("{cc}_stock_one_link"), verdict.one_link[1])
}
