//! Translates a plan's policy and links for the engine.

use policy::{LinkId, LinkSpec, Policy, Role};
use scenario::{Link, Plan};
use std::collections::BTreeSet;
use trace::{PolicyError, PolicyName};

/// The engine's policy of that name. Links have the numbers that [`Plan::links`] gives them.
pub(super) fn engine_policy(name: &PolicyName, plan: &Plan) -> Result<Policy, PolicyError> {
    let links = plan.links.iter().map(|link| link.name.as_str());
    name.in_engine((0..).map(LinkId).zip(links))
}

/// The configuration of an engine whose connections go to the scenario's server.
pub(super) fn engine_config(policy: Policy, plan: &Plan) -> policy::Config {
    policy::Config {
        policy,
        peer_subflows: plan.server_subflows.into(),
    }
}

/// The engine's description of a link for a walker other than the client, whose roles are not theirs.
pub(super) fn of_a_walker(link: &Link) -> LinkSpec {
    LinkSpec {
        role: Role::Primary,
        ..radio::spec(link)
    }
}

/// The channels that several access points share.
pub(super) fn shared_channels(plan: &Plan) -> BTreeSet<u8> {
    let mut known = BTreeSet::new();
    let channels = plan.access_points().map(|(_, ap)| ap.channel);
    channels.filter(|channel| !known.insert(*channel)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_channels_are_found() {
        let wire = "backhaul = { rate_mbps = 9, rtt_ms = 9 }";
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.old]\nat_m = [3, 0]\nstandard = \"b\"\nchannel = 1\n{wire}\n\
             [aps.one]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\n{wire}\n\
             [aps.two]\nat_m = [9, 0]\nstandard = \"a\"\nchannel = 36\n{wire}\n\
             [cables.dsl]\nrate_mbps = 9\nrtt_ms = 9\n[walkers.client]\nat_m = [0, 0]\n\
             [flows.own]\ndirection = \"down\"\n"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        let plan = scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap();
        assert_eq!(shared_channels(&plan), BTreeSet::from([36]));
    }
}
