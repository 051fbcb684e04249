//! `cc-…`: what share the coupled congestion controllers take beside others, how fast they respond, and what
//! they cost.
//!
//! All of `cc-…` but the cost have uncoupled Reno as control in the same run. The cost has an empty
//! controller.
//! [`cla_steps`] measures CLA's hand-off stage step by step, in virtual time.

pub mod cla_steps;
mod cost;
mod disjoint;
mod handoff;
mod read;
mod respond;
mod share;
mod shift;

pub use cost::{eight as cost_eight, two as cost_two};
pub use disjoint::run as disjoint;
pub use handoff::{rates as handoff_rates, run as handoff, thin as handoff_thin};
pub use respond::run as respond;
pub use share::{four as share_four, two as share_two};
pub use shift::run as shift;

use linux::bpf::cc::Coupled;
use scenario::Plan;
use trace::{PolicyName, Run};

use crate::declaration::Setup;
use crate::trial::{self, Observed, Trial};

/// The uncoupled controller.
const CONTROL: &str = "reno";
/// Name of the measured connection in every plan.
const OURS: &str = "ours";
/// The controller whose figure is quoted, unless the user chooses another.
const DEFAULT: &str = "lia";

/// The controllers to measure: the user's choice, or all of ours.
fn controllers(setup: &Setup) -> Vec<&str> {
    match &setup.cc {
        Some(cc) => vec![cc],
        None => Coupled::ALL.map(Coupled::id).into(),
    }
}

fn chosen(setup: &Setup) -> &str {
    setup.cc.as_deref().unwrap_or(DEFAULT)
}

/// The plan with another controller of the senders.
fn sent_with(plan: &Plan, cc: &str) -> Plan {
    Plan {
        cc: cc.to_owned(),
        ..plan.clone()
    }
}

/// Uses the kernel's own path manager and scheduler, so that only the controller differs.
fn trial(plan: &Plan, cc: &str, seed: u64) -> Trial {
    Trial {
        plan: sent_with(plan, cc),
        policy: PolicyName::Mptcp,
        seed,
    }
}

/// Runs every plan with every controller in turn, for each seed.
fn run_all(setup: &Setup, plans: &[&Plan], ccs: &[&str]) -> anyhow::Result<Vec<Observed>> {
    let seeds = (0..u64::from(setup.trials())).map(|index| setup.seed + index);
    let of_seed = |seed| {
        plans
            .iter()
            .flat_map(move |plan| ccs.iter().map(move |cc| trial(plan, cc, seed)))
    };
    let observed = trial::side_by_side(seeds.flat_map(of_seed).collect())?;
    for observed in &observed {
        sent_as_asked(observed)?;
        went_over_all(&observed.run)?;
    }
    Ok(observed)
}

/// Refuses a run whose sockets did not use the requested controllers.
fn sent_as_asked(observed: &Observed) -> anyhow::Result<()> {
    let flows = observed.run.flows.iter();
    observed.ensure_sent_as_asked(flows.map(|flow| flow.name.as_str()))
}

/// Refuses a run in which the connection had fewer subflows than links: a single subflow takes a TCP's share,
/// coupled or not.
fn went_over_all(run: &Run) -> anyhow::Result<()> {
    let ours = run.flows.iter().find(|flow| flow.name == OURS);
    let carried = |link: &trace::PathUse| link.bytes > 0;
    let over = ours.map_or(0, |flow| flow.paths.iter().filter(|path| carried(path)).count());
    anyhow::ensure!(
        over == run.links.len(),
        "seed {}: {over} of {} links carried data of the connection; this run has no result, please report this",
        run.seed,
        run.links.len()
    );
    Ok(())
}

/// The figure of every run with this controller.
fn figures(
    observed: &[Observed],
    cc: &str,
    figure: impl Fn(&Observed) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<f64>> {
    let sent = observed
        .iter()
        .filter(|observed| observed.run.cc.as_deref() == Some(cc));
    sent.map(figure).collect()
}

/// Least, median and greatest of some figures, as a row has them.
fn spread(figures: &[f64]) -> serde_json::Value {
    let row = trace::BenchRow::new("", "", trace::Better::Lower).trials(figures);
    serde_json::json!([row.min, row.p50, row.max])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A run with an access point and LTE, with the bytes of the connection that each carried.
    fn run(ap: u64, lte: u64) -> Run {
        let link = |name, kind| {
            json!({
                "name": name, "kind": kind, "frames": 0, "retries": 0, "collisions": 0, "airtime_share": 0.0
            })
        };
        let path = |link, bytes| json!({"link": link, "bytes": bytes, "retransmits": 0, "ce_marks": 0});
        let flow = json!({
            "name": OURS, "bytes": ap + lte, "goodput_mbps": 1.0, "intact": true, "first_byte_ms": null,
            "longest_stall_ms": 0.0, "stall_total_ms": 0.0, "paths": [path("west", ap), path("lte", lte)]
        });
        let run = json!({
            "policy": "mptcp", "server": "slowhand", "seed": 3, "duration_s": 1.0, "flows": [flow],
            "links": [link("west", "wifi"), link("lte", "cell")]
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn a_link_that_carried_nothing_is_noticed() {
        assert!(went_over_all(&run(1, 1)).is_ok());
        let why = went_over_all(&run(1, 0)).unwrap_err().to_string();
        assert!(why.contains("seed 3: 1 of 2 links"), "{why}");
    }

    #[test]
    fn all_of_ours_are_measured_unless_one_is_asked_for() {
        let measured = |cc: Option<&str>| {
            let setup = Setup {
                bench: crate::catalogue::bench("cc-shift"),
                asked_trials: None,
                beside: None,
                cc: cc.map(str::to_owned),
                seed: 1,
            };
            controllers(&setup).join(" ")
        };
        assert_eq!(measured(None), "lia olia balia cla");
        assert_eq!(measured(Some("olia")), "olia");
    }
}
