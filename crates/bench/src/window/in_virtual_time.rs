//! `window-mixes-sim`: the links of `window-mixes` and two more sets in virtual time, where a result has no
//! noise of the machine.
//!
//! Each set of links is run with and without a silent cut of its fastest link, under `slowhand` and under
//! `mptcp`. Without a cut, plain TCP also runs over each link alone. Mixes 101 to 124 are there for choosing
//! rules (`--seed 101`), and 201 to 224 for judging them once.
//!
//! # Where we differ, and why
//! 1. The interval of a median is that of the order statistics: it assumes nothing about the distribution.
//!    With fewer than six runs it covers the median less often than in 95 % of cases.
//!
//! # Checked by
//! `tests`.

use scenario::{Aqm, Link, Plan, Queue, QueueLimit, Wire};
use serde_json::Value;
use sim::Played;
use trace::{BenchRow, PolicyName};
use units::{Bitrate, Duration, Instant, Ratio};

use super::drawn;
use super::figures::{self, least, median, object, rounded};
use super::mixes::TRIALS_PER_MIX;
use super::rows;
use crate::declaration::Setup;
use crate::trial::{Trial, gap};
use crate::worlds::CONTROLLERS;

/// Number of mixes.
const MIXES: u64 = 24;
/// Length of a run without a cut.
const LASTS: Duration = Duration::from_secs(30);
/// A set whose whole interval is under this share of stock's goodput, or of the best link's, is worse.
const WORSE_THAN_STOCK: f64 = 0.90;
const WORSE_THAN_LINK: f64 = 0.95;
/// Probability with which the interval of a median may miss it on either side.
const MISS: f64 = 0.025;

/// A median and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Median {
    low: f64,
    middle: f64,
    high: f64,
}

impl Median {
    /// Of at least one figure.
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let left_out = left_out(sorted.len());
        Self {
            low: sorted[left_out],
            middle: median(figures),
            high: sorted[sorted.len() - 1 - left_out],
        }
    }

    fn to_value(self) -> Value {
        [self.low, self.middle, self.high].map(rounded).to_vec().into()
    }
}

/// How many of `count` sorted figures lie beyond the interval on either side.
fn left_out(count: usize) -> usize {
    let (mut below, mut ways) = (0.0, 0.5_f64.powi(count as i32));
    let mut left_out = 0;
    for rank in 0..count / 2 {
        below += ways;
        if below > MISS {
            break;
        }
        left_out = rank;
        ways *= (count - rank) as f64 / (rank + 1) as f64;
    }
    left_out
}

/// Links and a name.
#[derive(Debug, Clone)]
struct Case {
    name: String,
    links: Vec<Link>,
    /// Seed of its first run.
    seed: u64,
}

/// The results of one set of links with one controller.
#[derive(Debug, Clone)]
struct Judged {
    case: String,
    links: String,
    cc: String,
    over_stock: Median,
    over_link: Median,
    stall_ms: f64,
    stock_stall_ms: f64,
}

/// Runs the benchmark. The first figure is the median of the sets' goodput over the stock kernel's, of the
/// controller with the smaller one. The second is the same over the best single link. The third is the median
/// of the stall after a cut over stock's, of the controller with the larger one.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let mut all = Vec::new();
    let own = CONTROLLERS.into_iter().filter(|_| setup.cc.is_none());
    let controllers: Vec<&str> = own.chain(setup.cc.as_deref()).collect();
    for case in cases(setup.seed) {
        for cc in &controllers {
            let judged = measure(setup, &case, cc)?;
            figures::tell("window-mixes-sim", &judged.to_value());
            all.push(judged);
        }
    }
    Ok(rows(setup, &all))
}

/// The mixes from `first` on, and two sets on which rules once did harm.
fn cases(first: u64) -> Vec<Case> {
    let mixes = (0..MIXES).map(|index| {
        let mix = first + index;
        Case {
            name: format!("mix-{mix}"),
            links: drawn::links(mix),
            seed: mix * TRIALS_PER_MIX,
        }
    });
    let named = |name: &str, links: &[(u64, u64)], limit| Case {
        name: name.to_owned(),
        links: (0..)
            .zip(links)
            .map(|(index, &(mbps, rtt_ms))| {
                drawn::cable(index, wire(mbps, limit), Duration::from_millis(rtt_ms))
            })
            .collect(),
        seed: first * TRIALS_PER_MIX,
    };
    let packets = QueueLimit::Packets(200);
    let time = QueueLimit::Time(Duration::from_millis(500));
    mixes
        .chain([
            named("near-and-far", &[(25, 10), (25, 200)], packets),
            named("one-fast", &[(60, 20), (6, 40), (6, 40)], time),
        ])
        .collect()
}

