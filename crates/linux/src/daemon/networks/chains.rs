//! The table of nftables that gives each flow its mark, and its address on the link that carries it.
//!
//! | chain | what it does |
//! |---|---|
//! | `output` | marks what leaves over the unchanging interface, so that it is routed again, by its mark |
//! | `choose` | the mark of a new flow. It is replaced whenever new flows begin elsewhere |
//! | `restore` | marks arriving packets as their flow, for hosts that check the reverse path |
//! | `leave` | gives packets the address of the link by which they leave |
//! | `names`, `unknown` | send queries for names to the resolver of their link (`names.rs`) |
//!
//! Some programs send each packet over the interface on which the last reply came, such as `wireguard-go`
//! (`IP_PKTINFO`). They are known by their address, and routed by their mark like all others.
//!
//! Packets that another program marks keep that mark, unless a rule of the user names it. They leave as its
//! routing rules say, and also get the address of that link.
//!
//! The map `moved` has the marks of flows that move to another link with their next packet.
//!
//! While a flow has no entry in connection tracking, replies to its earlier packets may still arrive, with
//! the address of a link. A program would be told that address and could keep to it. A connected socket would
//! refuse the reply. So `restore` drops what would begin an entry, if the flow has sent within [`LATE`].
//!
//! A flow that another program's rules have marked keeps that mark. Its packets follow the present network.

use super::cgroup::{Cgroup, Cgroups};
use crate::conntrack::Flow;
use crate::daemon::api::networks::FlowRule;
use crate::daemon::links::marks;
use policy::LinkId;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The chain that says whether the table is in force.
pub(super) const CHAIN: &str = "inet slowhand-networks output";

const MOVED: &str = "inet slowhand-networks moved";

/// How late a reply may arrive over a link that its flow has left.
const LATE: Duration = Duration::from_secs(2);
/// The most flows whose late replies are known.
const MOST_LATE: u32 = 65_536;
/// Any number. It decides which server uses which link.
const SEED: u32 = 0x6a68;

/// The table for the interface with this number and address, with more chains. It holds new flows until the
/// first choice.
pub(super) fn table((interface, address): (u32, Ipv4Addr), more: &str) -> String {
    let (ours, mask, late) = (marks::ALL.value, marks::ALL.mask, LATE.as_secs());
    format!(
        "table inet slowhand-networks {{ flags owner;\n\
         map moved {{ type ipv4_addr . inet_service . ipv4_addr . inet_service : mark; }};\n\
         set sent {{ type inet_service . ipv4_addr . inet_service; flags dynamic, timeout; \
         timeout {late}s; size {MOST_LATE}; }};\n\
         chain choose {{ ct mark set {ours:#x}; }};\n{more}\
         chain output {{ type route hook output priority mangle; policy accept; \
         oif != {interface} ip saddr != {address} return; oif != {interface} meta l4proto != udp return; \
         update @sent {{ udp sport . ip daddr . udp dport }}; \
         ct mark & {mask:#x} == {ours:#x} meta mark set ct mark return; jump choose; meta mark set ct mark; }};\n\
         chain restore {{ type filter hook prerouting priority mangle; policy accept; \
         ct status & confirmed == 0 udp dport . ip saddr . udp sport @sent drop; \
         ct mark & {mask:#x} == {ours:#x} meta mark set ct mark; }};\n\
         chain leave {{ type nat hook postrouting priority srcnat; policy accept; \
         ip saddr {address} oif != {interface} masquerade; }}; }}"
    )
}

/// Where some new flows begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pick {
    /// On this link. `None`: they are held.
    One(Option<LinkId>),
    /// On several, in proportion.
    Shares(Vec<(LinkId, u16)>),
    /// On several, each server on one of them.
    ByServer(Vec<LinkId>),
}

impl Default for Pick {
    fn default() -> Self {
        Self::One(None)
    }
}

