//! Judges a plan's expectations by the numbers of its runs alone.

use crate::plan::{Condition, Expectation, Plan, Times};
use std::fmt;
use trace::{Flow, PolicyName, Run};

/// The outcome of one condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// The run it is about, or one it is compared with, did not take place.
    NotRun,
}

/// One condition, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The seed of the run.
    pub seed: u64,
    /// The policy whose run is judged.
    pub policy: PolicyName,
    /// What must hold, in words.
    pub wanted: String,
    /// What was measured, in words; empty if nothing was.
    pub measured: String,
    /// The outcome.
    pub outcome: Outcome,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            policy,
            wanted,
            measured,
            ..
        } = self;
        match self.outcome {
            Outcome::Holds => write!(f, "holds: {policy} (seed {seed}): {wanted}: {measured}"),
            Outcome::Fails => write!(
                f,
                "DOES NOT HOLD: {policy} (seed {seed}): {wanted}; result: {measured}"
            ),
            Outcome::NotRun => write!(f, "not run: {policy} (seed {seed}): {wanted}"),
        }
    }
}

/// Judges all expectations of a plan on the runs of one comparison, each seed by itself. A condition whose
/// runs did not take place is [`Outcome::NotRun`].
pub fn judge(plan: &Plan, runs: &[Run]) -> Vec<Verdict> {
    let mut seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let of_seed = |seed| {
        let bench = Bench { plan, runs, seed };
        plan.expectations
            .iter()
            .flat_map(move |expectation| bench.judge(expectation))
    };
    seeds.into_iter().flat_map(of_seed).collect()
}

/// The runs of one seed.
#[derive(Clone, Copy)]
struct Bench<'r> {
    plan: &'r Plan,
    runs: &'r [Run],
    seed: u64,
}

/// What a condition came to: the number in words, and whether it is good enough.
type Finding = (String, bool);

impl<'r> Bench<'r> {
    fn judge(self, expectation: &'r Expectation) -> impl Iterator<Item = Verdict> + 'r {
        let name = expectation.flow.map(|flow| self.plan.flows[flow].name.as_str());
        expectation.conditions.iter().map(move |condition| {
            let found = self
                .run(&expectation.policy)
                .and_then(|run| self.find(run, name, condition));
            let outcome = match found {
                Some((_, true)) => Outcome::Holds,
                Some((_, false)) => Outcome::Fails,
                None => Outcome::NotRun,
            };
            Verdict {
                seed: self.seed,
                policy: expectation.policy.clone(),
                wanted: wanted(condition, name),
                measured: found.map(|(measured, _)| measured).unwrap_or_default(),
                outcome,
            }
        })
    }

    fn run(self, policy: &PolicyName) -> Option<&'r Run> {
        self.runs
            .iter()
            .find(|run| run.seed == self.seed && run.policy == *policy)
    }

    fn find(self, run: &'r Run, name: Option<&str>, condition: &Condition) -> Option<Finding> {
        let flows = flows(run, name)?;
        let moved = total(&flows);
        if let Some(nothing) = moved_nothing(&flows, condition) {
            return Some(nothing);
        }
        match condition {
            Condition::Intact => Some(intact(&flows)),
            Condition::LongestStall(most) => {
                let longest = flows.iter().map(|flow| flow.longest_stall_ms).fold(0.0, f64::max);
                Some(at_most_ms(longest, most.as_secs_f64() * 1e3))
            }
            Condition::StallTotal(most) => {
                let longest = flows.iter().map(|flow| flow.stall_total_ms).fold(0.0, f64::max);
                Some(at_most_ms(longest, most.as_secs_f64() * 1e3))
            }
            Condition::FirstByte(most) => Some(first_byte(&flows, most.as_secs_f64() * 1e3)),
            Condition::Goodput(least) => {
                let mbps: f64 = flows.iter().map(|flow| flow.goodput_mbps).sum();
                Some((format!("{mbps:.2} Mb/s"), mbps >= least.as_mbps_f64()))
            }
            Condition::Moved(least) => Some((format!("{:.3} MB", moved as f64 / 1e6), moved >= least.get())),
            Condition::VersusTcpBest(times) => self.versus(moved, name, &PolicyName::TcpBest, *times),
            Condition::Versus(other, times) => self.versus(moved, name, other, *times),
            Condition::VersusOptimal(times) => {
                run.versus_optimal().map(|ratio| at_least_times(ratio, *times))
            }
        }
    }

