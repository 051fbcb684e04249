//! Multipath routes and lookups.

use super::*;

#[test]
fn multipath_routes_are_read_with_all_next_hops() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        for (link, addresses) in [
            ("d0", ["192.0.2.7/24", "2001:db8::7/64"]),
            ("d1", ["198.51.100.7/24", "2001:db8:1::7/64"]),
        ] {
            plug(link);
            furnish(link, &addresses);
            await_carrier(link);
        }
        output("ip route add default nexthop via 192.0.2.1 dev d0 nexthop via inet6 2001:db8:1::1 dev d1");
        output("ip nexthop add id 1 via 2001:db8::1 dev d0");
        output("ip nexthop add id 2 via 2001:db8:1::1 dev d1");
        output("ip nexthop add id 3 group 1/2");
        output("ip -6 route add default nhid 3");
        output("ip route add 203.0.113.9 via 192.0.2.9 mtu 1400 initcwnd 4 onlink dev d0");
        let routes = rtnl.routes_in(Table::MAIN).unwrap();
        let hops = |v6| {
            let defaults = routes.iter().filter(|route| route.is_default());
            let of_family = defaults.filter(|route| route.dst.addr().is_ipv6() == v6);
            Vec::from_iter(of_family.map(|route| route.gateway.unwrap().to_string()))
        };
        assert_eq!(hops(false), ["192.0.2.1", "2001:db8:1::1"]);
        assert_eq!(hops(true), ["2001:db8::1", "2001:db8:1::1"]);
        let host = routes
            .iter()
            .find(|route| route.dst == prefix("203.0.113.9/32"))
            .unwrap();
        assert!(host.onlink && host.metrics != Metrics::NONE, "{host:?}");
        let copy = Route {
            table: Table(100),
            protocol: Protocol::SLOWHAND,
            ..*host
        };
        rtnl.add_route(&copy).unwrap();
        assert_eq!(rtnl.routes_in(Table(100)).unwrap(), [copy]);
        let shown = output("ip route show table 100");
        assert!(shown.contains("mtu 1400 initcwnd 4"), "{shown}");
    });
}

#[test]
fn a_lookup_returns_the_route_and_its_table() {
    inside(|| {
        let mut rtnl = Rtnl::open().unwrap();
        plug("d0");
        furnish("d0", &["192.0.2.7/24", "2001:db8::7/64"]);
        furnish("lo", &[]);
        let d0 = index(&mut rtnl, "d0");
        output("ip route add 203.0.113.0/24 via 192.0.2.1 table 70000");
        output("ip rule add pref 100 lookup 70000");
        let mut found = |to: &str| rtnl.lookup(to.parse().unwrap(), None);
        let route = found("203.0.113.9").unwrap();
        assert_eq!(
            (route.table, route.oif, route.dst.len()),
            (Table(70_000), Some(d0), 24)
        );
        assert_eq!(found("2001:db8::9").unwrap().dst, prefix("2001:db8::/64"));
        assert_eq!(found("198.51.100.1"), None);
        assert_eq!(found("192.0.2.7").unwrap().kind, RouteKind::Local);
        assert_eq!(rtnl.lookup("203.0.113.9".parse().unwrap(), Some(d0)), Some(route));
    });
}