impl Pick {
    /// All links on which they may begin.
    pub(super) fn links(&self) -> Vec<LinkId> {
        match self {
            Self::One(link) => Vec::from_iter(*link),
            Self::Shares(shares) => shares.iter().map(|(link, _)| *link).collect(),
            Self::ByServer(links) => links.clone(),
        }
    }

    /// The expression for the mark of flows of the rule with this number.
    fn mark(&self, rule: u8) -> String {
        let mark = |link| format!("{:#x}", marks::of_flow(rule, Some(link)));
        match self {
            Self::One(link) => format!("{:#x}", marks::of_flow(rule, *link)),
            Self::Shares(shares) => {
                let (mut from, mut ranges) = (0, Vec::new());
                for &(link, share) in shares {
                    let to = from + u32::from(share) - 1;
                    ranges.push(format!("{from}-{to} : {}", mark(link)));
                    from = to + 1;
                }
                format!("numgen random mod {from} map {{ {} }}", ranges.join(", "))
            }
            Self::ByServer(links) => {
                let places = links
                    .iter()
                    .zip(0..)
                    .map(|(&link, at)| format!("{at} : {}", mark(link)));
                let places = Vec::from_iter(places).join(", ");
                // With a seed of its own, the kernel would place servers anew with each change.
                format!(
                    "jhash ip daddr mod {} seed {SEED:#x} map {{ {places} }}",
                    links.len()
                )
            }
        }
    }
}

/// Where new flows begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Choice {
    /// Flows that match no rule.
    pub(super) common: Pick,
    /// The flows of each rule, by its number.
    pub(super) of_rules: Vec<(u8, Pick)>,
    /// The cgroups of rules that name one, by their numbers. `None`: it does not exist now.
    pub(super) cgroups: Cgroups,
}

impl Choice {
    /// Where flows of the rule with this number begin. 0: those that match none.
    pub(super) fn of(&self, number: u8) -> &Pick {
        let rule = self.of_rules.iter().find(|(other, _)| *other == number);
        rule.map_or(&self.common, |(_, pick)| pick)
    }

    /// Changes what [`Choice::of`] returns.
    pub(super) fn set(&mut self, number: u8, link: Option<LinkId>) {
        match self.of_rules.iter_mut().find(|(other, _)| *other == number) {
            Some((_, place)) => *place = Pick::One(link),
            None => self.common = Pick::One(link),
        }
    }
}

