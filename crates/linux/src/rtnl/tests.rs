use super::*;
use crate::netlink::Messages;
use crate::testing::{
    Patience, await_carrier, furnish, index, inside, name, output, plug, prefix, wait_readable,
};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::time::Duration;

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

fn any_prefix() -> impl Strategy<Value = Prefix> {
    (any_ip(), any::<u8>()).prop_map(|(addr, len)| {
        let most = Prefix::host(addr).len();
        Prefix::new(addr, len % (most + 1)).unwrap()
    })
}

fn any_route() -> impl Strategy<Value = Route> {
    let parts = (
        any_prefix(),
        any::<u32>(),
        any::<Option<u32>>(),
        proptest::option::of(any_ip()),
        any_ip(),
    );
    (parts, any::<bool>(), any::<u32>(), any::<u8>()).prop_map(
        |((dst, table, oif, gateway, src), ecn, metric, protocol)| {
            // An IPv6 route has no IPv4 gateway, and its source is of its own family.
            let gateway = gateway.filter(|g| dst.addr().is_ipv4() || g.is_ipv6());
            let src = Some(src).filter(|s| s.is_ipv4() == dst.addr().is_ipv4());
            let protocol = Protocol(protocol);
            Route {
                oif,
                gateway,
                src,
                metric,
                onlink: ecn && gateway.is_some(),
                metrics: asking(ecn),
                protocol,
                ..Route::new(Table(table), dst.network())
            }
        },
    )
}

const fn asking(ecn: bool) -> Metrics {
    match ecn {
        true => Metrics::NONE.asking_for_ecn(),
        false => Metrics::NONE,
    }
}

fn any_name() -> impl Strategy<Value = IfName> {
    "[a-z][a-z0-9.@-]{0,14}".prop_map(|text| text.parse().unwrap())
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let selectors = (any_prefix(), any_prefix(), any::<(bool, bool)>());
    let names = (proptest::option::of(any_name()), proptest::option::of(any_name()));
    let mark = proptest::option::of(any::<(u32, u32)>());
    let does = (any::<bool>(), proptest::option::of(0..33u32));
    let parts = (selectors, names, mark, any::<(u32, u32, u8)>(), does);
    parts.prop_map(|(selectors, (iif, oif), mark, numbers, (inverted, suppress))| {
        let (from, to, (use_from, use_to)) = selectors;
        let (priority, table, protocol) = numbers;
        let v6 = from.addr().is_ipv6();
        let to = Some(to.network()).filter(|to| use_to && to.addr().is_ipv6() == v6);
        let mark = mark.map(|(value, mask)| Mark { value, mask });
        let rule = Rule::all(v6, priority, Table(table));
        Rule {
            from: use_from.then_some(from.network()),
            to,
            iif,
            oif,
            mark,
            inverted,
            suppress,
            protocol: Protocol(protocol),
            ..rule
        }
    })
}

proptest! {
    #[test]
    fn prefixes_parse_back_from_text(prefix in any_prefix()) {
        prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        prop_assert!(prefix.contains(prefix.addr()));
        prop_assert!(prefix.network().contains(prefix.addr()));
        prop_assert_eq!(prefix.network().network(), prefix.network());
    }

    #[test]
    fn routes_decode_to_what_was_encoded(route in any_route()) {
        let mut builder = Builder::new();
        route.write(&mut builder, libc::RTM_NEWROUTE, 0);
        let message = Messages::new(builder.as_bytes()).next().unwrap();
        prop_assert_eq!(Route::parse(&message), vec![route]);
    }

    #[test]
    fn rules_decode_to_what_was_encoded(rule in any_rule()) {
        let mut builder = Builder::new();
        rule.write(&mut builder, libc::RTM_NEWRULE, 0);
        let message = Messages::new(builder.as_bytes()).next().unwrap();
        prop_assert_eq!(Rule::parse(&message), Some(rule));
    }

    #[test]
    fn no_input_makes_the_parsers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for message in Messages::new(&bytes) {
            let _ = (Link::parse(&message), Address::parse(&message), Route::parse(&message), Rule::parse(&message));
        }
    }
}

#[test]
fn bad_names_and_prefixes_are_refused() {
    for bad in ["", ".", "..", "a/b", "a b", "sixteen-letters-", "a\0"] {
        assert!(bad.parse::<IfName>().is_err(), "{bad:?}");
    }
    for bad in [
        "",
        "10.0.0.1",
        "10.0.0.1/33",
        "::/129",
        "10.0.0/8",
        "10.0.0.1/-1",
        "x/1",
    ] {
        assert!(bad.parse::<Prefix>().is_err(), "{bad:?}");
    }
}

