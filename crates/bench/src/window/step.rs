//! `window-step`: a link whose rate halves and doubles; time until goodput reaches its new limit.

use scenario::{Change, Fault, Plan, Target, Window};
use trace::{BenchRow, SERIES_BIN};
use units::{Bitrate, Duration, Rng};

use super::figures::{self, mean_mbps, median, most, rounded};
use super::rows;
use super::together::Pairs;
use crate::declaration::Setup;
use crate::trial::Observed;

const LASTS: Duration = Duration::from_secs(120);
/// The link whose rate changes: the one with the shortest round-trip time.
const STEPPING: usize = 0;
const HIGH: Bitrate = Bitrate::from_mbps(30);
const LOW: Bitrate = Bitrate::from_mbps(15);
/// Least time between two steps, and the most that is added to it.
const LEAST_PAUSE: Duration = Duration::from_secs(8);
const DRAWN_PAUSE: Duration = Duration::from_secs(4);
/// Time after a step in which stock counts as settled.
const STOCK_SETTLED: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(8));
/// Goodput is averaged over this time, and this many means in a row must reach the limit.
const MEAN: Duration = Duration::from_millis(500);
const IN_A_ROW: u32 = 6;
/// Share of stock's goodput, or of what the links can carry, that counts as settled.
const SETTLED: f64 = 0.95;

/// One change of the link's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    at: Duration,
    to: Bitrate,
}

/// Runs the benchmark. The figure is the median of all steps, with the worse controller.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let pairs = Pairs {
        setup,
        seed: setup.seed,
        plan: &|nth, seed| Ok(stepping(&rows::EQUAL.plan(&nth.cc)?, seed)),
        holds: &|_| Ok(()),
    };
    let results = pairs.measure()?;
    let limit = rows::payload_limit_mbps(&rows::EQUAL.plan("reno")?);
    let settled: Vec<(&str, Settled)> = setup
        .controllers()
        .map(|cc| Ok((cc, Settled::of(&results.pairs(cc), limit)?)))
        .collect::<anyhow::Result<_>>()?;
    Ok(vec![results.doubts.note(row(setup.only_row(), &settled))])
}

/// Times of the rate changes in a run with this seed, as long as there is time to settle afterwards.
fn steps(seed: u64) -> Vec<Step> {
    let mut rng = Rng::named(seed, "window-step");
    let mut pause = || LEAST_PAUSE + rng.duration_up_to(DRAWN_PAUSE);
    let times = std::iter::successors(Some(pause()), |&at| Some(at + pause()));
    let whole = times.take_while(|&at| at + STOCK_SETTLED.1 <= LASTS);
    whole
        .zip([LOW, HIGH].into_iter().cycle())
        .map(|(at, to)| Step { at, to })
        .collect()
}

fn stepping(plan: &Plan, seed: u64) -> Plan {
    let fault = |step: Step| Fault {
        at: Window {
            from: step.at,
            to: step.at,
        },
        target: Target::Links(vec![STEPPING]),
        change: Change::Rate {
            up: step.to,
            down: step.to,
        },
        lasts: None,
        repeat: None,
    };
    Plan {
        duration: LASTS,
        faults: steps(seed).into_iter().map(fault).collect(),
        ..plan.clone()
    }
}

/// Settling times of one controller's steps.
#[derive(Debug, Default)]
struct Settled {
    /// Number of pairs of trials.
    pairs: usize,
    seconds: Vec<f64>,
    /// Steps that had not settled at the next one. They count with the time until then.
    never: usize,
    /// Trials of ours and of stock's in which the download used one link only.
    one_link: [usize; 2],
}

impl Settled {
    fn of(pairs: &[(&Observed, &Observed)], full_limit: f64) -> anyhow::Result<Self> {
        let mut settled = Self {
            pairs: pairs.len(),
            one_link: figures::pairs_over_one_link(pairs),
            ..Self::default()
        };
        for (ours, stock) in pairs {
            settled.add(
                &steps(ours.run.seed),
                &ours.only_flow()?.series,
                &stock.only_flow()?.series,
                full_limit,
            );
        }
        Ok(settled)
    }

    fn add(&mut self, steps: &[Step], ours: &[u64], stock: &[u64], full_limit: f64) {
        for (index, step) in steps.iter().enumerate() {
            let next = steps.get(index + 1).map_or(LASTS, |next| next.at);
            let missing = (HIGH.as_mbps_f64() - step.to.as_mbps_f64()) * rows::PAYLOAD_SHARE;
            let stock = mean_mbps(stock, step.at + STOCK_SETTLED.0, step.at + STOCK_SETTLED.1);
            let bar = SETTLED * stock.min(full_limit - missing);
            let took = time_to_settle(ours, step.at, next, bar);
            self.never += usize::from(took.is_none());
            self.seconds.push(took.unwrap_or(next - step.at).as_secs_f64());
        }
    }
}

