//! `worlds`: the same scenarios, policies and seeds on this kernel and in virtual time.
//!
//! Each case is a scenario with one congestion controller. Every policy plays it with the same seeds in both
//! worlds. Medians over the seeds are compared. Where a scenario has access points, both worlds model every
//! frame.

mod places;

use scenario::{Medium, Plan};
use serde_json::Value;
use trace::{BenchRow, PolicyName, Run};

use crate::declaration::Setup;
use crate::trial::{self, Trial};
use crate::window::figures::{least, median, most, object, rounded, tell};

/// Controllers of the senders that both worlds have.
pub const CONTROLLERS: [&str; 2] = ["reno", "cubic"];
/// Longest stalls may differ by this part of the longer one, or by [`APART_MS`].
const APART: f64 = 0.3;
const APART_MS: f64 = 50.0;
/// Policies closer than this have no order.
const CLOSE: f64 = 0.1;

/// Medians of one policy in one world.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Median {
    mbps: f64,
    stall_ms: f64,
}

impl Median {
    fn of(runs: &[&Run]) -> Self {
        let flows = runs.iter().filter_map(|run| run.flows.first());
        let stalls: Vec<f64> = flows.map(|flow| flow.longest_stall_ms).collect();
        let rates: Vec<f64> = runs.iter().map(|run| run.goodput_mbps()).collect();
        Self {
            mbps: median(&rates),
            stall_ms: median(&stalls),
        }
    }
}

/// One policy in one case, in both worlds.
#[derive(Debug, Clone)]
struct Compared {
    case: String,
    cc: String,
    policy: PolicyName,
    lab: Median,
    sim: Median,
}

impl Compared {
    /// Goodput in virtual time over that on this kernel.
    fn goodput(&self) -> f64 {
        self.sim.mbps / self.lab.mbps
    }

    /// Whether the longest stalls are alike.
    fn stalls_agree(&self) -> bool {
        let (one, other) = (self.lab.stall_ms, self.sim.stall_ms);
        let apart = (one - other).abs();
        apart <= APART_MS || apart <= APART * one.max(other)
    }

    fn to_value(&self) -> Value {
        object(&[
            ("case", self.case.as_str().into()),
            ("cc", self.cc.as_str().into()),
            ("policy", self.policy.to_string().into()),
            ("lab_mbps", rounded(self.lab.mbps)),
            ("sim_mbps", rounded(self.sim.mbps)),
            ("ratio", rounded(self.goodput())),
            ("lab_stall_ms", rounded(self.lab.stall_ms)),
            ("sim_stall_ms", rounded(self.sim.stall_ms)),
            ("stalls_agree", self.stalls_agree().into()),
        ])
    }
}

/// Runs the benchmark. The figure is the goodput ratio that is furthest from 1.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let mut all = Vec::new();
    for plan in places::all()? {
        let own = CONTROLLERS.into_iter().filter(|_| setup.cc.is_none());
        for cc in own.chain(setup.cc.as_deref()) {
            let plan = Plan {
                cc: cc.to_owned(),
                medium: Medium::Exact,
                ..plan.clone()
            };
            // Case by case, so that each is reported as soon as it is measured.
            for compared in compare(setup, &plan)? {
                tell("worlds", &compared.to_value());
                all.push(compared);
            }
        }
    }
    Ok(rows(setup, &all))
}

/// The policies of a comparison: plain TCP over the first link, the stock kernel, and both of ours.
fn policies(plan: &Plan) -> Vec<PolicyName> {
    let first = plan.links.first().map(|link| PolicyName::Tcp(link.name.clone()));
    let ours = [
        PolicyName::Mptcp,
        PolicyName::SlowhandNoWindow,
        PolicyName::Slowhand,
    ];
    first.into_iter().chain(ours).collect()
}