/// Waits until the link is running: the kernel detects its carrier asynchronously.
fn running_link(rtnl: &mut Rtnl, ifindex: u32) -> Link {
    let mut deadline = Patience::of(Duration::from_secs(10));
    loop {
        let link = rtnl.link(ifindex).unwrap().unwrap();
        if link.running() {
            return link;
        }
        assert!(deadline.lasts(), "{link:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn links_are_made_changed_and_removed() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        let again = rtnl.add_veth(
            name("d0"),
            VethPeer {
                name: name("d1"),
                netns: None,
            },
        );
        assert!(matches!(again, Err(NewLinkError::Exists { .. })));
        let ifindex = index(&mut rtnl, "d0");
        rtnl.set_mtu(ifindex, 1400).unwrap();
        rtnl.set_up(ifindex, true).unwrap();

        let link = running_link(&mut rtnl, ifindex);
        assert_eq!(
            (link.mtu, link.up, link.carrier, link.kind.as_deref()),
            (1400, true, true, Some("veth"))
        );
        assert!(!link.loopback && link.mac.is_some());
        let shown = output("ip -o link show d0");
        assert!(shown.contains("mtu 1400") && shown.contains("UP"), "{shown}");

        rtnl.set_up(ifindex, false).unwrap();
        assert!(!rtnl.link(ifindex).unwrap().unwrap().running());
        rtnl.delete_link(ifindex).unwrap();
        assert_eq!(rtnl.link(ifindex).unwrap(), None);
        assert_eq!(rtnl.link_named(name("d0")).unwrap(), None);
        assert!(matches!(rtnl.set_up(ifindex, true), Err(LinkError::Gone { .. })));
    });
}

#[test]
fn addresses_are_added_and_removed() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        let ifindex = index(&mut rtnl, "d0");
        for text in ["192.0.2.7/24", "2001:db8::7/64"] {
            let address = Address {
                flags: AddressFlags::NO_DAD,
                ..Address::new(ifindex, prefix(text))
            };
            rtnl.add_address(&address).unwrap();
            assert!(matches!(
                rtnl.add_address(&address),
                Err(AddAddressError::Exists { .. })
            ));
            assert!(output("ip addr show d0").contains(text));
            let listed = rtnl.addresses().unwrap();
            let found = listed.iter().find(|a| a.prefix == prefix(text)).unwrap();
            assert!(
                found.usable() && found.flags.permanent() && found.peer.is_none(),
                "{found:?}"
            );
            rtnl.del_address(&address).unwrap();
            assert!(matches!(
                rtnl.del_address(&address),
                Err(DelAddressError::Absent { .. })
            ));
        }
        output("ip addr add 192.0.2.1 peer 192.0.2.2 dev d0");
        let listed = rtnl.addresses().unwrap();
        let found = listed
            .iter()
            .find(|a| a.ifindex == ifindex && a.addr().is_ipv4())
            .unwrap();
        assert_eq!(found.peer, Some("192.0.2.2".parse().unwrap()));
        assert_eq!(found.prefix, prefix("192.0.2.1/32"));
    });
}

#[test]
fn routes_match_what_ip_prints() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        furnish("d0", &["192.0.2.7/24", "2001:db8::7/64"]);
        let oif = Some(index(&mut rtnl, "d0"));
        let cases = [
            (
                "0.0.0.0/0",
                Some("192.0.2.1"),
                "default via 192.0.2.1 dev d0 proto 183 metric 77 features ecn",
            ),
            (
                "198.51.100.0/24",
                Some("2001:db8::1"),
                "198.51.100.0/24 via inet6 2001:db8::1 dev d0 proto 183 metric 77",
            ),
            (
                "203.0.113.0/24",
                None,
                "203.0.113.0/24 dev d0 proto 183 scope link src 192.0.2.7 metric 77",
            ),
            (
                "::/0",
                Some("2001:db8::1"),
                "default via 2001:db8::1 dev d0 proto 183 metric 77 features ecn",
            ),
            (
                "2001:db8:1::/48",
                None,
                "2001:db8:1::/48 dev d0 proto 183 metric 77",
            ),
        ];
        for table in [Table(100), Table(70_000)] {
            for (dst, gateway, printed) in cases {
                let mut route = Route {
                    oif,
                    metric: 77,
                    ..Route::new(table, prefix(dst))
                };
                route.gateway = gateway.map(|g| g.parse().unwrap());
                route.metrics = asking(printed.contains("features ecn"));
                route.src = printed
                    .contains("src 192.0.2.7")
                    .then(|| "192.0.2.7".parse().unwrap());
                rtnl.add_route(&route).unwrap();
                assert!(
                    matches!(rtnl.add_route(&route), Err(AddRouteError::Exists { .. })),
                    "{dst}"
                );
                let family = if route.dst.addr().is_ipv6() { "-6" } else { "-4" };
                let shown = output(&format!("ip {family} route show table {}", table.0));
                assert!(shown.contains(printed), "{printed}\n{shown}");
                assert_eq!(rtnl.routes_in(table).unwrap(), [route]);
                rtnl.del_route(&route).unwrap();
                assert!(
                    matches!(rtnl.del_route(&route), Err(DelRouteError::Absent { .. })),
                    "{dst}"
                );
            }
        }
    });
}

