//! Checks what a policy needs of the declared links. A policy that lacks it could decide nothing, so it is
//! refused at the start.
//!
//! Beacons are no such need: without them the handover policies use carrier, address and the order of the
//! links.

use policy::{LinkKind, LinkSpec, Role};
use trace::PolicyName;

/// Why this policy could decide nothing over these links; `None` if it can.
pub fn unmet<'a>(name: &PolicyName, links: impl Iterator<Item = &'a LinkSpec>) -> Option<String> {
    let mut links = links;
    match name {
        PolicyName::Handover | PolicyName::HandoverWarm => {
            let may_be_chosen = |link: &LinkSpec| link.kind == LinkKind::Wifi && link.role != Role::Never;
            (!links.any(may_be_chosen)).then(|| {
                format!(
                    "policy `{name}` chooses among access points, and no usable [[link]] has kind \"wifi\"; add one, or use `slowhand`"
                )
            })
        }
        PolicyName::Tcp(only) => {
            let is_barred = |link: &LinkSpec| link.name == *only && link.role == Role::Never;
            links.any(is_barred).then(|| {
                format!(
                    "policy `{name}` uses link `{only}` alone, and its role is \"never\"; give it another role, or change the policy"
                )
            })
        }
        PolicyName::TcpBest
        | PolicyName::HandoverCell
        | PolicyName::WifiFirst
        | PolicyName::Mptcp
        | PolicyName::Ecn
        | PolicyName::EcnForm(_)
        | PolicyName::OneAtATime
        | PolicyName::Energy(_)
        | PolicyName::Omniscient
        | PolicyName::Slowhand
        | PolicyName::SlowhandNoWindow => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, kind: LinkKind, role: Role) -> LinkSpec {
        LinkSpec {
            name: name.to_owned(),
            kind,
            role,
            channel: None,
        }
    }

    fn said(policy: &str, links: &[LinkSpec]) -> Option<String> {
        unmet(&policy.parse().unwrap(), links.iter())
    }

    #[test]
    fn hand_over_needs_an_access_point_that_may_be_used() {
        let modem = link("lte", LinkKind::Cellular, Role::Primary);
        let barred = link("home", LinkKind::Wifi, Role::Never);
        let links = [modem, barred];
        assert_eq!(
            said("handover", &links).unwrap(),
            "policy `handover` chooses among access points, and no usable [[link]] has kind \"wifi\"; add one, or use `slowhand`"
        );
        assert!(said("handover-warm", &links).is_some());
        assert_eq!(said("handover+cell", &links), None, "the modem is used");
        assert_eq!(said("wifi-first", &links), None, "the modem is used");
        let usable = [
            links,
            [
                link("cafe", LinkKind::Wifi, Role::Backup),
                link("x", LinkKind::Cable, Role::Never),
            ],
        ];
        assert_eq!(said("handover", usable.as_flattened()), None);
    }

    #[test]
    fn plain_tcp_needs_a_link_that_may_be_used() {
        let links = [
            link("lte", LinkKind::Cellular, Role::Never),
            link("dsl", LinkKind::Cable, Role::Primary),
        ];
        assert_eq!(
            said("tcp:lte", &links).unwrap(),
            "policy `tcp:lte` uses link `lte` alone, and its role is \"never\"; give it another role, or change the policy"
        );
        assert_eq!(said("tcp:dsl", &links), None);
        assert_eq!(said("mptcp", &links), None);
    }
}
