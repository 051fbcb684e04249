use super::*;
use crate::testing::{await_carrier, furnish, index, inside, name, output, plug};

fn uplink(rtnl: &mut Rtnl, link: &str, gateway: Option<&str>, v6: bool) -> Uplink {
    Uplink {
        ifindex: index(rtnl, link),
        name: name(link),
        v6,
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        src: None,
        metrics: Metrics::NONE,
    }
}

/// A plan without overrides: each uplink with its addresses.
fn plan(parts: &[(Uplink, &[&str])]) -> Plan {
    let mut plan = Plan::default();
    for (uplink, addresses) in parts {
        let at = plan.uplinks.len();
        plan.uplinks.push(*uplink);
        plan.sources.extend(addresses.iter().map(|address| Source {
            address: address.parse().unwrap(),
            uplink: at,
        }));
    }
    plan
}

fn everything() -> String {
    [
        "ip rule",
        "ip -6 rule",
        "ip route show table all",
        "ip -6 route show table all",
    ]
    .map(output)
    .concat()
    .lines()
    // The kernel adds link-local addresses asynchronously.
    .filter(|line| !line.contains("fe80"))
    .collect::<Vec<_>>()
    .join("\n")
}

struct Host {
    rtnl: Rtnl,
    journal: Journal,
    routing: Routing,
}

impl Host {
    /// A host with links that have these addresses and a carrier.
    fn with(links: &[(&str, &[&str])]) -> Self {
        for (link, addresses) in links {
            plug(link);
            furnish(link, addresses);
            await_carrier(link);
        }
        furnish("lo", &[]);
        Self {
            rtnl: Rtnl::open().unwrap(),
            journal: Journal::in_memory(),
            routing: Routing::default(),
        }
    }

    fn apply(&mut self, plan: &Plan) -> usize {
        let applied = self
            .routing
            .apply(&mut self.rtnl, &mut self.journal, plan)
            .unwrap();
        applied.restored_rules + applied.restored_routes
    }

    /// The rules between `local` and `main` in order, as selectors and tables.
    fn rules(&mut self, v6: bool) -> Vec<String> {
        let rules = self.rtnl.rules().unwrap();
        let between = rules
            .iter()
            .filter(|rule| rule.v6 == v6 && (1..32_766).contains(&rule.priority));
        between.map(ToString::to_string).collect()
    }
}

fn route_to(target: &str) -> String {
    output(&format!("ip route get {target}"))
}

/// Two links, each with the user's default route, `w0` first.
fn two_links() -> (Host, Plan) {
    let mut host = Host::with(&[
        ("w0", &["10.0.0.2/24", "fd00::2/64"]),
        ("w1", &["10.0.1.2/24", "fd00:1::2/64"]),
    ]);
    output("ip route add default via 10.0.0.1 metric 100");
    output("ip route add default via 10.0.1.1 metric 600");
    let rtnl = &mut host.rtnl;
    let plan = plan(&[
        (uplink(rtnl, "w0", Some("10.0.0.1"), false), &["10.0.0.2"]),
        (uplink(rtnl, "w0", Some("fd00::1"), true), &["fd00::2"]),
        (uplink(rtnl, "w1", Some("10.0.1.1"), false), &["10.0.1.2"]),
        (uplink(rtnl, "w1", Some("fd00:1::1"), true), &["fd00:1::2"]),
    ]);
    (host, plan)
}

#[test]
fn a_bound_socket_leaves_on_its_link_even_with_the_same_address_on_both() {
    inside(|| {
        let same: &[&str] = &["192.168.1.2/24"];
        let mut host = Host::with(&[("ap1", same), ("ap2", same)]);
        let parts = ["ap1", "ap2"].map(|link| {
            (
                uplink(&mut host.rtnl, link, Some("192.168.1.1"), false),
                &["192.168.1.2"][..],
            )
        });
        host.apply(&plan(&parts));
        for link in ["ap1", "ap2"] {
            let got = route_to(&format!("203.0.113.9 oif {link}"));
            assert!(got.contains(&format!("via 192.168.1.1 dev {link}")), "{got}");
        }
    });
}

