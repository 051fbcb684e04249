//! More hosts of the kinds that are in [`super::ALL`], and kinds of which one event is enough.

use super::lans::{behind, client, masquerade};
use super::two_providers;
use crate::site::{HOST, INTERNET, ProbingHost, Site};
use crate::uplink::{ETH0, Provider, Subnet, Uplink, WLAN0};
use std::net::IpAddr;

/// A second router in the cable's network.
fn office(site: &mut Site) {
    site.place("office");
    site.place("switch");
    site.ip("switch", "link add lan type bridge\nlink set lan up");
    site.cable((HOST, "eth0"), ("switch", "host"));
    site.cable((INTERNET, "p-eth0"), ("switch", "provider"));
    site.cable(("office", "lan0"), ("switch", "office"));
    for port in ["host", "provider", "office"] {
        site.ip("switch", &format!("link set {port} master lan"));
    }
    site.ip(
        "office",
        "address add 192.0.2.254/24 dev lan0
         address add 2001:db8:1::fe/64 dev lan0
         address add 10.50.0.1/32 dev lo
         address add 10.60.0.1/32 dev lo
         address add fd50::1/128 dev lo",
    );
    site.serve("office");
    site.customer(&ETH0, |uplink| {
        uplink.socket = ("switch", "host".to_owned());
    });
    site.provider(&WLAN0);
}

/// `10.0.0.0/8` by another router of the cable's network.
pub fn inner_network(site: &mut Site) {
    office(site);
    site.ip(HOST, "route add 10.0.0.0/8 via 192.0.2.254 dev eth0");
    site.may_want(&["10.50.0.1", "10.60.0.1"]);
}

/// Classless routes of a lease (option 121), one of them to a single host, and an IPv6 prefix.
pub fn classless_routes(site: &mut Site) {
    office(site);
    site.ip(
        HOST,
        "route add 10.50.0.1/32 via 192.0.2.254 dev eth0 proto dhcp metric 100
         route add 10.60.0.0/16 via 192.0.2.254 dev eth0 proto dhcp metric 100
         route add fd50::/48 via 2001:db8:1::fe dev eth0 proto ra metric 100",
    );
    site.may_want(&["10.50.0.1", "10.60.0.1", "fd50::1"]);
}

/// Networks that the user wants no packet to be sent to.
pub fn forbidden_networks(site: &mut Site) {
    two_providers(site);
    site.ip(
        HOST,
        "route add unreachable 203.0.113.64/26\nroute add prohibit 10.66.0.0/16",
    );
    site.ip6(HOST, "route add unreachable 2001:db8:f::64/122");
    site.keep_secret(&["203.0.113.66", "10.66.0.1", "2001:db8:f::66"]);
}

/// The host is a VPN server: its clients ask for services on all of its addresses.
pub fn vpn_server(site: &mut Site) {
    two_providers(site);
    site.place("laptop");
    site.tunnel("tun0", ("laptop", "tun0"));
    site.ip(
        HOST,
        "address add 10.8.0.1/24 dev tun0\naddress add fd00:8::1/64 dev tun0",
    );
    site.ip(
        "laptop",
        "address add 10.8.0.2/24 dev tun0
         address add fd00:8::2/64 dev tun0
         route add 0.0.0.0/0 dev tun0
         route add ::/0 dev tun0",
    );
    site.serve("laptop");
    masquerade(site, "tun0");
    client(site, "laptop");
    site.may_want(&["10.8.0.2", "fd00:8::2"]);
}

/// A second network behind a router of the host's own LAN.
pub fn routed_lan(site: &mut Site) {
    two_providers(site);
    site.place("printer");
    site.cable((HOST, "lan0"), ("printer", "eth0"));
    site.ip(
        HOST,
        "address add 192.168.7.1/24 dev lan0
         address add fd00:7::1/64 dev lan0
         route add 192.168.8.0/24 via 192.168.7.2
         route add fd00:8::/64 via fd00:7::2",
    );
    site.ip(
        "printer",
        "address add 192.168.7.2/24 dev eth0
         address add fd00:7::2/64 dev eth0
         address add 192.168.8.5/24 dev lo
         address add fd00:8::5/64 dev lo
         route add default via 192.168.7.1
         route add default via fd00:7::1",
    );
    site.serve("printer");
    site.may_want(&["192.168.8.5", "fd00:8::5"]);
    for from in ["192.168.8.5", "fd00:8::5"] {
        site.askers.push(ProbingHost {
            place: "printer",
            from: Some(from.parse().unwrap()),
            routed: false,
        });
    }
}

/// A device on the cable that speaks IPv6 with addresses of its own only.
pub fn ipv6_camera(site: &mut Site) {
    site.provider(&WLAN0);
    site.place("camera");
    site.cable((HOST, "eth0"), ("camera", "eth0"));
    site.ip(HOST, "address add fd00:ca::50/64 dev eth0");
    site.ip("camera", "address add fd00:ca::64/64 dev eth0");
    site.serve("camera");
    site.may_want(&["fd00:ca::64"]);
}

/// A camera with a WiFi of its own; the Internet is behind the cable.
pub fn camera_by_wifi(site: &mut Site) {
    site.provider(&ETH0);
    site.place("camera");
    site.cable((HOST, "wlan0"), ("camera", "wlan0"));
    site.ip(HOST, "address add 10.5.5.100/24 dev wlan0");
    site.ip("camera", "address add 10.5.5.9/24 dev wlan0");
    site.serve("camera");
    site.may_want(&["10.5.5.9"]);
}

