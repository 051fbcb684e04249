//! The table of nftables that gives each flow its mark, and its address on the link that carries it.
//!
//! | chain | what it does |
//! |---|---|
//! | `output` | marks what leaves over the unchanging interface, so that it is routed again, by its mark |
//! | `choose` | the mark of a new flow. It is replaced whenever new flows begin elsewhere |
//! | `restore` | marks arriving packets as their flow, for hosts that check the reverse path |
//! | `leave` | gives packets the address of the link by which they leave |
//!
//! A flow that another program's rules have marked keeps that mark. Its packets follow the present network.

use crate::daemon::api::networks::FlowRule;
use crate::daemon::links::marks;
use crate::rtnl::IfName;
use policy::LinkId;
use std::fmt::Write as _;

/// The chain that says whether the table is in force.
pub(super) const CHAIN: &str = "inet slowhand-networks output";

/// The table. It holds new flows until the first choice.
pub(super) fn table(interface: IfName) -> String {
    let (ours, mask) = (marks::ALL.value, marks::ALL.mask);
    format!(
        "table inet slowhand-networks {{ flags owner;\n\
         chain choose {{ ct mark set {ours:#x}; }};\n\
         chain output {{ type route hook output priority mangle; policy accept; oifname != \"{interface}\" return; \
         ct mark & {mask:#x} == {ours:#x} meta mark set ct mark return; jump choose; meta mark set ct mark; }};\n\
         chain restore {{ type filter hook prerouting priority mangle; policy accept; \
         ct mark & {mask:#x} == {ours:#x} meta mark set ct mark; }};\n\
         chain leave {{ type nat hook postrouting priority srcnat; policy accept; \
         meta mark & {mask:#x} == {ours:#x} oifname != \"{interface}\" masquerade; }}; }}"
    )
}

/// Commands that replace the choice. `chosen` has the link of flows without a rule, then that of each rule.
pub(super) fn choice(rules: &[FlowRule], chosen: &[Option<LinkId>]) -> String {
    let place = "inet slowhand-networks choose";
    let mark_of = |at: usize| {
        let link = chosen.get(at).copied().flatten();
        marks::of_flow(u8::try_from(at).unwrap_or(0), link)
    };
    let mut text = format!("flush chain {place}; ");
    let _ = write!(
        text,
        "add rule {place} ct mark != 0 meta mark set {:#x} accept; ",
        mark_of(0)
    );
    for (at, rule) in (1..).zip(rules) {
        let _ = write!(
            text,
            "add rule {place} {}ct mark set {:#x} return; ",
            selectors(rule),
            mark_of(at)
        );
    }
    let _ = write!(text, "add rule {place} ct mark set {:#x}", mark_of(0));
    text
}

/// What a rule matches, each selector followed by a space.
fn selectors(rule: &FlowRule) -> String {
    let user = rule.user.map(|user| format!("meta skuid {user} "));
    let to = rule.to.map(|to| format!("ip daddr {to} "));
    let port = rule.port.map(|port| format!("udp dport {port} "));
    [user, to, port].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_before_the_common_choice() {
        let rule = FlowRule {
            user: Some(7),
            to: "192.0.2.0/24".parse().ok(),
            port: Some(51_820),
            network: "phone".to_owned(),
        };
        let text = choice(&[rule], &[Some(LinkId(0)), Some(LinkId(2))]);
        let commands = Vec::from_iter(text.split("; "));
        assert_eq!(
            commands,
            [
                "flush chain inet slowhand-networks choose",
                "add rule inet slowhand-networks choose ct mark != 0 meta mark set 0x4e000001 accept",
                "add rule inet slowhand-networks choose meta skuid 7 ip daddr 192.0.2.0/24 udp dport 51820 \
                 ct mark set 0x4e010003 return",
                "add rule inet slowhand-networks choose ct mark set 0x4e000001",
            ]
        );
        assert!(choice(&[], &[None]).ends_with("ct mark set 0x4e000000"), "held");
    }
}
