//! Two relays with the same keys on hosts of their own, behind a balancer on the Internet's host.
//!
//! The balancer spreads the first SYNs by their ends. A relay forbids joins to the balancer's address and
//! announces its own. It needs a port of its own there: the kernel does not announce the address and port of
//! the first subflow.

use crate::site::{self, Site, Speaks, V4, furnish, ip};
use linux::netns::Netns;
use linux::rtnl::{IfName, Rtnl, VethPeer};
use std::io::{Read as _, Write as _};

/// A host for a relay, at 203.0.113.`number`.
fn host(site: &Site, number: u8) -> Netns {
    let host = Netns::new().unwrap();
    let name: IfName = format!("r{number}").parse().unwrap();
    host.run(|| {
        let netns = Some(&site.internet);
        Rtnl::open()
            .unwrap()
            .add_veth(name, VethPeer { name, netns })
            .unwrap();
        ip("link set lo up");
        furnish(&format!("r{number}"), &format!("10.1.{number}.2/24"));
        furnish("lo", &format!("203.0.113.{number}/32"));
        ip(&format!("route add default via 10.1.{number}.1"));
        ip("mptcp limits set subflows 8");
        ip(&format!("mptcp endpoint add 203.0.113.{number} port 4434 signal"));
        std::fs::write("/proc/sys/net/mptcp/allow_join_initial_addr_port", "0").unwrap();
    })
    .unwrap();
    site.internet
        .run(|| {
            furnish(&format!("r{number}"), &format!("10.1.{number}.1/24"));
            ip(&format!("route add 203.0.113.{number} via 10.1.{number}.2"));
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        })
        .unwrap();
    host
}

#[test]
fn two_relays_share_connections_and_joins_reach_the_right_one() {
    let Some(site) = Site::new("balanced") else { return };
    let (server, _echo) = site.echo(V4, Speaks::Tcp);
    let hosts = [2, 3].map(|number| host(&site, number));
    let rules = "add table ip balance; add chain ip balance in { type nat hook prerouting priority -100; \
                 ip daddr 203.0.113.1 tcp dport 4433 dnat to jhash ip saddr . tcp sport mod 2 map \
                 { 0 : 203.0.113.2, 1 : 203.0.113.3 }; }";
    site.nft(rules);
    let relays = [(&hosts[0], 2), (&hosts[1], 3)].map(|(host, number)| {
        let name = format!("relay-{number}");
        site.relay_at(host, &format!("203.0.113.{number}:4433"), &name)
    });
    let _daemon = site.up(&site.through_relay());
    let mut open = Vec::new();
    site::until("both relays carry connections", || {
        open.push(site.connect(server));
        relays
            .iter()
            .all(|relay| relay.status()["keys"]["laptop"]["open"] != 0)
    });
    site::until("each connection has both links", || {
        let status = site.status();
        let connections = status["connections"].as_array().unwrap();
        connections.len() == open.len()
            && connections
                .iter()
                .all(|row| row["subflows"].as_array().unwrap().len() == 2)
    });
    // No join went to the other relay, which would have refused it.
    for host in &hosts {
        let refused = || linux::netstat::counted("MPTcpExt", "MPJoinNoTokenFound");
        assert_eq!(host.run(refused).unwrap(), Some(0));
    }
    site.cut("w0");
    for mut stream in &open {
        stream.write_all(b"across").unwrap();
        let mut back = [0; 6];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"across");
    }
}
