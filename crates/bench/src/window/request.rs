//! `window-request`: latency of small requests beside a download that shares their links.
//!
//! A request that was due while the one before was unanswered counts from when it was due. A request
//! unanswered at the end of the run counts with its wait so far, if that exceeds the interval of requests. A
//! shorter wait says nothing, since the request has just been sent.

use scenario::{Flow, Plan, Transport, Work};
use trace::BenchRow;
use units::{Bytes, Duration, Instant};

use super::figures::{self, FIRST, most, p99, rounded};
use super::rows::{self, Row};
use super::together::Pairs;
use crate::declaration::Setup;
use crate::trial::{Doubts, Observed};

/// Length of a run: the connections start, then a minute counts.
const LASTS: Duration = Duration::from_secs(65);
const EVERY: Duration = Duration::from_millis(200);
const REQUEST: Bytes = Bytes::new(128);
const REPLY: Bytes = Bytes::new(4_096);
/// The controller held to a limit. The others are only reported.
const JUDGED: &str = "reno";

/// Latencies on one set of links with one controller, in ms.
struct Pooled {
    name: &'static str,
    cc: String,
    /// Number of pairs of trials.
    pairs: usize,
    /// Trials of ours and of stock's in which the download used one link only.
    one_link: [usize; 2],
    ours: Vec<f64>,
    stock: Vec<f64>,
}

impl Pooled {
    fn ratio(&self) -> f64 {
        p99(&self.ours) / p99(&self.stock)
    }
}

/// Runs the benchmark. The figure is the worse set of links with reno.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let (mut pooled, mut doubts) = (Vec::new(), Doubts::default());
    for row in [rows::EQUAL, rows::DEEP] {
        let pairs = Pairs {
            setup,
            seed: setup.seed,
            plan: &|nth, _| Ok(with_requests(row.plan(&nth.cc)?)),
            holds: &|_| Ok(()),
        };
        let results = pairs.measure()?;
        let of_each = setup.controllers().map(|cc| pool(row, cc, &results.pairs(cc)));
        pooled.extend(of_each);
        doubts.add(results.doubts);
    }
    Ok(vec![doubts.note(row(setup.only_row(), &pooled))])
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

fn pool(row: Row, cc: &str, pairs: &[(&Observed, &Observed)]) -> Pooled {
    Pooled {
        name: row.name,
        cc: cc.to_owned(),
        pairs: pairs.len(),
        one_link: figures::pairs_over_one_link(pairs),
        ours: pairs.iter().flat_map(|(ours, _)| latencies(ours)).collect(),
        stock: pairs.iter().flat_map(|(_, stock)| latencies(stock)).collect(),
    }
}

/// Latencies of all requests after the first seconds, in ms.
fn latencies(observed: &Observed) -> impl Iterator<Item = f64> + '_ {
    let answered = observed.flows.iter().flat_map(|flow| &flow.requests);
    let unanswered = observed.flows.iter().flat_map(|flow| &flow.unanswered);
    answered
        .chain(unanswered.filter(|request| request.length() > EVERY))
        .filter(|request| request.from >= Instant::ZERO + FIRST)
        .map(|request| request.length().as_micros() as f64 / 1e3)
}

fn row(blank: BenchRow, pooled: &[Pooled]) -> BenchRow {
    let judged = pooled.iter().filter(|pooled| pooled.cc == JUDGED);
    let ratios: Vec<f64> = judged.map(Pooled::ratio).collect();
    // If no request was answered, there is no ratio, and the worse set is unknown.
    let is_known = !ratios.is_empty() && ratios.iter().all(|ratio| ratio.is_finite());
    let row = BenchRow {
        ours: is_known.then(|| most(&ratios)),
        runs: pooled.iter().map(|pooled| pooled.pairs as u64).min().unwrap_or(0),
        ..blank
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
            .with(&key("one_link"), pooled.one_link[0])
            .with(&key("stock_one_link"), pooled.one_link[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::world::FlowDetail;
    use trace::Stall;

    #[test]
    fn requests_go_beside_the_download_as_defined() {
        let plan = with_requests(rows::DEEP.plan("reno").unwrap());
        let [download, requests] = &plan.flows[..] else {
            panic!("{:?}", plan.flows)
        };
        assert!(matches!(download.work, Work::Download { .. }));
        assert_eq!(
            (requests.transport, requests.start),
            (Transport::Mptcp, Duration::ZERO)
        );
        let work = Work::Requests {
            every: Duration::from_millis(200),
            request: Bytes::new(128),
            reply: Bytes::new(4_096),
        };
        assert_eq!((requests.work, plan.duration), (work, Duration::from_secs(65)));
    }

    #[test]
    fn what_was_written_after_five_seconds_counts_and_what_was_left_for_long_too() {
        let ms = Instant::from_millis;
        let stall = |from, to| Stall {
            from: ms(from),
            to: ms(to),
        };
        let detail = |requests, unanswered| FlowDetail {
            series: Vec::new(),
            waits: vec![stall(20_000, 21_000)],
            requests,
            unanswered,
        };
        let seen = Observed {
            flows: vec![
                detail(Vec::new(), Vec::new()),
                detail(
                    vec![stall(4_999, 5_900), stall(5_000, 5_040), stall(6_000, 6_100)],
                    vec![stall(64_000, 65_000), stall(64_800, 65_000)],
                ),
            ],
            ..Observed::blank()
        };
        assert_eq!(latencies(&seen).collect::<Vec<_>>(), [40.0, 100.0, 1_000.0]);
    }

    #[test]
    fn the_worse_links_with_reno_are_quoted() {
        let pooled = |name, cc: &str, ours: f64| Pooled {
            name,
            cc: cc.to_owned(),
            pairs: if cc == "bbr" { 4 } else { 5 },
            one_link: [0, 1],
            ours: vec![ours],
            stock: vec![100.0],
        };
        let mut all = vec![
            pooled("window-equal", "reno", 50.0),
            pooled("window-deep", "reno", 60.0),
            pooled("window-deep", "bbr", 90.0),
        ];
        let blank = crate::catalogue::row("window-request");
        let quoted = row(blank.clone(), &all);
        assert_eq!((quoted.ours, quoted.runs), (Some(0.6), 4));
        assert_eq!(quoted.extra["deep_bbr_ratio"], 0.9);
        all[1].ours.clear();
        assert_eq!(
            row(blank.clone(), &all).ours,
            None,
            "one of the two was not measured"
        );
    }
}
