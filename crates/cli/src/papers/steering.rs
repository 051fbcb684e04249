//! Which access points of one channel a client should use: nsdi15's two scenarios and its figure 6c, with the
//! engine in the loop.

mod cases;
mod draw;

use anyhow::ensure;

use super::folder::{Figures, Folder};
use super::{Experiment, Report};
use cases::{Case, OTHER_FLOWS, OTHERS, Outcome, Place, ROUND_TRIPS_MS, TIMES_MS, WEIGHTS};

/// The policies that are compared. `ecn` is `ecn:base-rtt`.
const POLICIES: [&str; 8] = [
    "mptcp",
    "ecn:printed",
    "ecn:printed-capped",
    "ecn:exact",
    "ecn",
    "ecn:cap",
    "one-at-a-time",
    "slowhand",
];
/// Name of plain MPTCP over the good access point and the best of the others.
const BEST_TWO: &str = "best-two";
/// Seeds with which every combination is played.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Goodput of a run in percent of the best possible.
type Percent = f64;

/// Runs the whole study.
pub(super) fn run(_: &Folder, report: Report<'_>) -> anyhow::Result<Experiment> {
    let results = Results::of_runs(report)?;
    Ok(Experiment {
        measured: results.measured(),
        figures: draw::all(&results),
    })
}

/// Goodput of all runs.
#[derive(Debug, Default)]
struct Results {
    /// Scenario 1: for each policy, the runs of every combination.
    first: Vec<Vec<Vec<Percent>>>,
    /// The same for the first 10 MB, against TCP over the good access point.
    start: Vec<Vec<Vec<Percent>>>,
    /// Scenario 2: for each policy, the runs with each number of other flows.
    second: Vec<Vec<Vec<Percent>>>,
    /// The same against TCP over the good access point and all air left over.
    left: Vec<Vec<Vec<Percent>>>,
    /// Means of `second` in Mb/s. The last entry is plain TCP over the good access point.
    second_mbps: Vec<Vec<f64>>,
    /// More access points: for each policy, the runs with each number of others. First all others are poor,
    /// then mixed.
    more: [Vec<Vec<Vec<Percent>>>; 2],
    /// Mixed: the runs of the best two with each number of others.
    best_two: Vec<Vec<Percent>>,
}

impl Results {
    fn of_runs(report: Report<'_>) -> anyhow::Result<Self> {
        let steps = 2.0 + 4.0 * POLICIES.len() as f64;
        let mut done = 0.0;
        let mut step = || {
            done += 1.0;
            report(done / steps);
        };
        let mut results = Self::default();
        let quick: Vec<f64> = starts(&played(&start_alone())?)
            .iter()
            .map(|runs| mean(runs))
            .collect();
        let alone = rates(&played(&second_scenario("tcp:good"))?);
        step();
        let two = rates(&played(&best_two())?);
        results.best_two = percent(&two, |_| cases::BEST);
        step();
        for policy in POLICIES {
            let runs = played(&first_scenario(policy))?;
            results.first.push(percent(&rates(&runs), |_| cases::BEST));
            let start = |(place, runs): (usize, &Vec<f64>)| {
                runs.iter()
                    .map(|run| 100.0 * quick[place % quick.len()] / run)
                    .collect()
            };
            results
                .start
                .push(starts(&runs).iter().enumerate().map(start).collect());
            step();
            let runs = rates(&played(&second_scenario(policy))?);
            let best = |place: usize| mean(&alone[place]).max(1e3 / cases::POOR_MS);
            results.second.push(percent(&runs, best));
            let left = |place: usize| cases::with_left_air(mean(&alone[place]));
            results.left.push(percent(&runs, left));
            results
                .second_mbps
                .push(runs.iter().map(|runs| cases::mbps(mean(runs))).collect());
            step();
            for (kind, mixed) in results.more.iter_mut().zip([false, true]) {
                let runs = rates(&played(&more_access_points(policy, mixed))?);
                kind.push(percent(&runs, |_| cases::BEST));
                step();
            }
        }
        // TCP comes last.
        results
            .second_mbps
            .push(alone.iter().map(|runs| cases::mbps(mean(runs))).collect());
        Ok(results)
    }

    /// Figures by the names that claims use.
    fn measured(&self) -> Figures {
        let mut figures = Figures::new();
        let mut say = |name: String, value: f64| {
            figures.insert(name, value);
        };
        for (at, policy) in POLICIES.into_iter().enumerate() {
            let scenarios = [
                ("first", &self.first),
                ("start", &self.start),
                ("second", &self.second),
                ("left", &self.left),
            ];
            for (scenario, policies) in scenarios {
                let runs = &policies[at];
                let (mean, middle, worst) = summary(runs);
                say(format!("{scenario}_{policy}_mean"), mean);
                say(format!("{scenario}_{policy}_median"), middle);
                say(format!("{scenario}_{policy}_worst"), worst);
                say(format!("{scenario}_{policy}_mean_lost"), 100.0 - mean);
                say(format!("{scenario}_{policy}_worst_lost"), 100.0 - worst);
            }
            let crowded = self.second_mbps[at].last().copied();
            say(format!("crowded_{policy}_mbps"), crowded.unwrap_or(0.0));
            for (kind, runs) in [("poor", &self.more[0][at]), ("mixed", &self.more[1][at])] {
                let means = runs.iter().map(|runs| mean(runs));
                for (others, value) in OTHERS.into_iter().zip(means.clone()) {
                    say(format!("{kind}_{policy}_{others}"), value);
                }
                let least = means.fold(f64::MAX, f64::min);
                say(format!("{kind}_{policy}_lost"), 100.0 - least);
            }
        }
        for (others, runs) in OTHERS.into_iter().zip(&self.best_two) {
            say(format!("mixed_{BEST_TWO}_{others}"), mean(runs));
        }
        let alone = self.second_mbps.last().and_then(|values| values.last());
        say("crowded_tcp_mbps".to_owned(), alone.copied().unwrap_or(0.0));
        figures
    }
}