#[test]
fn new_connections_follow_the_override_and_return() {
    inside(|| {
        let (mut host, mut plan) = two_links();
        let main = || output("ip route show table main") + &output("ip -6 route show table main");
        let before = main();
        for (overrides, v4, v6) in [
            ([None, None], "via 10.0.0.1 dev w0", None),
            ([Some(2), None], "via 10.0.1.1 dev w1", None),
            (
                [Some(2), Some(1)],
                "via 10.0.1.1 dev w1",
                Some("via fd00::1 dev w0"),
            ),
            (
                [Some(0), Some(3)],
                "via 10.0.0.1 dev w0",
                Some("via fd00:1::1 dev w1"),
            ),
            ([None, None], "via 10.0.0.1 dev w0", None),
        ] {
            plan.overrides = overrides;
            host.apply(&plan);
            let got = route_to("203.0.113.9");
            assert!(got.contains(v4), "{overrides:?} {got}");
            let got = host.rtnl.lookup("2001:db8::9".parse().unwrap(), None);
            assert_eq!(
                got.is_some(),
                v6.is_some(),
                "the user has no IPv6 default: {got:?}"
            );
            if let Some(v6) = v6 {
                let got = route_to("2001:db8::9");
                assert!(got.contains(v6), "{overrides:?} {got}");
            }
            assert_eq!(main(), before);
        }
    });
}

#[test]
fn the_users_specific_routes_take_precedence() {
    inside(|| {
        let (mut host, mut plan) = two_links();
        output("ip route add 10.50.0.0/16 via 10.0.0.254");
        output("ip route add 128.0.0.0/1 via 10.0.0.253");
        plan.overrides = [Some(2), None];
        host.apply(&plan);
        for (target, expected) in [
            ("10.50.1.1", "via 10.0.0.254 dev w0"),
            ("10.50.1.1 from 10.0.1.2", "via 10.0.0.254 dev w0"),
            ("203.0.113.9 from 10.0.1.2", "via 10.0.0.253 dev w0"),
            ("100.64.0.1", "via 10.0.1.1 dev w1"),
            ("10.0.0.9 from 10.0.1.2", "dev w0"),
        ] {
            let got = route_to(target);
            assert!(got.contains(expected), "{target}: {got}");
        }
    });
}

#[test]
fn each_address_has_the_gateway_of_its_network() {
    inside(|| {
        let mut host = Host::with(&[("w0", &["10.0.0.2/24", "10.0.9.2/24"])]);
        let rtnl = &mut host.rtnl;
        let parts = [
            (uplink(rtnl, "w0", Some("10.0.0.1"), false), &["10.0.0.2"][..]),
            (uplink(rtnl, "w0", Some("10.0.9.1"), false), &["10.0.9.2"][..]),
        ];
        host.apply(&plan(&parts));
        for (source, gateway) in [("10.0.0.2", "10.0.0.1"), ("10.0.9.2", "10.0.9.1")] {
            for bound in ["", " oif w0"] {
                let got = route_to(&format!("203.0.113.9 from {source}{bound}"));
                assert!(got.contains(&format!("via {gateway} dev w0")), "{bound} {got}");
            }
        }
    });
}

#[test]
fn forwarded_packets_follow_the_users_routes() {
    inside(|| {
        let (mut host, mut plan) = two_links();
        plug("lan0");
        furnish("lan0", &["172.17.0.1/16"]);
        await_carrier("lan0");
        output("sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0");
        plan.overrides = [Some(2), None];
        host.apply(&plan);
        let got = route_to("203.0.113.9 from 172.17.0.2 iif lan0");
        assert!(got.contains("via 10.0.0.1 dev w0"), "{got}");
    });
}

#[test]
fn the_user_can_add_a_route_over_any_gateway_of_a_link() {
    inside(|| {
        let (mut host, plan) = two_links();
        host.apply(&plan);
        output("ip addr add 10.7.0.2/24 dev w0");
        output("ip addr add fd00:7::2/64 dev w0 nodad");
        output("ip route add default via 10.7.0.1 dev w0 table 66");
        output("ip -6 route add default via fd00:7::1 dev w0 table 66");
        output("ip -6 route replace default via fd00:7::9 dev w0 table 66");
        let shown = output("ip -6 route show table 66");
        assert!(shown.contains("via fd00:7::9 dev w0"), "{shown}");
    });
}

