//! Hosts as people have them. A shape is a function that builds one; a line in [`ALL`] adds it to the matrix.

pub mod lans;
pub mod routes;
pub mod tunnels;
pub mod variants;

use crate::site::{INTERNET, ProbingHost, SERVER, Site};
use crate::twins::Build;
use crate::uplink::{ETH0, WLAN0};

/// All shapes of hosts.
pub const ALL: &[(&str, Build)] = &[
    ("container bridge", lans::container_bridge),
    ("VPN: wg-quick, all of it", tunnels::full_tunnel),
    ("VPN: Tailscale", tunnels::tailnet),
    ("VPN: by mark", tunnels::marked_tunnel),
    ("two subnets on one card", routes::two_subnets),
    ("ULA without upstream", routes::ula_only),
    ("camera", lans::camera),
    ("own access point", lans::access_point),
    ("several next hops", routes::several_next_hops),
    ("metric 0", routes::metric_0),
    ("/32 with a gateway on the link", routes::onlink_gateway),
    ("point to point", routes::point_to_point),
    ("200,000 routes", routes::many_routes),
    ("IPv6 only", routes::only_ipv6),
    ("numbers like slowhand's", variants::same_numbers),
];

/// A cable and a WiFi, each with its provider, IPv4 and IPv6.
pub fn two_providers(site: &mut Site) {
    site.provider(&ETH0);
    site.provider(&WLAN0);
    for from in SERVER {
        site.askers.push(ProbingHost {
            place: INTERNET,
            from: Some(from.parse().unwrap()),
            routed: false,
        });
    }
}