/// Cases of scenario 1: nsdi15's 120 combinations.
fn first_scenario(policy: &'static str) -> Vec<Case> {
    let times = TIMES_MS.into_iter();
    let combined = times.flat_map(|time| WEIGHTS.map(|weight| (time, weight)));
    let combined = combined.flat_map(|(time, weight)| ROUND_TRIPS_MS.map(|rtt| (time, weight, rtt)));
    let case = |(time, weight, rtt)| Case {
        policy,
        place: Place::First,
        settings: vec![
            format!("aps.poor.wfq.packet_ms={time}"),
            format!("aps.poor.wfq.weight={weight}"),
            format!("aps.good.backhaul.rtt_ms={rtt}"),
            format!("aps.poor.backhaul.rtt_ms={rtt}"),
        ],
    };
    combined.map(case).collect()
}

/// Cases of scenario 2: each number of other flows.
fn second_scenario(policy: &'static str) -> Vec<Case> {
    let case = |others: u32| Case {
        policy,
        place: Place::Second,
        settings: vec![format!(
            "aps.good.backhaul.rate_mbps={:.4}",
            cases::UPLINK_MBPS / f64::from(others + 1)
        )],
    };
    OTHER_FLOWS.map(case).into()
}

/// Cases with each number of access points beside the good one.
fn more_access_points(policy: &'static str, mixed: bool) -> Vec<Case> {
    let case = |others: usize| Case {
        policy,
        place: Place::More(others),
        settings: match mixed {
            true => cases::mixed(others),
            false => Vec::new(),
        },
    };
    OTHERS.map(case).into()
}

/// Cases of TCP over the good access point, one for each round trip of [`first_scenario`], in its order.
fn start_alone() -> Vec<Case> {
    let case = |rtt: u32| Case {
        policy: "tcp:good",
        place: Place::First,
        settings: vec![format!("aps.good.backhaul.rtt_ms={rtt}")],
    };
    ROUND_TRIPS_MS.map(case).into()
}

/// Cases with mixed access points, of which a sender without marks uses the best two.
fn best_two() -> Vec<Case> {
    let case = |others: usize| Case {
        policy: "mptcp",
        place: Place::More(others.min(1)),
        settings: cases::mixed(others).into_iter().take(1).collect(),
    };
    OTHERS.map(case).into()
}

/// Packets per second of each run.
fn rates(cases: &[Vec<Outcome>]) -> Vec<Vec<f64>> {
    let rates = |runs: &Vec<Outcome>| runs.iter().map(|run| run.packets_per_s).collect();
    cases.iter().map(rates).collect()
}

/// Seconds that each run took for its first 10 MB.
fn starts(cases: &[Vec<Outcome>]) -> Vec<Vec<f64>> {
    let starts = |runs: &Vec<Outcome>| runs.iter().map(|run| run.start_s).collect();
    cases.iter().map(starts).collect()
}

/// What each case's runs carried, one for each seed.
fn played(cases: &[Case]) -> anyhow::Result<Vec<Vec<Outcome>>> {
    let jobs: Vec<(&Case, u64)> = cases
        .iter()
        .flat_map(|case| SEEDS.map(|seed| (case, seed)))
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let results = sim::sweep(&jobs, cores, |(case, seed)| case.outcome(*seed));
    let results: Vec<Outcome> = results.into_iter().collect::<anyhow::Result<_>>()?;
    ensure!(!results.is_empty(), "papers/steering: there are no cases");
    Ok(results.chunks(SEEDS.len()).map(<[Outcome]>::to_vec).collect())
}

/// Runs in percent of the best of their case.
fn percent(cases: &[Vec<f64>], best: impl Fn(usize) -> f64) -> Vec<Vec<Percent>> {
    let one = |(place, runs): (usize, &Vec<f64>)| {
        let best = best(place);
        runs.iter().map(|run| 100.0 * run / best).collect()
    };
    cases.iter().enumerate().map(one).collect()
}

/// Mean of all runs, median of the cases' means, and the worst run.
fn summary(cases: &[Vec<Percent>]) -> (Percent, Percent, Percent) {
    let mut means: Vec<f64> = cases.iter().map(|runs| mean(runs)).collect();
    means.sort_by(f64::total_cmp);
    let middle = (means[(means.len() - 1) / 2] + means[means.len() / 2]) / 2.0;
    let worst = cases.iter().flatten().copied().fold(f64::MAX, f64::min);
    (mean(&means), middle, worst)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_mean_median_and_worst_run() {
        let cases = [
            vec![10.0, 30.0],
            vec![90.0, 90.0],
            vec![100.0, 60.0],
            vec![70.0, 70.0],
        ];
        assert_eq!(summary(&cases), (65.0, 75.0, 10.0));
    }

    #[test]
    fn every_case_can_be_read() {
        let mut count = 0;
        let more = [false, true].map(|mixed| more_access_points("mptcp", mixed));
        for case in [
            first_scenario("ecn"),
            second_scenario("tcp:good"),
            start_alone(),
            best_two(),
        ]
        .iter()
        .chain(&more)
        .flatten()
        {
            case.plan().unwrap();
            count += 1;
        }
        for policy in POLICIES {
            policy.parse::<trace::PolicyName>().unwrap();
        }
        assert_eq!(count, 120 + 4 + OTHER_FLOWS.len() + 3 * OTHERS.len());
    }
}
