//! Scenarios with agent and relay in the lab, beside the same without them.

use anyhow::Context as _;
use scenario::Plan;
use serde_json::json;
use trace::{BenchRow, PolicyName};

use super::{Goal, beside, judged};
use crate::declaration::Setup;
use crate::trial::{self, Observed, Trial, gap, plans};

const RELAY: [&str; 2] = ["server=legacy", "relay.rtt_ms=10"];

/// Three links of 50 Mb/s: through the relay, by MPTCP at both ends, and without a relay.
pub fn goodput(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let variants: [&[&str]; 3] = [&RELAY, &[], &["server=legacy"]];
    let text = include_str!("../scenarios/relay-goodput.toml");
    let plans = variants.map(|settings| plans::embedded_with("relay-goodput", text, settings));
    let [relay, mptcp, legacy] = plans;
    let [relayed, both_ends, one_link] = mbps(setup, [&relay?, &mptcp?, &legacy?], PolicyName::Slowhand)?;
    let row = setup.only_row().trials(&ratios(&relayed, &both_ends));
    let row = row
        .with("through_the_relay_mbps", median(&relayed))
        .with("mptcp_at_both_ends_mbps", median(&both_ends))
        .with("without_a_relay_mbps", median(&one_link));
    Ok(vec![judged(row, Goal { must: 0.97, aim: 1.0 })])
}

/// One of three links silently drops everything, through the relay.
pub fn drop(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded_with("stall-drop", include_str!("../scenarios/stall-drop.toml"), &RELAY)?;
    let gaps = |policy: PolicyName| -> anyhow::Result<Vec<f64>> {
        let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
        let trials = seeds.map(|seed| Trial {
            plan: plan.clone(),
            policy: policy.clone(),
            seed,
        });
        trial::side_by_side(trials.collect())?
            .iter()
            .map(gap_ms)
            .collect()
    };
    let row = setup.only_row().trials(&gaps(PolicyName::Slowhand)?);
    let row = beside(row, "kernel alone through the relay", &gaps(PolicyName::Mptcp)?);
    Ok(vec![judged(
        row,
        Goal {
            must: 150.0,
            aim: 100.0,
        },
    )])
}

fn gap_ms(observed: &Observed) -> anyhow::Result<f64> {
    let fault = gap::last_change(&observed.record)?;
    Ok(gap::longest_wait(&observed.only_flow()?.waits, fault.at).as_micros() as f64 / 1e3)
}

/// The second connection to an MPTCP server: how many go directly.
pub fn bypass(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let plan = plans::embedded("relay-bypass", include_str!("../scenarios/relay-bypass.toml"))?;
    let observed = trial::side_by_side(trials(setup, &plan, &PolicyName::Slowhand))?;
    let took = |observed: &Observed, flow: &str, way: &str| {
        let note = format!("{flow} took the way `{way}:");
        observed.run.notes.iter().any(|known| known.starts_with(&note))
    };
    let share = |observed: &Observed| match took(observed, "second", "direct") {
        true => 100.0,
        false => 0.0,
    };
    let shares = Vec::from_iter(observed.iter().map(share));
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let row = BenchRow {
        ours: Some(mean),
        ..setup.only_row().trials(&shares)
    };
    Ok(vec![judged(
        row,
        Goal {
            must: 100.0,
            aim: 100.0,
        },
    )])
}

/// The agent on the direct way, over a link of 300 Mb/s, beside an application that speaks MPTCP itself.
pub fn agent(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let text = include_str!("../scenarios/relay-agent.toml");
    let with = plans::embedded("relay-agent", text)?;
    let without = Plan {
        relay: None,
        ..with.clone()
    };
    let [with, without] = mbps(setup, [&with, &without], PolicyName::Mptcp)?;
    let row = setup.only_row().trials(&ratios(&with, &without));
    let row = row
        .with("with_the_agent_mbps", median(&with))
        .with("without_mbps", median(&without));
    Ok(vec![judged(row, Goal { must: 0.98, aim: 1.0 })])
}

/// The first byte of a reply: client to relay 50 ms, relay to server 30 ms, beside plain TCP over 80 ms.
pub fn first_byte(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let text = include_str!("../scenarios/relay-first-byte.toml");
    let plan = plans::embedded("relay-first-byte", text)?;
    let first = |policy: PolicyName| -> anyhow::Result<Vec<f64>> {
        let observed = trial::side_by_side(trials(setup, &plan, &policy))?;
        observed.iter().map(first_byte_ms).collect()
    };
    let relayed = first(PolicyName::Slowhand)?;
    let direct = first(PolicyName::Tcp("near".to_owned()))?;
    let longer = Vec::from_iter(
        relayed
            .iter()
            .zip(&direct)
            .map(|(relayed, direct)| relayed - direct),
    );
    let row = setup.only_row().trials(&longer);
    let row = row
        .with("through_the_relay_ms", median(&relayed))
        .with("direct_tcp_ms", median(&direct));
    Ok(vec![judged(
        row,
        Goal {
            must: -25.0,
            aim: -40.0,
        },
    )])
}

fn first_byte_ms(observed: &Observed) -> anyhow::Result<f64> {
    let flow = observed.run.flows.iter().find(|flow| flow.name == "reply");
    let first = flow.and_then(|flow| flow.first_byte_ms);
    first.with_context(|| format!("seed {}: no byte arrived", observed.run.seed))
}

fn trials(setup: &Setup, plan: &Plan, policy: &PolicyName) -> Vec<Trial> {
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let trial = |seed| Trial {
        plan: plan.clone(),
        policy: policy.clone(),
        seed,
    };
    seeds.map(trial).collect()
}

/// Goodput of each plan in each trial. The plans take turns.
fn mbps<const N: usize>(
    setup: &Setup,
    plans: [&Plan; N],
    policy: PolicyName,
) -> anyhow::Result<[Vec<f64>; N]> {
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let trial = |(seed, plan): (u64, &Plan)| Trial {
        plan: plan.clone(),
        policy: policy.clone(),
        seed,
    };
    let turns = seeds.flat_map(|seed| plans.map(|plan| (seed, plan)));
    let observed = trial::side_by_side(turns.map(trial).collect())?;
    // Small flows before the download only open its way.
    let goodput = |observed: &Observed| observed.run.flows.last().map_or(0.0, |flow| flow.goodput_mbps);
    let of_plan = |plan: usize| observed.iter().skip(plan).step_by(N).map(goodput).collect();
    Ok(std::array::from_fn(of_plan))
}

fn ratios(ours: &[f64], control: &[f64]) -> Vec<f64> {
    ours.iter()
        .zip(control)
        .map(|(ours, control)| ours / control)
        .collect()
}

fn median(figures: &[f64]) -> serde_json::Value {
    json!(BenchRow::new("", "", trace::Better::Higher).trials(figures).p50)
}