/// The user prefers the WiFi; behind the cable is nothing.
pub fn preferred_wifi(site: &mut Site) {
    let last = Provider {
        metric: "metric 700",
        v6: None,
        ..ETH0
    };
    // The kernel lists the cable first.
    site.provider(&last);
    site.silence(0);
    site.provider(&Provider { v6: None, ..WLAN0 });
    site.destinations.retain(IpAddr::is_ipv4);
}

/// IPv4 is to leave by the cable, IPv6 by the WiFi.
pub fn families_apart(site: &mut Site) {
    site.provider(&ETH0);
    let first = Provider {
        metric: "metric 50",
        ..WLAN0
    };
    site.provider_with(&first, |uplink| {
        uplink.lines = uplink.lines.replace(
            "via 198.51.100.1 dev LINK metric 50",
            "via 198.51.100.1 dev LINK metric 600",
        );
    });
}

/// The WiFi's prefix is a public one, but its router is none (a router lifetime of 0).
pub fn prefix_without_router(site: &mut Site) {
    site.provider(&ETH0);
    let v6 = WLAN0.v6.map(|net| Subnet { default: "", ..net });
    site.provider(&Provider { v6, ..WLAN0 });
}

/// A modem that has no IPv6 at all.
pub fn ipv4_modem(site: &mut Site) {
    site.provider(&ETH0);
    site.provider(&Provider { v6: None, ..WLAN0 });
}

/// A phone that this host takes along over USB.
pub fn tethered_phone(site: &mut Site) {
    behind(site, "usb0", "10.42.0", "fd00:42");
}

/// A home's router: a network of its own on the second port.
pub fn home_router(site: &mut Site) {
    behind(site, "eth1", "192.168.178", "fd00:178");
}

/// The default route's next hops are objects of their own.
pub fn nexthop_group(site: &mut Site) {
    let plain = |provider: Provider| Provider {
        v4: provider.v4.map(|net| Subnet { default: "", ..net }),
        ..provider
    };
    site.provider(&plain(WLAN0));
    site.ip(HOST, "nexthop add id 2 via 198.51.100.1 dev wlan0");
    site.provider_with(&plain(ETH0), |uplink| {
        uplink.lines += "
            nexthop replace id 1 via 192.0.2.1 dev LINK
            nexthop replace id 10 group 1/2
            route replace default nhid 10";
        uplink.leave = "nexthop replace id 10 group 2";
    });
    site.uplinks.swap(0, 1);
    site.spreads = true;
}

/// IPv4 by a router that has an IPv6 address only.
pub fn ipv4_via_ipv6(site: &mut Site) {
    let v4 = ETH0.v4.map(|net| Subnet {
        default: "via inet6 2001:db8:1::1",
        ..net
    });
    site.provider(&Provider { v4, ..ETH0 });
    site.provider(&WLAN0);
}

/// IPv6 is there; IPv4 comes later.
pub fn ipv6_first(site: &mut Site) {
    for provider in [ETH0, WLAN0] {
        site.provider_with(&provider, |uplink| uplink.lines = lines_of(uplink, true));
    }
    site.destinations.retain(IpAddr::is_ipv6);
}

/// IPv4 comes, to both links.
pub fn ipv4_comes(site: &mut Site) {
    for provider in [ETH0, WLAN0] {
        let uplink = provider.uplink();
        site.ip(HOST, &lines_of(&uplink, false).replace("LINK", provider.link));
    }
    site.may_want(&["203.0.113.1"]);
}

/// What the user's network manager sets in one family.
fn lines_of(uplink: &Uplink, v6: bool) -> String {
    let fits = uplink.lines.lines().filter(|line| line.contains("::") == v6);
    fits.collect::<Vec<_>>().join("\n")
}

/// pppd's default route: no gateway, no metric.
pub fn pppd(site: &mut Site) {
    super::routes::modem(site, "", "metric 100");
}

/// The configuration knows the cable by an alternative name of its interface.
pub fn alternative_name(site: &mut Site) {
    two_providers(site);
    site.ip(HOST, "link property add dev eth0 altname desk-by-the-window");
    site.config = "[[link]]\ninterface = \"desk-by-the-window\"\nkind = \"cable\"\n\
                   [[link]]\ninterface = \"wl*\"\nkind = \"wifi\"\n"
        .to_owned();
}

/// Tables and rules of the user with numbers that slowhand uses, too.
pub fn same_numbers(site: &mut Site) {
    two_providers(site);
    let routes: String = (51_830..51_842)
        .map(|table| format!("route add default via 192.0.2.1 dev eth0 table {table} proto static\n"))
        .collect();
    site.ip(HOST, &routes);
    let rules = "rule add pref 5183 from 192.0.2.250 lookup 51831
        rule add pref 5188 fwmark 0x98 lookup 51832
        rule add pref 5283 from 192.0.2.251 lookup 51833
        rule add pref 32765 fwmark 0x99 lookup 51835
        rule add pref 32765 from 192.0.2.252 lookup 51836";
    site.ip(HOST, rules);
    site.marks.extend([0x98, 0x99]);
}