#[test]
fn invalid_routes_give_the_reason() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        let oif = Some(index(&mut rtnl, "d0"));
        let gateway = Some("192.0.2.1".parse().unwrap());
        let route = Route {
            oif,
            gateway,
            ..Route::new(Table(100), Prefix::ANY_V4)
        };
        let down = Route {
            gateway: None,
            ..route
        };
        assert!(matches!(
            rtnl.add_route(&down),
            Err(AddRouteError::LinkDown { .. })
        ));
        furnish("d0", &[]);
        assert!(matches!(
            rtnl.add_route(&route),
            Err(AddRouteError::GatewayUnreachable { .. })
        ));
        let nowhere = Route {
            oif: Some(4711),
            ..down
        };
        assert!(matches!(
            rtnl.add_route(&nowhere),
            Err(AddRouteError::LinkGone { .. })
        ));
    });
}

#[test]
fn replacing_changes_a_routes_gateway() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        for (link, address) in [("d0", "192.0.2.7/24"), ("d1", "198.51.100.7/24")] {
            plug(link);
            furnish(link, &[address]);
        }
        for gateway in ["192.0.2.1", "198.51.100.1"] {
            let gateway = Some(gateway.parse().unwrap());
            let route = Route {
                gateway,
                metric: 5,
                ..Route::new(Table::MAIN, Prefix::ANY_V4)
            };
            rtnl.replace_route(&route).unwrap();
        }
        assert_eq!(
            output("ip route show default").trim(),
            "default via 198.51.100.1 dev d1 proto 183 metric 5"
        );
    });
}

#[test]
fn rules_match_what_ip_prints() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        let marked = Rule {
            mark: Some(Mark {
                value: 0x10,
                mask: 0xf0,
            }),
            ..Rule::all(false, 103, Table(70_000))
        };
        let cases = [
            (
                Rule::from(prefix("192.0.2.7/32"), 101, Table(100)),
                "101: from 192.0.2.7 lookup 100",
            ),
            (
                Rule::oif(false, name("tun9"), 102, Table(100)),
                "102: from all oif tun9",
            ),
            (marked, "103: from all fwmark 0x10/0xf0 lookup 70000"),
            (
                Rule {
                    inverted: true,
                    suppress: Some(0),
                    ..marked
                },
                "103: not from all fwmark 0x10/0xf0 lookup 70000 suppress_prefixlength 0",
            ),
            (
                Rule::from(prefix("2001:db8::7/128"), 101, Table(100)),
                "101: from 2001:db8::7 lookup 100",
            ),
            (
                Rule::oif(true, name("tun9"), 102, Table(100)),
                "102: from all oif tun9",
            ),
        ];
        for (rule, printed) in cases {
            rtnl.add_rule(&rule).unwrap();
            assert!(matches!(rtnl.add_rule(&rule), Err(AddRuleError::Exists { .. })));
            let family = if rule.v6 { "-6" } else { "-4" };
            let shown = output(&format!("ip {family} rule show")).replace('\t', " ");
            assert!(
                shown.contains(printed) && shown.contains("proto 183"),
                "{printed}\n{shown}"
            );
            assert!(rtnl.rules().unwrap().contains(&rule), "{rule}");
            rtnl.del_rule(&rule).unwrap();
            assert!(matches!(rtnl.del_rule(&rule), Err(DelRuleError::Absent { .. })));
        }
    });
}

fn events(watch: &mut Watch) -> Vec<Event> {
    std::iter::from_fn(|| watch.next().unwrap()).collect()
}

/// Collects events up to the one that `last` accepts. The kernel reports carriers and new IPv6 addresses
/// asynchronously.
fn events_until(watch: &mut Watch, last: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut deadline = Patience::of(Duration::from_secs(10));
    let mut seen = Vec::new();
    while !seen.iter().any(&last) {
        assert!(deadline.lasts(), "no such event: {seen:?}");
        wait_readable(watch.as_fd(), Duration::from_millis(100));
        seen.extend(events(watch));
    }
    seen
}

fn is_running(event: &Event, link: &str) -> bool {
    matches!(event, Event::Link(l) if l.running() && l.name == name(link))
}

