//! Hosts whose routes are not the usual ones.

use super::two_providers;
use crate::site::{HOST, INTERNET, Site, mac_of};
use crate::uplink::{ETH0, Provider, Subnet, Uplink, WLAN0};
use std::fmt::Write as _;
use std::net::IpAddr;

/// Two networks with a router each on one cable; the user has a rule for the second one.
pub fn two_subnets(site: &mut Site) {
    site.place("switch");
    site.ip("switch", "link add lan type bridge\nlink set lan up");
    site.cable((HOST, "eth0"), ("switch", "host"));
    for (port, far) in [("first", "p-eth0"), ("second", "p-second")] {
        site.cable((INTERNET, far), ("switch", port));
        site.ip("switch", &format!("link set {port} master lan"));
    }
    site.ip("switch", "link set host master lan");
    site.ip(
        INTERNET,
        "address add 192.0.2.65/26 dev p-second\naddress add 2001:db8:3::1/64 dev p-second",
    );
    site.accept_only("p-second", "192.0.2.64/26");
    site.accept_only("p-second", "2001:db8:3::/64");
    let half = |net: Subnet| Subnet {
        host: "192.0.2.2/26",
        next: "192.0.2.9/26",
        router: "192.0.2.1/26",
        customer: "192.0.2.0/26",
        ..net
    };
    let first = Provider {
        v4: ETH0.v4.map(half),
        ..ETH0
    };
    site.customer(&first, |uplink| {
        uplink.socket = ("switch", "host".to_owned());
        uplink.lines += "
            address add 192.0.2.66/26 dev LINK
            address add 2001:db8:3::2/64 dev LINK
            route replace default via 192.0.2.65 dev LINK table 66
            route replace default via 2001:db8:3::1 dev LINK table 66";
    });
    site.ip(HOST, "rule add from 192.0.2.64/26 table 66");
    site.ip6(HOST, "rule add from 2001:db8:3::/64 table 66");
    site.provider(&WLAN0);
}

/// The WiFi's router has no IPv6 upstream and gives addresses of its own all the same.
pub fn ula_only(site: &mut Site) {
    let local = Subnet {
        host: "fd00:9::2/64",
        next: "fd00:9::9/64",
        router: "fd00:9::1/64",
        customer: "fd00:9::/64",
        default: "",
    };
    site.provider(&ETH0);
    site.provider(&Provider {
        v6: Some(local),
        ..WLAN0
    });
}

/// One default route with a next hop over each link.
pub fn several_next_hops(site: &mut Site) {
    let plain = |net: Subnet| Subnet { default: "", ..net };
    let without_default = |provider: Provider| Provider {
        v4: provider.v4.map(plain),
        v6: provider.v6.map(plain),
        ..provider
    };
    site.provider(&without_default(WLAN0));
    site.provider_with(&without_default(ETH0), |uplink| {
        uplink.lines += "
            route replace default nexthop via 192.0.2.1 dev LINK nexthop via 198.51.100.1 dev wlan0
            route replace default nexthop via 2001:db8:1::1 dev LINK nexthop via 2001:db8:2::1 dev wlan0";
        uplink.leave = "route replace default via 2001:db8:2::1 dev wlan0";
    });
    site.uplinks.swap(0, 1);
    site.spreads = true;
}

/// Defaults without a metric, as ifupdown and pppd set them: nothing can be better, and the first one counts.
pub fn metric_0(site: &mut Site) {
    let bare = |provider: Provider| Provider {
        metric: "",
        ..provider
    };
    let put = |how: &'static str| {
        move |uplink: &mut Uplink| uplink.lines = uplink.lines.replace("route replace", how)
    };
    site.provider_with(&bare(ETH0), put("route prepend"));
    site.provider_with(&bare(Provider { v6: None, ..WLAN0 }), put("route append"));
}

/// The cable's provider, which assigns addresses without a subnet, with these default routes.
fn lone_addresses(v4_default: &'static str, v6_default: &'static str) -> Provider {
    let v4 = |net: Subnet| Subnet {
        host: "192.0.2.2/32",
        next: "192.0.2.9/32",
        default: v4_default,
        ..net
    };
    let v6 = |net: Subnet| Subnet {
        host: "2001:db8:1::2/128",
        next: "2001:db8:1::9/128",
        default: v6_default,
        ..net
    };
    Provider {
        v4: ETH0.v4.map(v4),
        v6: ETH0.v6.map(v6),
        ..ETH0
    }
}

/// A server in a data centre: an address without a subnet, the gateway said to be on the link.
pub fn onlink_gateway(site: &mut Site) {
    let bare = Provider {
        metric: "onlink metric 100",
        ..lone_addresses("via 192.0.2.1", "via fe80::1")
    };
    site.provider_with(&bare, |uplink| {
        let routers = mac_of(INTERNET, &uplink.far);
        uplink.lines += &format!("\nneigh replace fe80::1 lladdr {routers} dev LINK nud reachable");
    });
    site.ip(INTERNET, "address add fe80::1/64 dev p-eth0");
    site.provider(&WLAN0);
}

/// A modem: no hardware addresses, no gateway, one address.
pub fn point_to_point(site: &mut Site) {
    modem(site, "metric 100", "metric 100");
}

/// A modem whose default routes end in these words.
pub fn modem(site: &mut Site, v4_metric: &str, v6_metric: &str) {
    let modem = Provider {
        link: "usb0",
        ..lone_addresses("", "")
    };
    site.tunnel("usb0", (INTERNET, "p-usb0"));
    site.customer(&modem, |uplink| {
        uplink.lines += &format!(
            "
            route replace 0.0.0.0/0 dev LINK {v4_metric}
            route replace ::/0 dev LINK {v6_metric}"
        );
    });
    site.provider(&WLAN0);
}

/// A router's table: 200,000 routes over the link that is not preferred.
pub fn many_routes(site: &mut Site) {
    two_providers(site);
    let mut lines = String::with_capacity(12_000_000);
    for number in 0..200_000_u32 {
        let [_, high, mid, low] = number.to_be_bytes();
        let _ = writeln!(
            lines,
            "route add {}.{mid}.{low}.0/24 via 198.51.100.1 dev wlan0 proto bgp",
            11 + high
        );
    }
    site.ip(HOST, &lines);
    site.ip(INTERNET, "address add 12.34.56.78/32 dev lo");
    site.may_want(&["12.34.56.78"]);
}

/// No IPv4 anywhere.
pub fn only_ipv6(site: &mut Site) {
    site.provider(&Provider { v4: None, ..ETH0 });
    site.provider(&Provider { v4: None, ..WLAN0 });
    site.destinations.retain(IpAddr::is_ipv6);
}