fn wire(mbps: u64, limit: QueueLimit) -> Wire {
    Wire {
        rate: Bitrate::from_mbps(mbps),
        jitter: Duration::ZERO,
        loss: Ratio::ZERO,
        queue: Queue {
            limit,
            aqm: Aqm::TailDrop,
        },
    }
}

/// The runs of one seed, in this order: ours and stock's, both with a cut, and each link alone.
fn trials(case: &Case, cc: &str, seed: u64) -> anyhow::Result<Vec<Trial>> {
    let plan = Plan {
        name: case.name.clone(),
        links: case.links.clone(),
        duration: LASTS,
        ..rows::EQUAL.plan(cc)?
    };
    let cut = rows::cut(&plan, rows::fastest(&plan)[0], seed);
    let trial = |plan: &Plan, policy| Trial {
        plan: plan.clone(),
        policy,
        seed,
    };
    let both = [PolicyName::Slowhand, PolicyName::Mptcp];
    let alone = case.links.iter().map(|link| PolicyName::Tcp(link.name.clone()));
    let still = both.clone().map(|policy| trial(&plan, policy));
    let cut = both.map(|policy| trial(&cut, policy));
    Ok(still
        .into_iter()
        .chain(cut)
        .chain(alone.map(|policy| trial(&plan, policy)))
        .collect())
}

fn measure(setup: &Setup, case: &Case, cc: &str) -> anyhow::Result<Judged> {
    let seeds = (0..u64::from(setup.trials())).map(|index| case.seed + index);
    let trials: Vec<Trial> = seeds
        .map(|seed| trials(case, cc, seed))
        .collect::<anyhow::Result<Vec<_>>>()?
        .concat();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let played = sim::sweep(&trials, cores, |trial| {
        sim::play(&sim::Play {
            seed: trial.seed,
            // A cut must be seen to have been applied.
            events: !trial.plan.faults.is_empty(),
            ..sim::Play::new(&trial.plan, trial.policy.clone())
        })
    });
    let played: Vec<Played> = played.into_iter().collect::<Result<_, _>>()?;
    let limit = trials
        .first()
        .map_or(0.0, |trial| rows::payload_limit_mbps(&trial.plan));
    let (mut over_stock, mut over_link) = (Vec::new(), Vec::new());
    let mut stalls = [Vec::new(), Vec::new()];
    for runs in played.chunks(4 + case.links.len()) {
        let mbps = |played: &Played| played.run.goodput_mbps();
        let (ours, stock) = (mbps(&runs[0]), mbps(&runs[1]));
        let best = figures::most(&runs[4..].iter().map(mbps).collect::<Vec<_>>());
        over_stock.push(figures::against(ours, stock, limit));
        over_link.push(ours / best);
        for (stalls, run) in stalls.iter_mut().zip(&runs[2..4]) {
            stalls.push(stall_ms(run)?);
        }
    }
    Ok(Judged {
        case: case.name.clone(),
        links: case
            .links
            .iter()
            .map(drawn::in_words)
            .collect::<Vec<_>>()
            .join(" + "),
        cc: cc.to_owned(),
        over_stock: Median::of(&over_stock),
        over_link: Median::of(&over_link),
        stall_ms: median(&stalls[0]),
        stock_stall_ms: median(&stalls[1]),
    })
}

/// The longest gap around the cut, in ms.
fn stall_ms(played: &Played) -> anyhow::Result<f64> {
    let cut: Instant = gap::first_told(&played.record)?;
    let waits = played.waits.first().map_or(&[][..], Vec::as_slice);
    Ok(gap::longest_wait(waits, cut).as_micros() as f64 / 1e3)
}

impl Judged {
    /// Our stall after the cut over stock's.
    fn stalls(&self) -> f64 {
        self.stall_ms / self.stock_stall_ms
    }

    fn to_value(&self) -> Value {
        object(&[
            ("case", self.case.as_str().into()),
            ("links", self.links.as_str().into()),
            ("cc", self.cc.as_str().into()),
            ("over_stock", self.over_stock.to_value()),
            ("over_best_link", self.over_link.to_value()),
            ("stall_p50_ms", rounded(self.stall_ms)),
            ("stock_stall_p50_ms", rounded(self.stock_stall_ms)),
        ])
    }
}