/// Commands that replace the choice.
pub(super) fn choice(rules: &[(u8, FlowRule)], chosen: &Choice) -> String {
    let place = "inet slowhand-networks choose";
    let mut text = format!("flush chain {place}; ");
    let _ = write!(
        text,
        "add rule {place} ct mark != 0 meta mark set {:#x} accept; ",
        marks::of_flow(0, chosen.common.links().first().copied())
    );
    let _ = write!(text, "add rule {place} {}accept; ", marks_of_others(rules));
    let ends = "ip saddr . udp sport . ip daddr . udp dport";
    let _ = write!(text, "add rule {place} ct mark set {ends} map @moved return; ");
    for (number, rule) in rules {
        let cgroup = chosen.cgroups.get(number).and_then(Option::as_ref);
        let Some(selectors) = selectors(rule, cgroup) else {
            continue;
        };
        let mark = chosen.of(*number).mark(*number);
        let _ = write!(text, "add rule {place} {selectors}ct mark set {mark} return; ");
    }
    let _ = write!(text, "add rule {place} ct mark set {}", chosen.common.mark(0));
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

/// Selects packets with a mark that neither a rule nor a wish names.
fn marks_of_others(rules: &[(u8, FlowRule)]) -> String {
    let named = rules.iter().filter_map(|(_, rule)| rule.mark);
    let known = BTreeSet::from_iter(named.chain([marks::NONE.value]));
    let known = Vec::from_iter(known.into_iter().map(|mark| format!("{mark:#x}")));
    let (wish, mask) = (marks::WISHES.value, marks::WISHES.mask);
    format!(
        "meta mark != {{ {} }} meta mark & {mask:#x} != {wish:#x} ",
        known.join(", ")
    )
}

/// What a rule matches, each selector followed by a space. `None`: its cgroup does not exist now. nftables
/// would refuse the rule, and all others with it.
fn selectors(rule: &FlowRule, cgroup: Option<&Cgroup>) -> Option<String> {
    if rule.cgroup.is_some() && cgroup.is_none() {
        return None;
    }
    let cgroup = cgroup.map(|cgroup| cgroup.selector() + " ");
    let user = rule.user.map(|user| format!("meta skuid {user} "));
    let to = rule.to.map(|to| format!("ip daddr {to} "));
    let port = rule.port.map(|port| format!("udp dport {port} "));
    let mark = rule.mark.map(|mark| format!("meta mark {mark:#x} "));
    Some([user, to, port, mark, cgroup].into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::api::networks::Target;

    #[test]
    fn rules_come_before_the_common_choice() {
        let rule = FlowRule {
            user: Some(7),
            to: "192.0.2.0/24".parse().ok(),
            port: Some(51_820),
            mark: Some(9),
            cgroup: Some("a.slice".to_owned()),
            network: Target::Link("phone".to_owned()),
            holds: false,
        };
        // Its cgroup does not exist.
        let waits = FlowRule {
            cgroup: Some("b.slice".to_owned()),
            ..rule.clone()
        };
        let chosen = Choice {
            common: Pick::One(Some(LinkId(0))),
            of_rules: vec![(1, Pick::One(Some(LinkId(2)))), (2, Pick::One(Some(LinkId(2))))],
            cgroups: [(1, Some(Cgroup::of_test("unified/a.slice", 1))), (2, None)].into(),
        };
        let text = choice(&[(1, rule), (2, waits)], &chosen);
        let commands = Vec::from_iter(text.split("; "));
        assert_eq!(
            commands,
            [
                "flush chain inet slowhand-networks choose",
                "add rule inet slowhand-networks choose ct mark != 0 meta mark set 0x4e000001 accept",
                "add rule inet slowhand-networks choose meta mark != { 0x0, 0x9 } \
                 meta mark & 0xff000000 != 0x4f000000 accept",
                "add rule inet slowhand-networks choose ct mark set ip saddr . udp sport . ip daddr . udp dport \
                 map @moved return",
                "add rule inet slowhand-networks choose meta skuid 7 ip daddr 192.0.2.0/24 udp dport 51820 \
                 meta mark 0x9 socket cgroupv2 level 1 \"unified/a.slice\" ct mark set 0x4e010003 return",
                "add rule inet slowhand-networks choose ct mark set 0x4e000001",
            ]
        );
        assert!(
            choice(&[], &Choice::default()).ends_with("ct mark set 0x4e000000"),
            "held"
        );
    }

    #[test]
    fn shares_divide_what_no_rule_matches() {
        let chosen = Choice {
            common: Pick::Shares(vec![(LinkId(0), 9), (LinkId(2), 1)]),
            ..Choice::default()
        };
        assert!(
            choice(&[], &chosen).ends_with(
                "choose ct mark set numgen random mod 10 map { 0-8 : 0x4e000001, 9-9 : 0x4e000003 }"
            )
        );
    }

    #[test]
    fn servers_are_spread_over_links() {
        let pick = Pick::ByServer(vec![LinkId(0), LinkId(2)]);
        let map = "map { 0 : 0x4e050001, 1 : 0x4e050003 }";
        assert_eq!(pick.mark(5), format!("jhash ip daddr mod 2 seed 0x6a68 {map}"));
    }

    #[test]
    fn a_choice_is_changed_for_one_rule_or_for_all_that_match_none() {
        let mut chosen = Choice {
            of_rules: vec![(3, Pick::One(None))],
            ..Choice::default()
        };
        let (first, second) = (Pick::One(Some(LinkId(1))), Pick::One(Some(LinkId(2))));
        chosen.set(3, Some(LinkId(1)));
        chosen.set(9, Some(LinkId(2)));
        assert_eq!(chosen.of(3), &first);
        assert_eq!((chosen.of(0), chosen.of(9)), (&second, &second));
    }
}
