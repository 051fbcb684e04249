use super::*;
use crate::rtnl::{Event, Link, OperState, Protocol, Table};

fn all(addresses: &[Address], routes: &[(&str, u32)]) -> Interfaces {
    let mut all = Interfaces::default();
    all.apply(&Event::Link(Link {
        ifindex: 7,
        name: "eth0".parse().unwrap(),
        altnames: Vec::new(),
        mtu: 1500,
        up: true,
        carrier: true,
        operstate: OperState::Up,
        loopback: false,
        arphrd: 1,
        mac: None,
        kind: None,
    }));
    for address in addresses {
        all.apply(&Event::Address(*address));
    }
    for &(gateway, metric) in routes {
        let gateway: IpAddr = gateway.parse().unwrap();
        all.apply(&Event::Route(Route {
            oif: Some(7),
            gateway: Some(gateway),
            metric,
            protocol: Protocol::BOOT,
            ..Route::new(Table::MAIN, Prefix::any(gateway))
        }));
    }
    all
}

/// An address with `IFA_F_*` flags.
fn address(text: &str, flags: u32) -> Address {
    Address {
        flags: crate::rtnl::AddressFlags::of(flags),
        ..Address::new(7, text.parse().unwrap())
    }
}

fn chosen(all: &Interfaces, v6: bool) -> Option<String> {
    let interface = all.get(7).unwrap();
    let uplinks = uplinks(all, interface, v6, None, false);
    Some(way(interface, v6, &uplinks)?.address.addr().to_string())
}

const TEMPORARY: u32 = libc::IFA_F_TEMPORARY;
const DEPRECATED: u32 = libc::IFA_F_DEPRECATED;
const TENTATIVE: u32 = libc::IFA_F_TENTATIVE;

#[test]
fn the_source_is_on_the_gateways_network_not_deprecated_and_temporary() {
    let router = [("fe80::1", 1024)];
    let public = address("2001:db8::1/64", 0);
    for (addresses, expected) in [
        (vec![public], Some("2001:db8::1")),
        (
            vec![public, address("2001:db8::a/64", TEMPORARY)],
            Some("2001:db8::a"),
        ),
        (
            vec![address("2001:db8::a/64", TEMPORARY | DEPRECATED), public],
            Some("2001:db8::1"),
        ),
        (
            vec![
                address("2001:db8::a/64", DEPRECATED),
                address("2001:db8::b/64", DEPRECATED),
            ],
            Some("2001:db8::a"),
        ),
        (vec![address("2001:db8::a/64", TENTATIVE)], None),
    ] {
        assert_eq!(
            chosen(&all(&addresses, &router), true).as_deref(),
            expected,
            "{addresses:?}"
        );
    }
}

#[test]
fn the_way_is_over_the_best_metric_from_its_own_network() {
    let addresses = [address("10.0.0.5/24", 0), address("10.8.0.5/24", 0)];
    let routes = [("10.0.0.1", 600), ("10.8.0.1", 100)];
    assert_eq!(
        chosen(&all(&addresses, &routes), false).as_deref(),
        Some("10.8.0.5")
    );
    assert_eq!(chosen(&all(&addresses, &[]), false), None);
}

#[test]
fn deprecated_addresses_are_still_sources() {
    let addresses = [
        address("2001:db8::a/64", TEMPORARY | DEPRECATED),
        address("2001:db8::1/64", 0),
    ];
    let all = all(&addresses, &[("fe80::1", 1024)]);
    assert_eq!(sources(all.get(7).unwrap(), true).count(), 2);
}
