//! The table of nftables that gives each flow its mark, and its address on the link that carries it.
//!
//! | chain | what it does |
//! |---|---|
//! | `output` | marks what leaves over the unchanging interface, so that it is routed again, by its mark |
//! | `choose` | the mark of a new flow. It is replaced whenever new flows begin elsewhere |
//! | `restore` | marks arriving packets as their flow, for hosts that check the reverse path |
//! | `leave` | gives packets the address of the link by which they leave |
//!
//! The map `moved` has the marks of flows that move to another link with their next packet.
//!
//! A flow that another program's rules have marked keeps that mark. Its packets follow the present network.

use crate::conntrack::Flow;
use crate::daemon::api::networks::FlowRule;
use crate::daemon::links::marks;
use crate::rtnl::IfName;
use policy::LinkId;
use std::fmt::Write as _;
use std::net::SocketAddr;

/// The chain that says whether the table is in force.
pub(super) const CHAIN: &str = "inet slowhand-networks output";

const MOVED: &str = "inet slowhand-networks moved";

/// The table. It holds new flows until the first choice.
pub(super) fn table(interface: IfName) -> String {
    let (ours, mask) = (marks::ALL.value, marks::ALL.mask);
    format!(
        "table inet slowhand-networks {{ flags owner;\n\
         map moved {{ type ipv4_addr . inet_service . ipv4_addr . inet_service : mark; }};\n\
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
    let ends = "ip saddr . udp sport . ip daddr . udp dport";
    let _ = write!(text, "add rule {place} ct mark set {ends} map @moved return; ");
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

/// The command by which a flow gets this mark with its next packet. `None` for one without ports over IPv4.
pub(super) fn moved(flow: &Flow, mark: u32) -> Option<String> {
    Some(format!("add element {MOVED} {{ {} : {mark:#x} }}", ends(flow)?))
}

/// The command that undoes [`moved`].
pub(super) fn not_moved(flow: &Flow) -> String {
    let ends = ends(flow).unwrap_or_default();
    format!("delete element {MOVED} {{ {ends} }}")
}

/// A flow as a key of the map `moved`.
fn ends(flow: &Flow) -> Option<String> {
    let (SocketAddr::V4(local), SocketAddr::V4(remote)) = (flow.local?, flow.remote?) else {
        return None;
    };
    Some(format!(
        "{} . {} . {} . {}",
        local.ip(),
        local.port(),
        remote.ip(),
        remote.port()
    ))
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
                "add rule inet slowhand-networks choose ct mark set ip saddr . udp sport . ip daddr . udp dport \
                 map @moved return",
                "add rule inet slowhand-networks choose meta skuid 7 ip daddr 192.0.2.0/24 udp dport 51820 \
                 ct mark set 0x4e010003 return",
                "add rule inet slowhand-networks choose ct mark set 0x4e000001",
            ]
        );
        assert!(choice(&[], &[None]).ends_with("ct mark set 0x4e000000"), "held");
    }
}
