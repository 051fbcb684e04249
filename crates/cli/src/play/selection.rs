//! Selects the policies of a command line, in the order in which they are run and shown.

use scenario::{LinkKind, Plan};
use trace::PolicyName;

use super::idle;
use show::exit::Refused;

/// The policies to run. `asked` are those of the command line; `compare` selects the scenario's own list, or
/// all policies.
pub fn policies(plan: &Plan, asked: &[PolicyName], compare: bool) -> anyhow::Result<Vec<PolicyName>> {
    if compare && !plan.sends_by_tcp() {
        return Err(Refused::because(format!(
            "--compare: all flows of {} are datagrams over links that the scenario names, so every policy would \
             give the same; use TCP flows",
            plan.name
        )));
    }
    let chosen = match (asked, compare) {
        ([], true) if plan.policies.is_empty() => everything(plan),
        ([], true) => plan.policies.clone(),
        ([], false) => vec![PolicyName::Slowhand],
        (asked, _) => asked.to_vec(),
    };
    chosen.iter().try_for_each(|policy| possible(plan, policy))?;
    Ok(with_what_is_needed(plan, chosen))
}

/// The policies to compare that mean something in this scenario: plain TCP first, ours last. Variants of one
/// another are compared on request only.
fn everything(plan: &Plan) -> Vec<PolicyName> {
    let has = |wanted: fn(&LinkKind) -> bool| plan.links.iter().any(|link| wanted(&link.kind));
    let wifi = has(|kind| matches!(kind, LinkKind::Wifi(_)));
    let cell = has(|kind| matches!(kind, LinkKind::Cell(_)));
    let mut all = single_links(plan);
    all.push(PolicyName::TcpBest);
    if wifi {
        all.extend([PolicyName::Handover, PolicyName::HandoverWarm]);
    }
    if wifi && cell {
        all.extend([PolicyName::HandoverCell, PolicyName::WifiFirst]);
    }
    all.push(PolicyName::Mptcp);
    if idle::shares_air(plan) {
        all.push(PolicyName::Ecn);
    }
    all.extend([PolicyName::SlowhandNoWindow, PolicyName::Slowhand]);
    all
}

/// Refuses policies that must know the future, for the lab.
pub fn foreseeable(policies: &[PolicyName]) -> anyhow::Result<()> {
    match policies.iter().find(|policy| policy.needs_foresight()) {
        Some(policy) => Err(Refused::because(format!(
            "policy `{policy}` must know what the links will carry, and only virtual time does; use --world sim"
        ))),
        None => Ok(()),
    }
}

fn single_links(plan: &Plan) -> Vec<PolicyName> {
    plan.links
        .iter()
        .map(|link| PolicyName::Tcp(link.name.clone()))
        .collect()
}

fn possible(plan: &Plan, policy: &PolicyName) -> anyhow::Result<()> {
    match policy {
        PolicyName::Tcp(link) if plan.link(link).is_none() => {
            let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
            let known = names.join(", ");
            Err(Refused::because(format!(
                "policy `tcp:{link}`: {} has no link `{link}`; its links are: {known}",
                plan.name
            )))
        }
        // The others of their kind have a cell or a cable to go by.
        PolicyName::Handover | PolicyName::HandoverWarm if plan.access_points().next().is_none() => {
            Err(Refused::because(format!(
                "policy `{policy}` needs access points, and {} has none; choose another policy, or add an [aps.NAME]",
                plan.name
            )))
        }
        _ => Ok(()),
    }
}

/// `tcp-best` is computed from the runs over each link alone, so they come with it; nothing is run twice.
fn with_what_is_needed(plan: &Plan, chosen: Vec<PolicyName>) -> Vec<PolicyName> {
    let mut list = Vec::new();
    for policy in chosen {
        let needed = if policy == PolicyName::TcpBest {
            single_links(plan)
        } else {
            Vec::new()
        };
        for policy in needed.into_iter().chain([policy]) {
            if !list.contains(&policy) {
                list.push(policy);
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(report: &str) -> Plan {
        let text = format!(
            "sentence = \"x\"\nduration_s = 1\n[cables.a]\nrate_mbps = 1\nrtt_ms = 1\n[cells.b]\nrate_mbps = 1\nrtt_ms = 1\n\
             [flows.f]\ndirection = \"down\"\n{report}"
        );
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        scenario::parse("test.toml", text.as_bytes(), &[], &no_files).unwrap()
    }

    fn names(plan: &Plan, asked: &[&str], compare: bool) -> Vec<String> {
        let asked: Vec<PolicyName> = asked.iter().map(|name| name.parse().unwrap()).collect();
        policies(plan, &asked, compare)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn slowhand_is_the_default_policy() {
        assert_eq!(names(&plan(""), &[], false), ["slowhand"]);
        assert_eq!(names(&plan(""), &["mptcp", "tcp:a"], false), ["mptcp", "tcp:a"]);
    }

    #[test]
    fn tcp_best_adds_a_run_for_every_link() {
        assert_eq!(
            names(&plan(""), &["tcp:b", "tcp-best"], false),
            ["tcp:b", "tcp:a", "tcp-best"]
        );
    }

    #[test]
    fn a_comparison_skips_policies_that_do_not_apply() {
        let all = names(&plan(""), &[], true);
        assert_eq!(
            all,
            [
                "tcp:a",
                "tcp:b",
                "tcp-best",
                "mptcp",
                "slowhand-no-window",
                "slowhand"
            ]
        );
    }

    #[test]
    fn datagrams_are_not_compared_under_several_policies() {
        let text = "sentence = \"x\"\nduration_s = 1\n[cables.a]\nrate_mbps = 1\nrtt_ms = 1\n\
                    [flows.f]\ntransport = \"udp\"\nover = \"a\"\ndirection = \"down\"\n";
        let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let plan = scenario::parse("test.toml", text.as_bytes(), &[], &no_files).unwrap();
        let error = policies(&plan, &[], true).unwrap_err().to_string();
        assert!(error.contains("all flows of test are datagrams"), "{error}");
        assert!(policies(&plan, &[], false).is_ok());
    }

    #[test]
    fn a_scenario_can_list_the_policies_to_compare() {
        let plan = plan("[report]\npolicies = [\"mptcp\", \"slowhand\"]\n");
        assert_eq!(names(&plan, &[], true), ["mptcp", "slowhand"]);
    }

    #[test]
    fn a_beacon_policy_without_access_points_is_refused() {
        for policy in [PolicyName::Handover, PolicyName::HandoverWarm] {
            let error = policies(&plan(""), std::slice::from_ref(&policy), false).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "policy `{policy}` needs access points, and test has none; choose another policy, or add an [aps.NAME]"
                )
            );
        }
        assert!(policies(&plan(""), &[PolicyName::HandoverCell], false).is_ok());
    }

    #[test]
    fn an_unknown_link_is_refused_with_the_known_ones() {
        let asked = [PolicyName::Tcp("lte".to_owned())];
        let error = policies(&plan(""), &asked, false).unwrap_err().to_string();
        assert!(error.contains("no link `lte`; its links are: a, b"), "{error}");
    }
}