#[test]
fn rules_of_others_stay_first_even_if_added_later() {
    inside(|| {
        let (mut host, plan) = two_links();
        output("ip rule add pref 5270 lookup 52");
        output("ip rule add pref 32765 fwmark 7 lookup 53");
        host.apply(&plan);
        let rules = host.rules(false);
        assert_eq!(rules[0], "5270: from all lookup 52");
        assert_eq!(rules[1], "32765: from all fwmark 0x7/0xffffffff lookup 53");
        assert_eq!(rules[2], "32765: from all lookup main suppress_prefixlength 0");
        let ours = rules[2..].to_vec();
        output("ip rule add pref 32765 fwmark 8 lookup 54");
        output("ip rule add pref 32764 fwmark 9 lookup 55");
        assert!(host.apply(&plan) > 0, "other rules were in front");
        let rules = host.rules(false);
        assert_eq!(rules[rules.len() - ours.len()..], ours);
        assert_eq!(rules.len(), 4 + ours.len());
        assert_eq!(host.apply(&plan), 0);
    });
}

#[test]
fn removed_rules_and_routes_are_restored_and_counted() {
    inside(|| {
        let (mut host, plan) = two_links();
        assert_eq!(host.apply(&plan), 0);
        let before = everything();
        output("ip -6 rule del pref 32765");
        output("ip route flush table 51830");
        output("ip rule flush");
        output("ip rule add pref 32766 lookup main");
        output("ip rule add pref 32767 lookup default");
        assert!(host.apply(&plan) >= 5);
        assert_eq!(everything(), before);
        assert_eq!(host.apply(&plan), 0);
    });
}

#[test]
fn tables_of_others_are_left_alone() {
    inside(|| {
        let (mut host, plan) = two_links();
        output("ip route add blackhole 192.0.2.0/24 table 51830");
        output("ip -6 rule add pref 100 to 2001:db8::/32 lookup 51831");
        let before = everything();
        host.apply(&plan);
        let rules = host.rules(false).concat();
        assert!(!rules.contains("51830") && !rules.contains("51831"), "{rules}");
        assert_eq!(
            output("ip route show table 51830").trim(),
            "blackhole 192.0.2.0/24"
        );
        assert_eq!(host.journal.undo().unwrap().left, []);
        assert_eq!(everything(), before);
    });
}

#[test]
fn nothing_is_left_after_the_last_uplink_or_an_undo() {
    inside(|| {
        let (mut host, mut plan) = two_links();
        let before = everything();
        plan.overrides = [Some(0), Some(3)];
        for _ in 0..2 {
            host.apply(&plan);
            assert_ne!(everything(), before);
            host.apply(&Plan::default());
            assert_eq!(everything(), before);
        }
        host.apply(&plan);
        assert_eq!(host.journal.undo().unwrap().left, []);
        assert_eq!(everything(), before);
    });
}

#[test]
fn a_gateway_outside_the_subnet_or_family_is_onlink() {
    inside(|| {
        let mut host = Host::with(&[
            ("wwan0", &["10.9.8.7/32"]),
            ("w1", &["10.0.1.2/24", "fd00:1::2/64"]),
        ]);
        let rtnl = &mut host.rtnl;
        let parts = [
            (uplink(rtnl, "wwan0", Some("10.64.0.1"), false), &["10.9.8.7"][..]),
            (uplink(rtnl, "w1", Some("fe80::1"), false), &["10.0.1.2"][..]),
        ];
        host.apply(&plan(&parts));
        let got = route_to("203.0.113.9 from 10.9.8.7");
        assert!(got.contains("via 10.64.0.1 dev wwan0"), "{got}");
        let got = route_to("203.0.113.9 from 10.0.1.2");
        assert!(got.contains("via inet6 fe80::1 dev w1"), "{got}");
        assert_eq!(host.apply(&plan(&parts)), 0);
    });
}
