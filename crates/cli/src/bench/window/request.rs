//! `window-request`: how long small requests take beside a download that shares their links.
//!
//! A request that was due while the one before was still unanswered counts from when it was due. One that was not answered when the run ended counts
//! with what it had waited by then, if that is longer than requests are apart: it took longer, and what had just been written says nothing.

use scenario::{Flow, Plan, Transport, Work};
use trace::{BenchRow, Better};
use units::{Bytes, Duration, Instant};

use super::figures::{self, FIRST, most, p99, rounded};
use super::rows::{self, Row};
use crate::bench::Setup;
use crate::bench::trial::{self, Doubts, Observed, Trial};

/// Trials of each policy with each controller, pooled.
const TRIALS: u32 = 5;
/// First the connections start; then a minute counts.
const LASTS: Duration = Duration::from_secs(65);
const EVERY: Duration = Duration::from_millis(200);
const REQUEST: Bytes = Bytes::new(128);
const REPLY: Bytes = Bytes::new(4_096);
/// What is held to a bar; the other controllers are reported.
const JUDGED: &str = "reno";

/// The latencies of one set of links with one controller, in ms.
struct Pooled {
    name: &'static str,
    cc: String,
    ours: Vec<f64>,
    stock: Vec<f64>,
}

impl Pooled {
    fn ratio(&self) -> f64 {
        p99(&self.ours) / p99(&self.stock)
    }
}

/// Measures. The figure is the worse set of links with reno.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut pooled, mut doubts) = (Vec::new(), Doubts::default());
    for row in [rows::EQUAL, rows::DEEP] {
        let results = trial::each(trials(setup, row)?)?;
        doubts.add(results.doubts);
        pooled.extend(setup.controllers().map(|cc| pool(row, cc, &results.observed)));
    }
    Ok(vec![doubts.note(row(&pooled, setup.trials(TRIALS)))])
}

fn trials(setup: &Setup, row: Row) -> anyhow::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for cc in setup.controllers() {
        let plan = with_requests(row.plan(cc)?);
        for index in 0..u64::from(setup.trials(TRIALS)) {
            trials.extend(figures::both(&plan, setup.seed + index));
        }
    }
    Ok(trials)
}

fn with_requests(mut plan: Plan) -> Plan {
    plan.duration = LASTS;
    plan.flows.push(Flow {
        name: "requests".to_owned(),
        by: 0,
        transport: Transport::Mptcp,
        cc: None,
        start: Duration::ZERO,
        work: Work::Requests {
            every: EVERY,
            request: REQUEST,
            reply: REPLY,
        },
    });
    plan
}

fn pool(row: Row, cc: &str, observed: &[Observed]) -> Pooled {
    let pairs = figures::pairs(observed, cc);
    Pooled {
        name: row.name,
        cc: cc.to_owned(),
        ours: pairs.iter().flat_map(|(ours, _)| latencies(ours)).collect(),
        stock: pairs.iter().flat_map(|(_, stock)| latencies(stock)).collect(),
    }
}

/// Of all requests that are counted from after the first seconds, in ms.
fn latencies(observed: &Observed) -> impl Iterator<Item = f64> + '_ {
    let answered = observed.flows.iter().flat_map(|flow| &flow.requests);
    let unanswered = observed.flows.iter().flat_map(|flow| &flow.unanswered);
    answered
        .chain(unanswered.filter(|request| request.length() > EVERY))
        .filter(|request| request.from >= Instant::ZERO + FIRST)
        .map(|request| request.length().as_micros() as f64 / 1e3)
}

fn row(pooled: &[Pooled], trials: u32) -> BenchRow {
    let judged: Vec<f64> = pooled
        .iter()
        .filter(|pooled| pooled.cc == JUDGED)
        .map(Pooled::ratio)
        .collect();
    let row = BenchRow::new("window-request", "ratio", Better::Lower);
    let row = BenchRow {
        ours: (!judged.is_empty()).then(|| most(&judged)),
        runs: trials.into(),
        ..row
    };
    pooled.iter().fold(row, |row, pooled| {
        let key = |figure: &str| {
            format!(
                "{}_{}_{figure}",
                pooled.name.trim_start_matches("window-"),
                pooled.cc
            )
        };
        row.with(&key("ratio"), rounded(pooled.ratio()))
            .with(&key("p99_ms"), rounded(p99(&pooled.ours)))
            .with(&key("stock_p99_ms"), rounded(p99(&pooled.stock)))
            .with(&key("p50_ms"), rounded(figures::median(&pooled.ours)))
            .with(&key("stock_p50_ms"), rounded(figures::median(&pooled.stock)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_links_with_reno_are_quoted() {
        let pooled = |name, cc: &str, ours: f64| Pooled {
            name,
            cc: cc.to_owned(),
            ours: vec![ours],
            stock: vec![100.0],
        };
        let row = row(
            &[
                pooled("window-equal", "reno", 50.0),
                pooled("window-deep", "reno", 60.0),
                pooled("window-deep", "bbr", 90.0),
            ],
            5,
        );
        assert_eq!(row.ours, Some(0.6));
        assert_eq!(row.extra["deep_bbr_ratio"], 0.9);
    }
}