/// Time until the first of [`IN_A_ROW`] consecutive means that reach `bar`, all before the next step.
fn time_to_settle(series: &[u64], step: Duration, next: Duration, bar: f64) -> Option<Duration> {
    let begins = (0..).map(|bins| step + SERIES_BIN * bins);
    let fitting = begins.take_while(|&begin| begin + MEAN * IN_A_ROW <= next);
    let holds = |begin: Duration| {
        (0..IN_A_ROW).all(|mean| {
            let from = begin + MEAN * mean;
            mean_mbps(series, from, from + MEAN) >= bar
        })
    };
    let mut fitting = fitting.filter(|&begin| holds(begin));
    fitting.next().map(|begin| begin - step)
}

fn row(blank: BenchRow, settled: &[(&str, Settled)]) -> BenchRow {
    let blank = || blank.clone();
    let of_each = settled.iter().map(|(_, settled)| BenchRow {
        runs: settled.pairs as u64,
        ..blank().trials(&settled.seconds)
    });
    let row = figures::worst(blank(), &of_each.collect::<Vec<_>>());
    settled.iter().fold(row, |row, (cc, settled)| {
        row.with(&format!("{cc}_p50_s"), rounded(median(&settled.seconds)))
            .with(&format!("{cc}_max_s"), rounded(most(&settled.seconds)))
            .with(&format!("{cc}_steps"), settled.seconds.len())
            .with(&format!("{cc}_never"), settled.never)
            .with(&format!("{cc}_one_link"), settled.one_link[0])
            .with(&format!("{cc}_stock_one_link"), settled.one_link[1])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_alternate_and_leave_time_to_settle() {
        for seed in 0..20 {
            let steps = steps(seed);
            assert!(steps.len() >= 8, "{}", steps.len());
            assert!(steps.iter().step_by(2).all(|step| step.to == LOW));
            for pair in steps.windows(2) {
                let pause = pair[1].at - pair[0].at;
                assert!(pause >= LEAST_PAUSE && pause <= LEAST_PAUSE + DRAWN_PAUSE);
            }
        }
    }

    #[test]
    fn the_link_with_the_shortest_round_trip_steps_at_the_seeds_moments() {
        let plan = stepping(&rows::EQUAL.plan("bbr").unwrap(), 3);
        assert_eq!(plan.duration, Duration::from_secs(120));
        let planned = plan.faults.iter().map(|fault| {
            let Change::Rate { up, down } = fault.change else {
                panic!("{fault:?}")
            };
            assert_eq!((up, &fault.target), (down, &Target::Links(vec![0])));
            Step {
                at: fault.at.from,
                to: down,
            }
        });
        assert_eq!(planned.collect::<Vec<_>>(), steps(3));
    }

    /// The limit is stock's goodput five to eight seconds later, and no more than the links carry then.
    #[test]
    fn a_step_is_settled_against_stock_and_what_the_links_carry() {
        let s = Duration::from_secs;
        let steps = [Step { at: s(10), to: LOW }, Step { at: s(19), to: HIGH }];
        let constant = |mbps: u64| vec![mbps * 12_500; 1_200];
        let settled = |ours: u64, stock: u64| {
            let mut settled = Settled::default();
            settled.add(&steps, &constant(ours), &constant(stock), 86.88);
            (settled.seconds, settled.never)
        };
        // After the step down 72.4 is the most possible. After the step up stock has 80.
        assert_eq!(settled(70, 80), (vec![0.0, 101.0], 1));
        assert_eq!(settled(68, 80), (vec![9.0, 101.0], 2));
        assert_eq!(settled(58, 60), (vec![0.0, 0.0], 0));
        // Only those seconds of stock's count.
        let mut stock = constant(20);
        for (from, to) in [(150, 180), (240, 270)] {
            stock[from..to].fill(1_000_000);
        }
        let mut after = Settled::default();
        after.add(&steps, &constant(68), &stock, 86.88);
        assert_eq!(after.never, 2);
    }

    #[test]
    fn settling_is_the_first_of_six_means_in_a_row() {
        let s = Duration::from_secs;
        // 80 Mb/s, except for 1.2 s after the step.
        let bin = |index: u64| match index {
            100..112 => 500_000,
            _ => 1_000_000,
        };
        let series: Vec<u64> = (0..200).map(bin).collect();
        let took = time_to_settle(&series, s(10), s(18), 75.0).unwrap();
        assert!(
            (Duration::from_millis(1_000)..=Duration::from_millis(1_200)).contains(&took),
            "{took:?}"
        );
        assert_eq!(time_to_settle(&series, s(10), s(18), 81.0), None);
    }
}
