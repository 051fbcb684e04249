//! Translates user-visible names into the engine's types: policies, roles, kinds of link.
//!
//! Written once, so that a name means the same in every world.

use crate::{LinkKind, PolicyName, Role};
use policy::steer::Form;
use policy::{LinkId, Policy};
use thiserror::Error;

/// Why a policy cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// There is no such link.
    #[error("policy `tcp:{link}`: there is no link `{link}`; the links are: {known}")]
    NoSuchLink {
        /// The name.
        link: String,
        /// All links that exist.
        known: String,
    },
    /// It is computed from other runs.
    #[error("policy `tcp-best` cannot run: it is computed from runs of every `tcp:<link>`; run those")]
    Computed,
}

impl PolicyName {
    /// The engine's policy of that name, where these are all the links.
    pub fn in_engine<'a, L>(&self, links: L) -> Result<Policy, PolicyError>
    where
        L: IntoIterator<Item = (LinkId, &'a str)>,
    {
        Ok(match self {
            Self::Tcp(link) => Policy::Tcp(link_named(link, links)?),
            Self::TcpBest => return Err(PolicyError::Computed),
            Self::Handover => Policy::Handover,
            Self::HandoverWarm => Policy::HandoverWarm,
            Self::HandoverCell => Policy::HandoverCell,
            Self::WifiFirst => Policy::WifiFirst,
            Self::Mptcp => Policy::Mptcp,
            Self::Ecn => Policy::Ecn(Form::DEFAULT),
            Self::EcnForm(form) => Policy::Ecn(*form),
            Self::OneAtATime => Policy::OneAtATime,
            Self::Energy(variant) => Policy::Energy(*variant),
            Self::Omniscient => Policy::Omniscient,
            Self::Slowhand => Policy::Slowhand,
            Self::SlowhandNoWindow => Policy::SlowhandNoWindow,
        })
    }
}

fn link_named<'a>(
    wanted: &str,
    links: impl IntoIterator<Item = (LinkId, &'a str)>,
) -> Result<LinkId, PolicyError> {
    let mut known = Vec::new();
    for (id, name) in links {
        if name == wanted {
            return Ok(id);
        }
        known.push(name);
    }
    Err(PolicyError::NoSuchLink {
        link: wanted.to_owned(),
        known: if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        },
    })
}

impl From<LinkKind> for policy::LinkKind {
    fn from(kind: LinkKind) -> Self {
        match kind {
            LinkKind::Wifi => Self::Wifi,
            LinkKind::Cell => Self::Cellular,
            LinkKind::Cable => Self::Cable,
        }
    }
}

impl From<Role> for policy::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Primary => Self::Primary,
            Role::Secondary => Self::Secondary,
            Role::Backup => Self::Backup,
            Role::Never => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: [(LinkId, &str); 2] = [(LinkId(3), "left"), (LinkId(7), "right")];

    #[test]
    fn a_link_is_known_by_its_name() {
        let only = |link: &str| PolicyName::Tcp(link.to_owned()).in_engine(LINKS);
        assert_eq!(only("right"), Ok(Policy::Tcp(LinkId(7))));
        assert_eq!(
            only("middle").unwrap_err().to_string(),
            "policy `tcp:middle`: there is no link `middle`; the links are: left, right"
        );
        let nowhere = PolicyName::Tcp("left".to_owned()).in_engine([]);
        assert_eq!(
            nowhere.unwrap_err().to_string(),
            "policy `tcp:left`: there is no link `left`; the links are: none"
        );
    }

    #[test]
    fn every_policy_except_tcp_best_has_an_engine_policy() {
        let mut found = Vec::new();
        // `ecn` is one of the forms, and has that form's strategy.
        for name in PolicyName::known().filter(|name| *name != PolicyName::Ecn) {
            match name.in_engine(LINKS) {
                Ok(policy) => found.push(policy),
                Err(error) => assert!(
                    name.is_computed() && error == PolicyError::Computed,
                    "{name}: {error}"
                ),
            }
        }
        let all = found.len();
        found.sort_unstable();
        found.dedup();
        assert_eq!((all, found.len()), (PolicyName::known().count() - 2, all));
        let form = |name: &str| name.parse::<PolicyName>().unwrap().in_engine(LINKS);
        assert_eq!(form("ecn"), form("ecn:base-rtt"));
    }
}
