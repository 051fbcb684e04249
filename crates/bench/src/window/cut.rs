//! Goodput of the first seconds and after them, and the longest gap after a silent cut of the fastest link.
//!
//! The definitions count from connect, which is at most [`connect::LATEST`] after the moment used here. A
//! trial with a later connect gives no result.

use trace::{BenchRow, Event, What};
use units::{Duration, Instant};

use super::connect;
use super::figures::{self, FIRST, against, mean_mbps, median, most, rounded, since_start};
use super::rows::{self, Row};
use super::together::Pairs;
use crate::declaration::Setup;
use crate::trial::Observed;
use crate::trial::gap;

/// Three equal links with ordinary queues.
pub fn equal(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::EQUAL)
}

/// Three equal links with short queues.
pub fn bdp(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::BDP)
}

/// A fast link and one with a long round-trip time.
pub fn long(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::LONG)
}

/// A link behind a buffer of a second.
pub fn deep(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::DEEP)
}

/// A slow link beside two fast ones.
pub fn thin(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::THIN)
}

/// The client sends.
pub fn upload(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::UPLOAD)
}

/// A link with loss and delay.
pub fn lossy(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    measure(setup, rows::LOSSY)
}

/// Figures of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Mean goodput of the first seconds, in Mb/s.
    pub first_mbps: f64,
    /// Mean goodput from then to the cut, in Mb/s.
    pub steady_mbps: f64,
    /// The longest gap after the cut, in ms.
    pub stall_ms: f64,
    /// Time from the cut to the first removal of a link, in ms.
    pub found_ms: Option<f64>,
    /// Links removed while all delivered: from the first byte to the cut, slow start included.
    pub given_up_before: usize,
}

impl Figures {
    /// Reads the figures of a trial whose only flow connects as the run begins.
    pub fn of(observed: &Observed) -> anyhow::Result<Self> {
        Self::around(observed, Duration::ZERO, gap::last_change(&observed.record)?.at)
    }

    /// Reads the figures of a trial whose first flow was to connect at `connects` after the start, with a cut
    /// at `cut`.
    pub fn around(observed: &Observed, connects: Duration, cut: Instant) -> anyhow::Result<Self> {
        connect::ensure_prompt(observed, connects)?;
        let flow = observed.only_flow()?;
        let events = observed.record.events.iter();
        let removed =
            events.filter(|event| matches!(&event.what, What::Decision { verb, .. } if verb == "remove"));
        let (before, after): (Vec<&Event>, Vec<&Event>) = removed.partition(|event| event.at() < cut);
        let steady = connects + FIRST;
        Ok(Self {
            first_mbps: mean_mbps(&flow.series, connects, steady),
            steady_mbps: mean_mbps(&flow.series, steady, since_start(cut)),
            stall_ms: gap::longest_wait(&flow.waits, cut).as_micros() as f64 / 1e3,
            found_ms: after
                .first()
                .map(|event| event.at().since(cut).as_micros() as f64 / 1e3),
            given_up_before: before.len(),
        })
    }
}

/// Ours over theirs, the median of all pairs. Theirs counts for no more than the links can carry.
pub fn goodput(ours: &[Figures], stock: &[Figures], limit: f64, figure: fn(&Figures) -> f64) -> f64 {
    let pairs = ours.iter().zip(stock);
    let ratios = pairs.map(|(our, their)| against(figure(our), figure(their), limit));
    median(&ratios.collect::<Vec<_>>())
}

/// Figures of all trials with one controller.
struct Verdict {
    cc: String,
    steady: f64,
    first: f64,
    ours: Vec<Figures>,
    stock: Vec<Figures>,
    /// Trials of ours and of stock's that used one link only.
    one_link: [usize; 2],
}

fn measure(setup: &Setup, row: Row) -> anyhow::Result<Vec<BenchRow>> {
    let pairs = Pairs {
        setup,
        seed: setup.seed,
        plan: &|nth, seed| Ok(row.cut(&row.plan(&nth.cc)?, nth.index as usize, seed)),
        holds: &|seen| Figures::of(seen).map(drop),
    };
    let results = pairs.measure()?;
    let verdicts: Vec<Verdict> = setup
        .controllers()
        .map(|cc| verdict(row, &results.pairs(cc), cc))
        .collect::<Result<_, _>>()?;
    let bench = verdicts
        .iter()
        .fold(worst(setup.only_row(), &verdicts), with_fields);
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
        one_link: figures::pairs_over_one_link(pairs),
        ours,
        stock,
    })
}

/// One figure of each trial.
pub fn each(figures: &[Figures], figure: fn(&Figures) -> f64) -> Vec<f64> {
    figures.iter().map(figure).collect()
}

/// The longest gap after the cut, in ms.
pub const fn stall(figures: &Figures) -> f64 {
    figures.stall_ms
}

