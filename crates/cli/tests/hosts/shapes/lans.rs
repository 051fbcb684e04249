//! Hosts with machines of their own behind them.

use super::two_providers;
use crate::site::{HOST, ProbingHost, Site};
use crate::uplink::{ETH0, WLAN0};

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
    behind(site, "wlan0", "10.3.141", "fd00:141");
}

/// A client behind a link of the host, with addresses from the host; the Internet is behind the cable.
pub fn behind(site: &mut Site, link: &str, v4: &str, v6: &str) {
    site.provider(&ETH0);
    site.place("phone");
    site.cable((HOST, link), ("phone", "up0"));
    let host = format!("address add {v4}.1/24 dev {link}\naddress add {v6}::1/64 dev {link}");
    site.ip(HOST, &host);
    let phone = format!(
        "address add {v4}.50/24 dev up0
         address add {v6}::50/64 dev up0
         route add default via {v4}.1
         route add default via {v6}::1"
    );
    site.ip("phone", &phone);
    site.serve("phone");
    masquerade(site, link);
    site.may_want(&[&format!("{v4}.50"), &format!("{v6}::50")]);
    client(site, "phone");
}

/// Translates what this host passes on.
pub fn masquerade(site: &Site, own: &str) {
    site.forwards(HOST);
    let rules = format!(
        "add table inet nat
         add chain inet nat post {{ type nat hook postrouting priority 100; }}
         add rule inet nat post oifname != {own} iifname {own} masquerade"
    );
    site.nft(HOST, &rules);
}

/// Asks everything, and the host on all of its addresses, from behind this link of the host.
pub fn client(site: &mut Site, place: &'static str) {
    site.askers.push(ProbingHost {
        place,
        from: None,
        routed: true,
    });
}
