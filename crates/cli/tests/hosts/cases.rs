//! Kinds of hosts that a daemon which moves default routes can break, three of each.
//!
//! | kind | as first met | two others |
//! |---|---|---|
//! | routes beside the default | `10.0.0.0/8` by another router | a lease's; forbidden networks |
//! | replies to neighbours | a container (matrix) | clients of a VPN server; a network behind a LAN router |
//! | several addresses | IPv4 alias, IPv6 privacy address (`moved`) | deprecated; second subnet (`moved`) |
//! | no gateway | a camera on the cable (matrix) | a device with IPv6 only; a camera's own WiFi |
//! | the user's order | a WiFi before a cable | another order in IPv6; an order that changes |
//! | a family without upstream | ULA (matrix) | a prefix whose router is none; a modem without IPv6 |
//! | the host as a router | an access point (matrix) | a phone on USB; a home's router |
//! | several next hops | one route (matrix) | objects in a group; IPv4 by IPv6 |
//! | addresses that change on the default's link | IPv4 by DHCP (`moved`) | IPv6 alone; in another order |
//! | names | renamed and back (matrix) | two that swap; one that is plugged in again; an alternative name |
//! | metric 0 | two gateways (matrix, `moved`) | pppd's gatewayless route (both); one link only (`moved`) |
//!
//! In detail:
//! - routes beside the default are more specific than it;
//! - a lease's classless routes are a single host and an IPv6 prefix;
//! - the second subnet belongs to the same router;
//! - "in another order" is the new address before the old one goes (`moved`), and IPv4 after IPv6.

use crate::may_run;
use crate::shapes::{tunnels, two_providers, variants};
use crate::site::{HOST, Site};
use crate::twins::{Build, Step, play_all};
use crate::uplink::ETH0;

/// A host without link events.
const QUIET: &[Step] = &[Step::Start, Step::Down];
/// The preferred link blinks.
const BLINK: &[Step] = &[Step::Start, Step::Unplug, Step::Release, Step::Return, Step::Down];

fn play(shapes: &[(&'static str, Build)], steps: &[Step]) {
    if may_run() {
        play_all(shapes, steps);
    }
}

#[test]
fn routes_more_specific_than_a_default_belong_to_the_user() {
    let shapes: &[(&str, Build)] = &[
        ("inner network", variants::inner_network),
        ("classless routes", variants::classless_routes),
        ("forbidden networks", variants::forbidden_networks),
    ];
    play(shapes, QUIET);
}

#[test]
fn replies_to_hosts_behind_a_link_use_that_link() {
    let shapes: &[(&str, Build)] = &[
        ("VPN server", variants::vpn_server),
        ("LAN behind a router", variants::routed_lan),
    ];
    play(shapes, QUIET);
}

#[test]
fn a_link_without_a_gateway_is_not_used_for_the_internet() {
    let shapes: &[(&str, Build)] = &[
        ("IPv6 camera", variants::ipv6_camera),
        ("camera by WiFi", variants::camera_by_wifi),
        ("prefix without a router", variants::prefix_without_router),
        ("IPv4 modem", variants::ipv4_modem),
    ];
    play(shapes, BLINK);
}

#[test]
fn forwarded_hosts_stay_connected() {
    let shapes: &[(&str, Build)] = &[
        ("tethered phone", variants::tethered_phone),
        ("home router", variants::home_router),
    ];
    play(shapes, BLINK);
}

#[test]
fn multipath_next_hops_are_read_completely() {
    let shapes: &[(&str, Build)] = &[
        ("next hops in a group", variants::nexthop_group),
        ("IPv4 by IPv6", variants::ipv4_via_ipv6),
        ("pppd", variants::pppd),
    ];
    play(shapes, BLINK);
}

/// The user prefers the other link from now on.
fn other_order(site: &mut Site) {
    site.ip(
        HOST,
        "route add default via 198.51.100.1 dev wlan0 metric 10\nroute add default via 2001:db8:2::1 dev wlan0 metric 10",
    );
}

#[test]
fn the_users_order_of_links_is_kept() {
    play(
        &[
            ("WiFi preferred", variants::preferred_wifi),
            ("families apart", variants::families_apart),
        ],
        QUIET,
    );
}

#[test]
fn an_order_that_the_user_changes_is_followed() {
    let steps = &[Step::Start, Step::Also("other order", other_order), Step::Down];
    play(&[("two providers", two_providers)], steps);
}

#[test]
fn a_tunnel_may_come_and_go() {
    let steps = &[
        Step::Start,
        Step::Also("wg-quick up", tunnels::wg_quick_up),
        Step::Also("wg-quick down", tunnels::wg_quick_down),
        Step::Down,
    ];
    play(&[("idle tunnel", tunnels::idle_tunnel)], steps);
}

#[test]
fn interfaces_may_swap_names() {
    let replug = |site: &mut Site| site.replug(0, &ETH0);
    let steps = &[
        Step::Start,
        Step::Also("names swapped", Site::swap_names),
        Step::Also("names swapped again", Site::swap_names),
        Step::Also("put in again", replug),
        Step::Down,
    ];
    play(&[("names", two_providers)], steps);
}

/// The preferred link is up, but reported as dormant: 802.1X is not complete, or nobody says that it is.
fn dormant(site: &mut Site) {
    let link = site.uplinks[0].link.clone();
    site.ip(HOST, &format!("link set dev {link} mode dormant state dormant"));
    let shown = site.ip(HOST, &format!("link show dev {link}"));
    assert!(shown.contains("state DORMANT"), "{shown}");
}

/// It is reported as up again.
fn awake(site: &mut Site) {
    let link = site.uplinks[0].link.clone();
    site.ip(HOST, &format!("link set dev {link} mode default state up"));
}

#[test]
fn a_link_with_an_alternative_name_may_be_dormant_and_renamed() {
    let steps = &[
        Step::Start,
        Step::Also("dormant", dormant),
        Step::Also("not dormant", awake),
        Step::Rename,
        Step::Rename,
        Step::Down,
    ];
    play(&[("alternative name", variants::alternative_name)], steps);
}