/// Makes the row, with the worse controller's value for each figure of the stall.
fn worst(blank: BenchRow, verdicts: &[Verdict]) -> BenchRow {
    let rows: Vec<BenchRow> = verdicts
        .iter()
        .map(|verdict| blank.clone().trials(&each(&verdict.ours, stall)))
        .collect();
    figures::worst(blank, &rows)
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
    let given_up_before: usize = ours.iter().map(|figures| figures.given_up_before).sum();
    row.with(&format!("{cc}_not_found"), ours.len() - found.len())
        .with(&format!("{cc}_given_up_before_cut"), given_up_before)
        .with(&format!("{cc}_one_link"), verdict.one_link[0])
        .with(&format!("{cc}_stock_one_link"), verdict.one_link[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::world::FlowDetail;
    use trace::{RunRecord, Stall};

    /// A download of 40 Mb/s for 5 s after connect and of 80 after that. It has a gap of 900 ms before a cut
    /// at 13 s, and one of 150 ms around it.
    fn seen(connects: Duration) -> Observed {
        let bins = |time: Duration| time.as_nanos() / trace::SERIES_BIN.as_nanos();
        let (starts, steady) = (bins(connects), bins(connects + FIRST));
        let series = (0..180).map(|bin| match bin {
            _ if bin < starts => 0,
            _ if bin < steady => 500_000,
            _ => 1_000_000,
        });
        let ms = Instant::from_millis;
        let stall = |from, to| Stall {
            from: ms(from),
            to: ms(to),
        };
        let decided = |at, verb: &str| {
            let what = What::Decision {
                link: Some("a".to_owned()),
                conn: None,
                verb: verb.to_owned(),
                reason: String::new(),
                why: String::new(),
            };
            Event::new(ms(at), what)
        };
        let read = What::AppBytes {
            flow: "download".to_owned(),
            bytes: 1,
        };
        let cut = What::Fault {
            link: "a".to_owned(),
            fault: "blackhole".to_owned(),
            applied: true,
        };
        Observed {
            flows: vec![FlowDetail {
                series: series.collect(),
                waits: vec![stall(8_000, 8_900), stall(12_990, 13_140)],
                requests: Vec::new(),
                unanswered: Vec::new(),
            }],
            record: RunRecord {
                events: vec![
                    Event::new(Instant::ZERO + connects + Duration::from_millis(10), read),
                    decided(700, "suspect"),
                    decided(800, "remove"),
                    Event::new(ms(13_000), cut),
                    decided(13_050, "suspect"),
                    decided(13_062, "remove"),
                    decided(13_090, "remove"),
                ],
            },
            ..Observed::blank().with_download(1, 0.0)
        }
    }

    #[test]
    fn the_first_seconds_the_rest_and_the_gap_are_told_apart() {
        let expected = Figures {
            first_mbps: 40.0,
            steady_mbps: 80.0,
            stall_ms: 150.0,
            found_ms: Some(62.0),
            given_up_before: 1,
        };
        assert_eq!(Figures::of(&seen(Duration::ZERO)).unwrap(), expected);
        let later = Duration::from_secs(2);
        let figures = Figures::around(&seen(later), later, Instant::from_millis(13_000));
        assert_eq!(figures.unwrap(), expected);
        let late = Figures::of(&seen(Duration::from_millis(200)));
        assert!(late.unwrap_err().to_string().contains("200 ms late"));
    }

    fn figures(steady_mbps: f64, stall_ms: f64) -> Figures {
        Figures {
            first_mbps: steady_mbps / 2.0,
            steady_mbps,
            stall_ms,
            found_ms: (stall_ms < 500.0).then_some(60.0),
            given_up_before: 1,
        }
    }

    #[test]
    fn goodput_is_the_middle_of_the_pairs() {
        let ours = [figures(50.0, 1.0), figures(90.0, 1.0), figures(30.0, 1.0)];
        // Pair by pair: 0.5, 1.0 of the 90 that the links carry, and 0.75.
        let stock = [figures(100.0, 1.0), figures(120.0, 1.0), figures(40.0, 1.0)];
        let steady = goodput(&ours, &stock, 90.0, |figures| figures.steady_mbps);
        assert!((steady - 0.75).abs() < 1e-9, "{steady}");
    }

    #[test]
    fn every_controller_has_its_fields_and_the_row_the_worse_ones() {
        let verdict = |cc: &str, stalls: [f64; 3]| Verdict {
            cc: cc.to_owned(),
            steady: 0.98,
            first: 0.96,
            ours: stalls.map(|stall| figures(80.0, stall)).into(),
            stock: vec![figures(81.0, 700.0); 3],
            one_link: [1, 2],
        };
        let verdicts = [
            verdict("reno", [90.0, 100.0, 600.0]),
            verdict("bbr", [110.0, 120.0, 130.0]),
        ];
        let row = verdicts
            .iter()
            .fold(worst(crate::catalogue::row("window-bdp"), &verdicts), with_fields);
        assert_eq!((row.p50, row.max), (Some(120.0), Some(600.0)));
        for (field, expected) in [
            ("reno_steady", 0.98),
            ("reno_first_5s", 0.96),
            ("reno_stall_p50_ms", 100.0),
            ("bbr_stall_max_ms", 130.0),
            ("bbr_stock_stall_p50_ms", 700.0),
            ("bbr_steady_mbps", 80.0),
            ("bbr_stock_first_5s_mbps", 40.5),
            ("reno_found_p50_ms", 60.0),
        ] {
            assert_eq!(row.extra[field].as_f64(), Some(expected), "{field}");
        }
        for (field, expected) in [
            ("reno_not_found", 1),
            ("bbr_not_found", 0),
            ("bbr_given_up_before_cut", 3),
            ("reno_one_link", 1),
            ("reno_stock_one_link", 2),
        ] {
            assert_eq!(row.extra[field].as_u64(), Some(expected), "{field}");
        }
    }
}
