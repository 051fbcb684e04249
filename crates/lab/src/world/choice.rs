//! Translates a plan's policy and links for the engine.

use policy::{LinkId, LinkSpec, Policy};
use scenario::{Link, Plan};
use trace::{PolicyError, PolicyName};

/// The engine's policy of that name. Links have the numbers that [`Plan::links`] gives them.
pub(super) fn engine_policy(name: &PolicyName, plan: &Plan) -> Result<Policy, PolicyError> {
    let links = plan.links.iter().map(|link| link.name.as_str());
    name.in_engine((0..).map(LinkId).zip(links))
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
