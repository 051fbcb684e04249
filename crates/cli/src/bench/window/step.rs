//! `window-step`: a link that halves and doubles; how long until goodput is what it can be.

use scenario::{Change, Fault, Plan, Target, Window};
use trace::{BenchRow, Better, SERIES_BIN};
use units::{Bitrate, Duration, Rng};

use super::figures::{self, mean_mbps, median, most, rounded};
use super::rows;
use super::together::Pairs;
use crate::bench::Setup;
use crate::bench::trial::Observed;

/// Trials of each policy with each controller, each with about a dozen steps.
const TRIALS: u32 = 5;
const LASTS: Duration = Duration::from_secs(120);
/// The link that steps: the one with the shortest round trip.
const STEPPING: usize = 0;
const HIGH: Bitrate = Bitrate::from_mbps(30);
const LOW: Bitrate = Bitrate::from_mbps(15);
/// From one step to the next: this, and up to so much more.
const LEAST_PAUSE: Duration = Duration::from_secs(8);
const DRAWN_PAUSE: Duration = Duration::from_secs(4);
/// When stock is taken for settled after a step.
const STOCK_SETTLED: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(8));
/// Goodput is looked at in means of this length, so many in a row.
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

/// Measures. The figure is the median of all steps, of the worse controller.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let pairs = Pairs {
        setup,
        defined: TRIALS,
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
    Ok(vec![results.doubts.note(row(&settled))])
}

/// When the rate changes in a run with this seed, as long as there is time to settle afterwards.
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

/// How long one controller's steps took to settle.
#[derive(Debug, Default)]
struct Settled {
    /// In how many pairs of trials.
    pairs: usize,
    seconds: Vec<f64>,
    /// Steps that had not settled when the next one came; they count with the time until then.
    never: usize,
}

impl Settled {
    fn of(pairs: &[(&Observed, &Observed)], full_limit: f64) -> anyhow::Result<Self> {
        let mut settled = Self {
            pairs: pairs.len(),
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

/// Until the first of so many means in a row that reach the bar, all before the next step.
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

fn row(settled: &[(&str, Settled)]) -> BenchRow {
    let blank = || BenchRow::new("window-step", "s", Better::Lower);
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
    fn settling_is_the_first_of_six_means_in_a_row() {
        let s = Duration::from_secs;
        // 80 Mb/s, but for 1.2 s after the step.
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