    fn versus(self, moved: u64, name: Option<&str>, other: &PolicyName, times: Times) -> Option<Finding> {
        let theirs = total(&flows(self.run(other)?, name)?);
        // Against nothing, anything is enough.
        let ratio = if theirs == 0 {
            f64::INFINITY
        } else {
            moved as f64 / theirs as f64
        };
        Some(at_least_times(ratio, times))
    }
}

/// The flows that a condition is about; `None` if the run has none of that name.
fn flows<'r>(run: &'r Run, name: Option<&str>) -> Option<Vec<&'r Flow>> {
    let chosen: Vec<&Flow> = run
        .flows
        .iter()
        .filter(|flow| name.is_none_or(|name| flow.name == name))
        .collect();
    (!chosen.is_empty()).then_some(chosen)
}

/// Fails conditions on flows that moved nothing: such a flow has no stall and no broken byte, and equals any
/// other idle flow. A condition on each flow fails if any flow is idle, one on their sum if all are.
fn moved_nothing(flows: &[&Flow], condition: &Condition) -> Option<Finding> {
    let of_each = match condition {
        Condition::Intact
        | Condition::LongestStall(_)
        | Condition::StallTotal(_)
        | Condition::FirstByte(_) => true,
        Condition::Goodput(_)
        | Condition::Moved(_)
        | Condition::VersusTcpBest(_)
        | Condition::VersusOptimal(_)
        | Condition::Versus(..) => false,
    };
    let idle: Vec<&str> = flows
        .iter()
        .filter(|flow| flow.bytes == 0)
        .map(|flow| flow.name.as_str())
        .collect();
    let fails = !idle.is_empty() && (of_each || idle.len() == flows.len());
    fails.then(|| (format!("no byte moved by {}", idle.join(", ")), false))
}

fn total(flows: &[&Flow]) -> u64 {
    flows.iter().map(|flow| flow.bytes).sum()
}

fn intact(flows: &[&Flow]) -> Finding {
    let broken: Vec<&str> = flows
        .iter()
        .filter(|flow| flow.intact == Some(false))
        .map(|flow| flow.name.as_str())
        .collect();
    match broken[..] {
        [] => ("intact".to_owned(), true),
        _ => (format!("corrupted in {}", broken.join(", ")), false),
    }
}

fn first_byte(flows: &[&Flow], most_ms: f64) -> Finding {
    match flows
        .iter()
        .map(|flow| flow.first_byte_ms)
        .collect::<Option<Vec<f64>>>()
    {
        Some(times) => at_most_ms(times.into_iter().fold(0.0, f64::max), most_ms),
        None => ("no byte received".to_owned(), false),
    }
}

fn at_most_ms(measured: f64, most: f64) -> Finding {
    (format!("{measured:.1} ms"), measured <= most)
}

fn at_least_times(ratio: f64, times: Times) -> Finding {
    (format!("{ratio:.3} ×"), ratio >= times.as_f64())
}

fn wanted(condition: &Condition, flow: Option<&str>) -> String {
    let ms = |duration: units::Duration| duration.as_secs_f64() * 1e3;
    let what = match condition {
        Condition::Intact => "data arrives intact".to_owned(),
        Condition::LongestStall(most) => format!("no stall over {} ms", ms(*most)),
        Condition::StallTotal(most) => format!("stalls of at most {} ms in total", ms(*most)),
        Condition::FirstByte(most) => format!("first byte within {} ms", ms(*most)),
        Condition::Goodput(least) => format!("at least {} Mb/s", least.as_mbps_f64()),
        Condition::Moved(least) => format!("at least {} MB", least.get() as f64 / 1e6),
        Condition::VersusTcpBest(times) => format!("at least {times} tcp-best"),
        Condition::VersusOptimal(times) => format!("at least {times} the optimum"),
        Condition::Versus(other, times) => format!("at least {times} {other}"),
    };
    flow.map_or_else(|| what.clone(), |flow| format!("{flow}: {what}"))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
