use super::*;
use crate::testing::{await_carrier, furnish, index, inside, name, output, plug, prefix};

fn way(rtnl: &mut Rtnl, number: u16, link: &str, address: &str, gateway: Option<&str>) -> Way {
    Way {
        number,
        ifindex: index(rtnl, link),
        name: name(link),
        address: prefix(address),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        ecn: false,
    }
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
    // Link-local addresses come by themselves, after a while.
    .filter(|line| !line.contains("fe80"))
    .collect::<Vec<_>>()
    .join("\n")
}

#[test]
fn a_bound_socket_leaves_by_its_own_link_even_with_the_same_address_on_both() {
    inside(|| {
        let (mut rtnl, mut journal) = (Rtnl::open().unwrap(), Journal::in_memory());
        for link in ["ap1", "ap2"] {
            plug(link);
            furnish(link, &["192.168.1.2/24"]);
        }
        let ways = [(0, "ap1"), (1, "ap2")]
            .map(|(number, link)| way(&mut rtnl, number, link, "192.168.1.2/24", Some("192.168.1.1")));
        for way in &ways {
            install(&mut rtnl, &mut journal, way).unwrap();
        }
        for link in ["ap1", "ap2"] {
            let got = output(&format!("ip route get 203.0.113.9 oif {link}"));
            assert!(got.contains(&format!("via 192.168.1.1 dev {link}")), "{got}");
        }
    });
}

#[test]
fn the_default_route_moves_and_there_is_only_one() {
    inside(|| {
        let (mut rtnl, mut journal) = (Rtnl::open().unwrap(), Journal::in_memory());
        for (link, v4, v6) in [
            ("w0", "10.0.0.2/24", "fd00::2/64"),
            ("w1", "10.0.1.2/24", "fd00:1::2/64"),
        ] {
            plug(link);
            furnish(link, &[v4, v6]);
        }
        for (number, link, address, gateway, target) in [
            (0, "w0", "10.0.0.2/24", Some("10.0.0.1"), "203.0.113.9"),
            (1, "w1", "10.0.1.2/24", None, "203.0.113.9"),
            (0, "w0", "fd00::2/64", Some("fd00::1"), "2001:db8::9"),
            (1, "w1", "fd00:1::2/64", Some("fd00:1::1"), "2001:db8::9"),
        ] {
            let way = way(&mut rtnl, number, link, address, gateway);
            set_default(&mut rtnl, &mut journal, &way).unwrap();
            let got = output(&format!("ip route get {target}"));
            assert!(got.contains(&format!("dev {link}")), "{got}");
        }
        let ours = |route: &&Route| route.protocol == Protocol::SLOWHAND && route.is_default();
        assert_eq!(
            rtnl.routes().unwrap().iter().filter(ours).count(),
            2,
            "one of each family"
        );
    });
}

#[test]
fn nothing_stays_after_uninstalling_or_undoing() {
    inside(|| {
        let (mut rtnl, mut journal) = (Rtnl::open().unwrap(), Journal::in_memory());
        plug("w0");
        furnish("w0", &["10.0.0.2/24", "fd00::2/64"]);
        await_carrier("w0");
        output("ip route add default via 10.0.0.7 dev w0 metric 100");
        let before = everything();
        let v4 = way(&mut rtnl, 0, "w0", "10.0.0.2/24", Some("10.0.0.1"));
        let v6 = way(&mut rtnl, 0, "w0", "fd00::2/64", Some("fd00::1"));
        for _ in 0..2 {
            for way in [&v4, &v6] {
                install(&mut rtnl, &mut journal, way).unwrap();
                set_default(&mut rtnl, &mut journal, way).unwrap();
            }
            assert_ne!(everything(), before);
            uninstall(&mut rtnl, &v4).unwrap();
            uninstall(&mut rtnl, &v6).unwrap();
            assert_eq!(everything(), before);
        }
        install(&mut rtnl, &mut journal, &v4).unwrap();
        set_default(&mut rtnl, &mut journal, &v6).unwrap();
        assert!(journal.undo().unwrap().left.is_empty());
        assert_eq!(everything(), before);
        uninstall(&mut rtnl, &v4).unwrap();
    });
}

#[test]
fn a_gateway_outside_the_subnet_is_reached_directly() {
    inside(|| {
        let (mut rtnl, mut journal) = (Rtnl::open().unwrap(), Journal::in_memory());
        plug("wwan0");
        furnish("wwan0", &["10.9.8.7/32"]);
        let way = way(&mut rtnl, 3, "wwan0", "10.9.8.7/32", Some("10.64.0.1"));
        install(&mut rtnl, &mut journal, &way).unwrap();
        let got = output("ip route get 203.0.113.9 from 10.9.8.7");
        assert!(got.contains("via 10.64.0.1 dev wwan0"), "{got}");
    });
}
