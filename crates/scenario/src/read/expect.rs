//! `[[expect]]`.

use super::{bps, bytes, names, nanos};
use crate::plan::{Condition, Expectation, Flow, Link, Times, Transport};
use crate::quantity::Quantity;
use crate::section::Section;
use trace::PolicyName;

pub(super) fn all(root: &Section<'_>, links: &[Link], flows: &[Flow]) -> Vec<Expectation> {
    root.tables("expect", "expectation")
        .iter()
        .map(|section| one(section, links, flows))
        .collect()
}

fn one(section: &Section<'_>, links: &[Link], flows: &[Flow]) -> Expectation {
    if !section.has("policy") {
        section.missing(
            "policy",
            "`policy`: the policy whose run is judged, such as \"slowhand\"",
        );
    }
    let expectation = Expectation {
        policy: names::policy(section, "policy", links).unwrap_or(PolicyName::Slowhand),
        flow: flow(section, flows),
        conditions: conditions(section, links),
    };
    if expectation.conditions.is_empty() && !KEYS.iter().any(|key| section.has(key)) {
        section.log.note(
            section.at,
            "the expectation has no condition",
            format!("add one of {}", KEYS.join(", ")),
        );
    }
    if expectation.flow.is_some() && section.has("vs_optimal_min") {
        section.note(
            "vs_optimal_min",
            "the optimum is computed for a whole run, not for a flow",
            "remove `flow`",
        );
    }
    let is_datagrams = |flow: &Flow| matches!(flow.transport, Transport::Udp { .. });
    let of_datagrams = match expectation.flow {
        Some(flow) => is_datagrams(&flows[flow]),
        None => !flows.is_empty() && flows.iter().all(is_datagrams),
    };
    if section.has("intact") && of_datagrams {
        section.note(
            "intact",
            "datagrams may be lost, so their flow is never intact",
            "remove it, or expect `goodput_mbps_min`",
        );
    }
    section.finish();
    expectation
}

/// Every condition's key.
const KEYS: [&str; 9] = [
    "intact",
    "longest_stall_ms_max",
    "stall_total_ms_max",
    "first_byte_ms_max",
    "goodput_mbps_min",
    "moved_mb_min",
    "vs_tcp_best_min",
    "vs_optimal_min",
    "vs",
];

fn flow(section: &Section<'_>, flows: &[Flow]) -> Option<usize> {
    let name = section.text("flow")?;
    names::resolve(
        section,
        section.place_of("flow"),
        "flow",
        name,
        flows.iter().map(|flow| flow.name.as_str()),
    )
}

fn conditions(section: &Section<'_>, links: &[Link]) -> Vec<Condition> {
    if section.flag("intact") == Some(false) {
        section.note("intact", "`intact` cannot be false", "give true, or remove it");
    }
    let stall = |key| section.amount(key, &Quantity::MS).map(nanos);
    let times = |key| section.amount(key, &Quantity::TIMES).map(factor);
    [
        section.flag("intact").map(|_| Condition::Intact),
        stall("longest_stall_ms_max").map(Condition::LongestStall),
        stall("stall_total_ms_max").map(Condition::StallTotal),
        stall("first_byte_ms_max").map(Condition::FirstByte),
        section
            .amount("goodput_mbps_min", &Quantity::MBPS)
            .map(|rate| Condition::Goodput(bps(rate))),
        section
            .amount("moved_mb_min", &Quantity::MB)
            .map(|moved| Condition::Moved(bytes(moved))),
        times("vs_tcp_best_min").map(Condition::VersusTcpBest),
        times("vs_optimal_min").map(Condition::VersusOptimal),
        section.child("vs", "`vs`").and_then(|vs| versus(&vs, links)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn factor(thousandths: i64) -> Times {
    Times::from_thousandths(thousandths as u32)
}

fn versus(section: &Section<'_>, links: &[Link]) -> Option<Condition> {
    for key in ["policy", "min"] {
        if !section.has(key) {
            section.missing(
                key,
                "`policy` and `min`: the least ratio to the bytes that this policy moves",
            );
        }
    }
    let policy = names::policy(section, "policy", links);
    let min = section.amount("min", &Quantity::TIMES).map(factor);
    section.finish();
    Some(Condition::Versus(policy?, min?))
}
