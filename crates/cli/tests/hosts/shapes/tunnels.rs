//! Hosts with a VPN, whose rules come before the rule for `main`.

use super::two_providers;
use crate::site::{HOST, ProbingHost, SECRET, SERVER, Site};

/// wg-quick with `AllowedIPs = 0.0.0.0/0, ::/0`: all but the tunnel's own packets go into the tunnel.
pub fn full_tunnel(site: &mut Site) {
    idle_tunnel(site);
    wg_quick_up(site);
}

/// A tunnel that nothing leads into yet.
pub fn idle_tunnel(site: &mut Site) {
    two_providers(site);
    site.place("vpn");
    site.tunnel("wg0", ("vpn", "wg0"));
    let far = "address add 10.64.0.1/24 dev wg0\naddress add fd00:64::1/64 dev wg0";
    site.ip("vpn", far);
    for address in SERVER.iter().chain(&SECRET) {
        site.ip("vpn", &format!("address add {address} dev lo"));
    }
    site.serve("vpn");
    site.marks.push(51_820);
}

/// What `wg-quick up` does; the kernel chooses the rules' priorities.
pub fn wg_quick_up(site: &mut Site) {
    site.ip(
        HOST,
        "address add 10.64.0.2/32 dev wg0\naddress add fd00:64::2/128 dev wg0",
    );
    let lines = "route add default dev wg0 table 51820
        rule add not fwmark 51820 table 51820
        rule add table main suppress_prefixlength 0";
    site.ip(HOST, lines);
    site.ip6(HOST, lines);
    site.keep_secret(&SECRET);
}

/// What `wg-quick down` does.
pub fn wg_quick_down(site: &mut Site) {
    site.ip(
        HOST,
        "address del 10.64.0.2/32 dev wg0\naddress del fd00:64::2/128 dev wg0",
    );
    let rules = "rule del not fwmark 51820 table 51820\nrule del table main suppress_prefixlength 0";
    site.ip(HOST, rules);
    site.ip6(HOST, &format!("{rules}\nroute flush table 51820"));
    site.secrets.clear();
}

/// Tailscale with routes of a tailnet: rules from 5210 to 5270, which send all but its own packets to table
/// 52 first.
pub fn tailnet(site: &mut Site) {
    two_providers(site);
    site.place("tailnet");
    site.tunnel("tailscale0", ("tailnet", "tailscale0"));
    let far = "address add 100.100.1.1/32 dev tailscale0
        address add fd7a:115c:a1e0::1/128 dev tailscale0
        address add 10.77.0.1/16 dev lo
        address add fd77::1/64 dev lo
        route add default dev tailscale0";
    site.ip("tailnet", far);
    site.ip6("tailnet", "route add default dev tailscale0");
    site.serve("tailnet");
    let rules = "rule add pref 5210 fwmark 0x80000/0xff0000 lookup main
        rule add pref 5230 fwmark 0x80000/0xff0000 lookup default
        rule add pref 5250 fwmark 0x80000/0xff0000 unreachable
        rule add pref 5270 lookup 52";
    site.ip(HOST, rules);
    site.ip6(HOST, rules);
    let routes = "address add 100.100.2.2/32 dev tailscale0
        address add fd7a:115c:a1e0::2/128 dev tailscale0
        route add 100.100.1.1 dev tailscale0 table 52
        route add fd7a:115c:a1e0::1 dev tailscale0 table 52
        route add 10.77.0.0/16 dev tailscale0 table 52
        route add fd77::/64 dev tailscale0 table 52";
    site.ip(HOST, routes);
    site.marks.push(0x8_0000);
    site.keep_secret(&["100.100.1.1", "fd7a:115c:a1e0::1", "10.77.0.1", "fd77::1"]);
    site.askers.push(ProbingHost {
        place: "tailnet",
        from: None,
        routed: false,
    });
}

/// Programs that set a mark go into a tunnel, the others do not.
pub fn marked_tunnel(site: &mut Site) {
    two_providers(site);
    site.place("vpn");
    site.tunnel("tun0", ("vpn", "tun0"));
    site.ip("vpn", "address add 10.65.0.1/24 dev tun0");
    for address in SERVER {
        site.ip("vpn", &format!("address add {address} dev lo"));
    }
    site.serve("vpn");
    let lines = "address add 10.65.0.2/24 dev tun0
        rule add fwmark 0x10 lookup 100
        route add default dev tun0 table 100";
    site.ip(HOST, lines);
    site.marks.push(0x10);
}
