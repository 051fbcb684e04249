//! Translates a plan's policy and links for the engine.

use policy::estimate::phy::Phy;
use policy::{LinkId, LinkSpec, Policy, Role};
use scenario::{Link, LinkKind, Plan, Standard};
use std::collections::BTreeSet;
use trace::{PolicyError, PolicyName};
use units::wifi::ht::Band;

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
        ..spec(link)
    }
}

/// The PHY of a link's access point. `None` for other links.
pub(super) fn phy(link: &Link) -> Option<Phy> {
    let LinkKind::Wifi(ap) = &link.kind else {
        return None;
    };
    let band = match ap.standard {
        Standard::A => Band::Ghz5,
        Standard::B | Standard::G => Band::Ghz2,
    };
    Some(match ap.ht {
        None => Phy::Legacy(ap.standard),
        Some(ht) => Phy::Ht {
            band,
            width: ht.width,
            guard: ht.guard,
        },
    })
}

/// The channels that several access points share.
pub(super) fn shared_channels(plan: &Plan) -> BTreeSet<u8> {
    let mut known = BTreeSet::new();
    let channels = plan.access_points().map(|(_, ap)| ap.channel);
    channels.filter(|channel| !known.insert(*channel)).collect()
}

/// The engine's description of a link.
pub(super) fn spec(link: &Link) -> LinkSpec {
    LinkSpec {
        name: link.name.clone(),
        kind: link.kind.word().into(),
        role: link.role.into(),
        channel: link.kind.channel(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::wifi::ht::{Guard, Width};

    #[test]
    fn drivers_know_the_phy_and_shared_channels_are_found() {
        let wire = "backhaul = { rate_mbps = 9, rtt_ms = 9 }";
        let text = format!(
            "sentence = \"x\"\nduration_s = 9\n[aps.old]\nat_m = [3, 0]\nstandard = \"b\"\nchannel = 1\n{wire}\n\
             [aps.one]\nat_m = [3, 0]\nstandard = \"a\"\nchannel = 36\nht = {{ streams = 2 }}\n{wire}\n\
             [aps.two]\nat_m = [9, 0]\nstandard = \"a\"\nchannel = 36\nht = {{ streams = 1 }}\n{wire}\n\
             [cables.dsl]\nrate_mbps = 9\nrtt_ms = 9\n[walkers.client]\nat_m = [0, 0]\n\
             [flows.own]\ndirection = \"down\"\n"
        );
        let no_files = |file: &str| Err(std::io::Error::other(format!("{file} is not needed here")));
        let plan = scenario::parse("x.toml", text.as_bytes(), &[], &no_files).unwrap();
        let n = Phy::Ht {
            band: Band::Ghz5,
            width: Width::Mhz20,
            guard: Guard::Long,
        };
        let known: Vec<_> = plan.links.iter().map(phy).collect();
        assert_eq!(known, [Some(Phy::Legacy(Standard::B)), Some(n), Some(n), None]);
        assert_eq!(shared_channels(&plan), BTreeSet::from([36]));
    }
}
