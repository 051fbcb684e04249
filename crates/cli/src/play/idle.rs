//! Runs in which a policy could not act: what it decides about was not there. Their figures say nothing about
//! the policy.

use std::collections::BTreeSet;

use scenario::{LinkKind, Plan};
use trace::{PolicyName, Run};

/// Runs in which the policy could not act, a line each.
pub fn reports(plan: &Plan, runs: &[Run]) -> Vec<String> {
    let said = |run: &Run| {
        let why = why(plan, run)?;
        Some(format!(
            "{} (seed {}): the policy could not act: {why}",
            run.policy, run.seed
        ))
    };
    runs.iter().filter_map(said).collect()
}

fn why(plan: &Plan, run: &Run) -> Option<&'static str> {
    let lacks = match &run.policy {
        policy if policy.is_marking() => no_choice_of_access_points(plan).or_else(|| nothing_to_mark(run)),
        PolicyName::OneAtATime => no_choice_of_access_points(plan),
        PolicyName::Energy(_) => (radios(plan) < 2).then_some(
            "it chooses among radios, and the scenario has fewer than two; add an access point or a cell",
        ),
        PolicyName::Omniscient => (plan.links.len() < 2)
            .then_some("it chooses among links, and the scenario has only one; add another"),
        _ => return None,
    };
    let datagrams = "all flows are datagrams over links that the scenario names; use TCP flows";
    let bound = (!plan.sends_by_tcp()).then_some(datagrams);
    bound.or(lacks)
}

fn no_choice_of_access_points(plan: &Plan) -> Option<&'static str> {
    (!shares_air(plan)).then_some(
        "it chooses among access points of one channel, and no channel has two; give two the same `channel`",
    )
}

/// Marks were requested, but no packet could be marked.
fn nothing_to_mark(run: &Run) -> Option<&'static str> {
    let marks = || run.links.iter().filter_map(|link| link.marks);
    let requested = marks().next().is_some();
    let markable = marks().any(|marks| marks.ect > 0);
    (requested && !markable)
        .then_some("no packet that arrived was ECN-capable; check that the server uses ECN")
}

/// Radios that draw from a battery: one for each WiFi channel, and one for each cell.
fn radios(plan: &Plan) -> usize {
    let channels: BTreeSet<u8> = plan.access_points().map(|(_, ap)| ap.channel).collect();
    let cells = plan
        .links
        .iter()
        .filter(|link| matches!(link.kind, LinkKind::Cell(_)));
    channels.len() + cells.count()
}

/// Whether two access points use one channel: elsewhere there is nothing to steer between.
pub fn shares_air(plan: &Plan) -> bool {
    let channels: BTreeSet<u8> = plan.access_points().map(|(_, ap)| ap.channel).collect();
    channels.len() < plan.access_points().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::LinkMarks;

    fn plan(links: &str, flow: &str) -> Plan {
        let text = format!(
            "sentence = \"x\"\nduration_s = 1\n{links}[walkers.client]\nat_m = [0, 0]\n[flows.f]\n{flow}\n"
        );
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse("test.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    fn access_point(name: &str, channel: u8) -> String {
        format!(
            "[aps.{name}]\nat_m = [1, 0]\nchannel = {channel}\nbackhaul = {{ rate_mbps = 9, rtt_ms = 9 }}\n"
        )
    }

    fn run(policy: &str, marks: Option<LinkMarks>) -> Run {
        let link = serde_json::json!({ "name": "a", "kind": "wifi", "frames": 1, "retries": 0, "collisions": 0,
            "airtime_share": 0.5, "marks": marks });
        let run = serde_json::json!({ "policy": policy, "server": "stock", "seed": 1, "duration_s": 1.0, "flows": [],
            "links": [link] });
        serde_json::from_value(run).unwrap()
    }

    fn said(plan: &Plan, policy: &str) -> bool {
        !reports(plan, &[run(policy, None)]).is_empty()
    }

    #[test]
    fn a_policy_with_nothing_to_choose_from_says_so() {
        let tcp = "direction = \"down\"";
        let (one, other) = (access_point("a", 6), access_point("b", 11));
        let apart = plan(&format!("{one}{other}"), tcp);
        let together = plan(&format!("{one}{}", access_point("b", 6)), tcp);
        for policy in ["ecn", "ecn:cap", "one-at-a-time"] {
            assert!(said(&apart, policy) && !said(&together, policy), "{policy}");
        }
        assert!(
            !said(&apart, "energy:probing") && said(&together, "energy:probing"),
            "one radio a channel"
        );
        let single = plan(&one, tcp);
        assert!(said(&single, "omniscient") && !said(&apart, "omniscient"));
        assert!(!said(&single, "slowhand") && !said(&single, "mptcp") && !said(&single, "handover"));
        let datagrams = plan(
            &format!("{one}{}", access_point("b", 6)),
            "transport = \"udp\"\nover = \"a\"\ndirection = \"down\"",
        );
        assert!(said(&datagrams, "ecn") && !said(&datagrams, "slowhand"));
    }

    #[test]
    fn marks_need_packets_that_can_be_marked() {
        let two = format!("{}{}", access_point("a", 6), access_point("b", 6));
        let plan = plan(&two, "direction = \"down\"");
        let marks = |ect| LinkMarks {
            ect,
            not_ect: 9,
            asked: 0,
            made: 0,
        };
        assert_eq!(
            reports(&plan, &[run("ecn", Some(marks(0)))]),
            [
                "ecn (seed 1): the policy could not act: no packet that arrived was ECN-capable; check that the server uses ECN"
            ]
        );
        assert!(reports(&plan, &[run("ecn", Some(marks(1)))]).is_empty());
    }
}