fn rows(setup: &Setup, all: &[Judged]) -> Vec<BenchRow> {
    let medians = |figure: fn(&Judged) -> f64| {
        let mut controllers: Vec<&str> = all.iter().map(|judged| judged.cc.as_str()).collect();
        controllers.sort_unstable();
        controllers.dedup();
        let of = |cc: &str| {
            all.iter()
                .filter(|judged| judged.cc == cc)
                .map(figure)
                .collect::<Vec<_>>()
        };
        controllers.iter().map(|cc| median(&of(cc))).collect::<Vec<f64>>()
    };
    let row = |name: &str, figure: fn(&Judged) -> f64, worst: fn(&[f64]) -> f64| {
        let each: Vec<f64> = all.iter().map(figure).collect();
        let middle = Some(worst(&medians(figure))).filter(|_| !all.is_empty());
        BenchRow {
            ours: middle,
            p50: middle,
            ..setup.row(name).trials(&each)
        }
    };
    let under =
        |figure: fn(&Judged) -> f64, bar: f64| all.iter().filter(|judged| figure(judged) < bar).count();
    let stalls_over = all
        .iter()
        .filter(|judged| judged.stall_ms > judged.stock_stall_ms)
        .count();
    let each: Vec<Value> = all.iter().map(Judged::to_value).collect();
    vec![
        row("window-mixes-sim", |judged| judged.over_stock.middle, least)
            .with("worse", under(|judged| judged.over_stock.high, WORSE_THAN_STOCK))
            .with("each", each),
        row("window-mixes-sim-link", |judged| judged.over_link.middle, least)
            .with("worse", under(|judged| judged.over_link.high, WORSE_THAN_LINK)),
        row("window-mixes-sim-stall", Judged::stalls, figures::most).with("stalls_over", stalls_over),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_covers_the_median_in_95_of_100_cases_or_is_the_whole_range() {
        assert_eq!([1, 2, 5].map(left_out), [0, 0, 0]);
        // 97.9 % of cases with ten figures, and 95.9 % with twenty.
        assert_eq!([6, 10, 20].map(left_out), [0, 1, 5]);
        let figures: Vec<f64> = (1..=10).map(f64::from).collect();
        let expected = Median {
            low: 2.0,
            middle: 5.5,
            high: 9.0,
        };
        assert_eq!(Median::of(&figures), expected);
    }

    fn judged(cc: &str, over_stock: f64, stall_ms: f64) -> Judged {
        let exactly = |middle| Median {
            low: middle,
            middle,
            high: middle + 0.01,
        };
        Judged {
            case: String::new(),
            links: String::new(),
            cc: cc.to_owned(),
            over_stock: exactly(over_stock),
            over_link: exactly(over_stock + 0.1),
            stall_ms,
            stock_stall_ms: 200.0,
        }
    }

    #[test]
    fn the_worse_controller_counts_and_each_set_is_held_to_the_bars() {
        let setup = Setup {
            bench: crate::catalogue::bench("window-mixes-sim"),
            asked_trials: None,
            beside: None,
            cc: None,
            seed: 101,
        };
        let all = [
            judged("reno", 1.2, 50.0),
            judged("reno", 0.88, 100.0),
            judged("cubic", 0.895, 300.0),
            judged("cubic", 0.8, 100.0),
        ];
        let rows = rows(&setup, &all);
        let ours: Vec<f64> = rows.iter().filter_map(|row| row.ours).collect();
        assert!(
            (ours[0] - 0.8475).abs() < 1e-9 && (ours[1] - 0.9475).abs() < 1e-9,
            "{ours:?}"
        );
        assert!((ours[2] - 1.0).abs() < 1e-9, "{ours:?}");
        assert_eq!(rows[0].extra["worse"], 2);
        assert_eq!(rows[1].extra["worse"], 1);
        assert_eq!(rows[2].extra["stalls_over"], 1);
    }

    #[test]
    fn a_short_run_of_one_case_judges_goodput_and_the_cut() {
        let setup = Setup {
            bench: crate::catalogue::bench("window-mixes-sim"),
            asked_trials: Some(1),
            beside: None,
            cc: None,
            seed: 101,
        };
        let case = Case {
            name: "slow".to_owned(),
            links: vec![
                drawn::cable(0, wire(2, QueueLimit::Packets(20)), Duration::from_millis(20)),
                drawn::cable(1, wire(1, QueueLimit::Packets(20)), Duration::from_millis(20)),
            ],
            seed: 1,
        };
        let judged = measure(&setup, &case, "reno").unwrap();
        assert!(judged.over_link.middle > 1.2, "{judged:?}");
        assert!((0.8..1.3).contains(&judged.over_stock.middle), "{judged:?}");
        assert!(judged.stall_ms >= 20.0, "{judged:?}");
    }

    #[test]
    fn every_case_can_be_played_and_has_its_own_seeds() {
        let cases = cases(101);
        assert_eq!(cases.len(), 26);
        assert_eq!(
            (cases[0].name.as_str(), cases[23].name.as_str()),
            ("mix-101", "mix-124")
        );
        for case in cases {
            let trials = trials(&case, "cubic", case.seed).unwrap();
            assert_eq!(trials.len(), 4 + case.links.len());
            for trial in trials {
                sim::check(&trial.plan).unwrap();
            }
        }
    }
}
