//! Hosts as people have them. A shape is a function that builds one; a line in [`ALL`] has it played.

use crate::site::{Asker, HOST, INTERNET, SERVER, Site};
use crate::twins::Build;
use crate::uplink::{ETH0, Provider, Subnet, WLAN0};

/// All of them.
pub const ALL: &[(&str, Build)] = &[
    ("container bridge", container_bridge),
    ("full tunnel by wg-quick", full_tunnel),
    ("two subnets on one card", two_subnets),
    ("ULA without upstream", ula_only),
    ("camera", camera),
    ("own access point", access_point),
];

/// A cable and a WiFi, each with its provider, IPv4 and IPv6.
pub fn two_providers(site: &mut Site) {
    site.provider(&ETH0);
    site.provider(&WLAN0);
    for from in SERVER {
        site.askers.push(Asker {
            place: INTERNET,
            from: Some(from.parse().unwrap()),
            routed: false,
        });
    }
}

/// Translates what this host passes on.
fn masquerade(site: &Site, own: &str) {
    site.forwards(HOST);
    let rules = format!(
        "add table inet nat
         add chain inet nat post {{ type nat hook postrouting priority 100; }}
         add rule inet nat post oifname != {own} iifname {own} masquerade"
    );
    site.nft(HOST, &rules);
}

/// Asks everything, and the host on all of its addresses, from behind this link of the host.
fn client(site: &mut Site, place: &'static str) {
    site.askers.push(Asker {
        place,
        from: None,
        routed: true,
    });
}

/// Docker's bridge with a container, which asks services on every address of the host.
pub fn container_bridge(site: &mut Site) {
    two_providers(site);
    site.place("container");
    site.ip(
        HOST,
        "link add docker0 address 02:42:00:00:00:01 type bridge\nlink set docker0 up",
    );
    site.cable((HOST, "veth0"), ("container", "eth0"));
    site.ip(
        HOST,
        "link set veth0 master docker0
         address add 172.17.0.1/16 dev docker0
         address add fd00:17::1/64 dev docker0",
    );
    site.ip(
        "container",
        "address add 172.17.0.2/16 dev eth0
         address add fd00:17::2/64 dev eth0
         route add default via 172.17.0.1
         route add default via fd00:17::1",
    );
    masquerade(site, "docker0");
    client(site, "container");
    site.serve("container");
    site.may_want(&["172.17.0.2", "fd00:17::2"]);
}

/// wg-quick with `AllowedIPs = 0.0.0.0/0, ::/0`: all but the tunnel's own packets go into the tunnel.
pub fn full_tunnel(site: &mut Site) {
    two_providers(site);
    site.place("vpn");
    site.tunnel("wg0", ("vpn", "wg0"));
    site.ip(
        "vpn",
        "address add 10.64.0.1/24 dev wg0
         address add fd00:64::1/64 dev wg0",
    );
    for address in SERVER.iter().chain(&crate::site::SECRET) {
        site.ip("vpn", &format!("address add {address} dev lo"));
    }
    site.serve("vpn");
    site.ip(
        HOST,
        "address add 10.64.0.2/32 dev wg0
         address add fd00:64::2/128 dev wg0
         route add default dev wg0 table 51820
         rule add not fwmark 51820 table 51820
         rule add table main suppress_prefixlength 0",
    );
    site.ip6(
        HOST,
        "route add default dev wg0 table 51820
         rule add not fwmark 51820 table 51820
         rule add table main suppress_prefixlength 0",
    );
    site.marks.push(51_820);
    site.keep_secret(&crate::site::SECRET);
}

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

/// The cable goes to a camera, which is no way to anywhere; the Internet is behind the WiFi.
pub fn camera(site: &mut Site) {
    site.provider(&WLAN0);
    site.place("camera");
    site.cable((HOST, "eth0"), ("camera", "eth0"));
    site.ip(HOST, "address add 192.168.1.50/24 dev eth0");
    site.ip("camera", "address add 192.168.1.64/24 dev eth0");
    site.serve("camera");
    site.may_want(&["192.168.1.64"]);
    client(site, "camera");
}

/// The host's WiFi is an access point of its own, whose clients it takes along over the cable.
pub fn access_point(site: &mut Site) {
    site.provider(&ETH0);
    site.place("phone");
    site.cable((HOST, "wlan0"), ("phone", "wlan0"));
    site.ip(
        HOST,
        "address add 10.3.141.1/24 dev wlan0\naddress add fd00:141::1/64 dev wlan0",
    );
    site.ip(
        "phone",
        "address add 10.3.141.50/24 dev wlan0
         address add fd00:141::50/64 dev wlan0
         route add default via 10.3.141.1
         route add default via fd00:141::1",
    );
    site.serve("phone");
    masquerade(site, "wlan0");
    site.may_want(&["10.3.141.50", "fd00:141::50"]);
    client(site, "phone");
}