fn compare(setup: &Setup, plan: &Plan) -> anyhow::Result<Vec<Compared>> {
    let policies = policies(plan);
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let trials: Vec<Trial> = seeds
        .flat_map(|seed| {
            policies.iter().map(move |policy| Trial {
                plan: plan.clone(),
                policy: policy.clone(),
                seed,
            })
        })
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let simulated = sim::sweep(&trials, cores, |trial| {
        let play = sim::Play {
            seed: trial.seed,
            events: false,
            ..sim::Play::new(&trial.plan, trial.policy.clone())
        };
        sim::play(&play).map(|played| played.run)
    });
    let sim: Vec<Run> = simulated.into_iter().collect::<Result<_, _>>()?;
    let observed = trial::side_by_side(trials)?;
    let lab: Vec<Run> = observed.into_iter().map(|observed| observed.run).collect();
    let of = |runs: &[Run], policy: &PolicyName| {
        let own: Vec<&Run> = runs.iter().filter(|run| run.policy == *policy).collect();
        Median::of(&own)
    };
    let compared = policies.iter().map(|policy| Compared {
        case: plan.name.clone(),
        cc: plan.cc.clone(),
        policy: policy.clone(),
        lab: of(&lab, policy),
        sim: of(&sim, policy),
    });
    Ok(compared.collect())
}

fn rows(setup: &Setup, all: &[Compared]) -> Vec<BenchRow> {
    let ratios: Vec<f64> = all.iter().map(Compared::goodput).collect();
    let furthest = if 1.0 / least(&ratios) > most(&ratios) {
        least(&ratios)
    } else {
        most(&ratios)
    };
    let apart = ratios
        .iter()
        .filter(|ratio| (**ratio - 1.0).abs() > CLOSE)
        .count();
    let stalls = all.iter().filter(|compared| !compared.stalls_agree()).count();
    let each: Vec<Value> = all.iter().map(Compared::to_value).collect();
    let row = setup.row("worlds").trials(&ratios);
    let row = BenchRow {
        ours: (!all.is_empty()).then_some(furthest),
        ..row
    };
    let count = |name: &str, count: usize| BenchRow {
        ours: Some(count as f64),
        runs: all.len() as u64,
        ..setup.row(name)
    };
    vec![
        row.with("apart", apart).with("each", each),
        count("worlds-stalls", stalls),
        count("worlds-order", disordered(all)),
    ]
}

/// How many pairs of policies of one case have another order in virtual time, although they differ clearly in
/// both worlds.
fn disordered(all: &[Compared]) -> usize {
    let pairs = all.iter().enumerate().flat_map(|(index, one)| {
        let same = |other: &&Compared| other.case == one.case && other.cc == one.cc;
        all[index + 1..]
            .iter()
            .filter(same)
            .map(move |other| (one, other))
    });
    let differ = |one: f64, other: f64| (one - other).abs() > CLOSE * one.max(other);
    pairs
        .filter(|(one, other)| differ(one.lab.mbps, other.lab.mbps) && differ(one.sim.mbps, other.sim.mbps))
        .filter(|(one, other)| (one.lab.mbps < other.lab.mbps) != (one.sim.mbps < other.sim.mbps))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(policy: PolicyName, lab: (f64, f64), sim: (f64, f64)) -> Compared {
        let median = |(mbps, stall_ms)| Median { mbps, stall_ms };
        Compared {
            case: "two-homes".to_owned(),
            cc: "reno".to_owned(),
            policy,
            lab: median(lab),
            sim: median(sim),
        }
    }

    #[test]
    fn policies_in_another_order_are_counted_if_they_differ_clearly() {
        let case = |first, second| {
            disordered(&[
                compared(PolicyName::Mptcp, (20.0, 0.0), first),
                compared(PolicyName::Slowhand, (30.0, 0.0), second),
            ])
        };
        assert_eq!(case((21.0, 0.0), (29.0, 0.0)), 0);
        assert_eq!(case((30.0, 0.0), (20.0, 0.0)), 1);
        assert_eq!(case((30.0, 0.0), (29.0, 0.0)), 0, "too close in virtual time");
    }

    #[test]
    fn stalls_may_differ_by_a_part_or_by_some_milliseconds() {
        let agree = |lab, sim| {
            let compared = compared(PolicyName::Mptcp, (1.0, lab), (1.0, sim));
            compared.stalls_agree()
        };
        assert!(agree(100.0, 149.0) && agree(1_000.0, 1_400.0));
        assert!(!agree(100.0, 180.0) && !agree(1_000.0, 1_500.0));
    }

    #[test]
    fn every_scenario_can_be_played_in_virtual_time() {
        let all = places::all().unwrap();
        assert_eq!(all.len(), 16);
        for plan in all {
            sim::check(&plan).unwrap_or_else(|error| panic!("{}: {error}", plan.name));
        }
    }
}