/// New routes with their parts as `ip` prints them, without those that IPv6 adds itself.
fn gateways(events: &[Event]) -> Vec<(Table, Prefix, String)> {
    let added = events
        .iter()
        .filter_map(|e| if let Event::Route(r) = e { Some(r) } else { None });
    added
        .filter_map(|r| r.gateway.map(|g| (r.table, r.dst, g.to_string())))
        .collect()
}

#[test]
fn a_reused_index_is_a_new_interface_and_a_rename_is_not() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        output("ip link property add dev d0 altname the-uplink-of-the-house");
        let ifindex = index(&mut rtnl, "d0");
        let described = |rtnl: &mut Rtnl| rtnl.link(ifindex).unwrap().unwrap();
        let first = described(&mut rtnl);
        assert_eq!(Vec::from_iter(first.names()), ["d0", "the-uplink-of-the-house"]);
        output("ip link set d0 name d9");
        assert!(!described(&mut rtnl).is_another(&first));
        output("ip link del d9");
        output(&format!("ip link add d7 index {ifindex} type bridge"));
        assert!(described(&mut rtnl).is_another(&first));
    });
}

#[test]
fn watching_reports_the_initial_state_and_changes() {
    inside(|| {
        plug("d0");
        output("ip addr add 192.0.2.7/24 dev d0");
        let mut watch = Watch::open().unwrap();
        let first = events(&mut watch);
        assert!(
            first
                .iter()
                .any(|e| matches!(e, Event::Link(l) if l.name == name("lo") && l.loopback))
        );
        assert!(
            first
                .iter()
                .any(|e| matches!(e, Event::Address(a) if a.prefix == prefix("192.0.2.7/24")))
        );

        output("ip link set d0 up");
        output("ip route add default via 192.0.2.1");
        output("ip route add 198.51.100.0/24 via 192.0.2.2 table 100");
        let seen = events_until(&mut watch, |e| is_running(e, "d0"));
        assert!(
            !seen
                .iter()
                .any(|e| matches!(e, Event::Address(a) if a.addr().is_ipv4())),
            "reported twice: {seen:?}"
        );
        let default = (Table::MAIN, Prefix::ANY_V4, "192.0.2.1".to_owned());
        let other = (Table(100), prefix("198.51.100.0/24"), "192.0.2.2".to_owned());
        let mut found = gateways(&seen);
        found.sort();
        assert_eq!(found, [other, default], "each once, in any order");

        output("ip link del d0");
        let seen = events_until(
            &mut watch,
            |e| matches!(e, Event::LinkGone(l) if l.name == name("d0")),
        );
        assert!(
            seen.iter()
                .any(|e| matches!(e, Event::AddressGone(a) if a.prefix == prefix("192.0.2.7/24")))
        );
        assert!(
            !watch.view().routes.iter().any(|r| r.dst.addr().is_ipv4()),
            "{:?}",
            watch.view().routes
        );
        assert_eq!(watch.resyncs(), 0);
    });
}

#[test]
fn routes_that_vanish_without_an_event_are_noticed() {
    inside(|| {
        let mut watch = Watch::open().unwrap();
        plug("d0");
        output("ip addr add 192.0.2.7/24 dev d0");
        output("ip link set d0 up");
        output("ip route add default via 192.0.2.1");
        events_until(&mut watch, |e| matches!(e, Event::Route(r) if r.is_default()));
        assert!(watch.view().routes.iter().any(Route::is_default));

        output("ip link set d0 down");
        events_until(&mut watch, |e| matches!(e, Event::RouteGone(r) if r.is_default()));
        assert!(!watch.view().routes.iter().any(Route::is_default));
    });
}

#[test]
fn lost_events_cause_a_resync() {
    inside(|| {
        let mut watch = Watch::open().unwrap();
        plug("d0");
        output("ip link set d0 up");
        events(&mut watch);
        watch.shrink_for_test();
        let mut rtnl = Rtnl::open().unwrap();
        let ifindex = index(&mut rtnl, "d0");
        for host in 1..=200 {
            let address = Prefix::new(Ipv4Addr::new(192, 0, 2, host).into(), 32).unwrap();
            rtnl.add_address(&Address::new(ifindex, address)).unwrap();
        }
        let seen = events(&mut watch);
        assert!(watch.resyncs() > 0);
        let found = seen
            .iter()
            .filter(|e| matches!(e, Event::Address(a) if a.addr().is_ipv4()))
            .count();
        assert_eq!(found, 200);
        assert_eq!(
            watch
                .view()
                .addresses
                .values()
                .filter(|a| a.ifindex == ifindex && a.addr().is_ipv4())
                .count(),
            200
        );
    });
}

#[path = "route_tests.rs"]
mod routes;
