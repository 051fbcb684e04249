//! From the names of policies and links to what the engine calls them.

use policy::steer::Form;
use policy::{LinkId, LinkSpec, Policy};
use scenario::{Link, LinkKind, Plan};
use thiserror::Error;
use trace::{PolicyName, Role};

/// Why a policy cannot be run here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// There is no such link.
    #[error("policy `tcp:{link}`: the scenario has no link `{link}`; it has {known}")]
    NoSuchLink {
        /// The name.
        link: String,
        /// All that there are.
        known: String,
    },
    /// It comes out of other runs.
    #[error("policy `tcp-best` is computed from the runs of all `tcp:<link>`; run those")]
    Computed,
}

/// The engine's policy of that name.
pub(super) fn engine_policy(name: &PolicyName, plan: &Plan) -> Result<Policy, PolicyError> {
    Ok(match name {
        PolicyName::Tcp(link) => match plan.link_index(link) {
            Some(index) => Policy::Tcp(LinkId(index as u16)),
            None => return Err(no_such_link(link, plan)),
        },
        PolicyName::TcpBest => return Err(PolicyError::Computed),
        PolicyName::Handover => Policy::Handover,
        PolicyName::HandoverWarm => Policy::HandoverWarm,
        PolicyName::HandoverCell => Policy::HandoverCell,
        PolicyName::WifiFirst => Policy::WifiFirst,
        PolicyName::Mptcp => Policy::Mptcp,
        PolicyName::Ecn => Policy::Ecn(Form::DEFAULT),
        PolicyName::Slowhand => Policy::Slowhand,
        PolicyName::SlowhandNoWindow => Policy::SlowhandNoWindow,
    })
}

fn no_such_link(link: &str, plan: &Plan) -> PolicyError {
    let known: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    PolicyError::NoSuchLink {
        link: link.to_owned(),
        known: known.join(", "),
    }
}

/// What the engine is told of a link.
pub(super) fn spec(link: &Link) -> LinkSpec {
    let (kind, channel) = match &link.kind {
        LinkKind::Wifi(ap) => (policy::LinkKind::Wifi, Some(ap.channel.into())),
        LinkKind::Cell(_) => (policy::LinkKind::Cellular, None),
        LinkKind::Cable(_) => (policy::LinkKind::Cable, None),
    };
    LinkSpec {
        name: link.name.clone(),
        kind,
        role: match link.role {
            Role::Primary => policy::Role::Primary,
            Role::Secondary => policy::Role::Secondary,
            Role::Backup => policy::Role::Backup,
            Role::Never => policy::Role::Never,
        },
        channel,
    }
}
