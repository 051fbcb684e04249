//! A client and a server namespace, connected by veth pairs.

use linux::netns::Netns;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

#[path = "../../src/testing/patience.rs"]
mod patience;

use patience::Patience;

/// Two hosts without names outside, so that nothing is left behind.
pub struct Hosts {
    pub client: Netns,
    pub server: Netns,
}

impl Hosts {
    /// Two hosts without a link.
    pub fn apart() -> Self {
        let hosts = Self {
            client: Netns::new().expect("a namespace for the client"),
            server: Netns::new().expect("a namespace for the server"),
        };
        // A lost SYN must not disable MPTCP for an hour.
        run(&hosts.client, "sysctl -qw net.mptcp.blackhole_timeout=0");
        for host in [&hosts.client, &hosts.server] {
            run(host, "sysctl -qw net.ipv4.tcp_congestion_control=reno");
        }
        hosts
    }

    /// Two hosts with `links` Ethernet links `l1`, `l2`, …. On link N the client is 10.77.N.1 and the server
    /// 10.77.N.2. Both send at `mbps`. The client joins a second subflow on each further link.
    pub fn joined(links: u8, mbps: u32) -> Self {
        let hosts = Self::apart();
        for n in 1..=links {
            hosts.add_link(n, mbps);
        }
        run(
            &hosts.client,
            "ip mptcp limits set subflows 8 add_addr_accepted 8",
        );
        run(
            &hosts.server,
            "ip mptcp limits set subflows 8 add_addr_accepted 8",
        );
        for n in 2..=links {
            run(
                &hosts.client,
                &format!("ip route add 10.77.1.0/24 via 10.77.{n}.2 dev l{n} table {n}"),
            );
            run(&hosts.client, &format!("ip rule add from 10.77.{n}.1 table {n}"));
            run(
                &hosts.client,
                &format!("ip mptcp endpoint add 10.77.{n}.1 dev l{n} subflow"),
            );
        }
        hosts
    }

    fn add_link(&self, n: u8, mbps: u32) {
        let peer = format!("/proc/{}/fd/{}", std::process::id(), self.server.as_raw_fd());
        run(
            &self.client,
            &format!("ip link add l{n} type veth peer name l{n} netns {peer}"),
        );
        for (host, last) in [(&self.client, 1), (&self.server, 2)] {
            run(host, &format!("ip addr add 10.77.{n}.{last}/24 dev l{n}"));
            run(host, &format!("ip link set l{n} up"));
            run(
                host,
                &format!("tc qdisc add dev l{n} root tbf rate {mbps}mbit burst 32kb limit 300kb"),
            );
        }
    }

    /// The server's address on the first link.
    pub fn server_address(&self, port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::from([10, 77, 1, 2]), port)
    }

    /// The client's interfaces except the loopback.
    pub fn client_interfaces(&self) -> Vec<u32> {
        let listing = run(&self.client, "ip -o link show");
        let index = |line: &str| line.split(':').next().and_then(|index| index.parse().ok());
        listing
            .lines()
            .filter_map(index)
            .filter(|&index| index != 1)
            .collect()
    }
}

/// Runs a command inside a host. A failure ends the test.
pub fn run(host: &Netns, words: &str) -> String {
    let mut parts = words.split_whitespace();
    let mut command = Command::new(parts.next().expect("a command has a name"));
    let output = host
        .prepare(command.args(parts))
        .output()
        .expect("the tool is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until `holds`. Fails with the text of `state` after 20 s.
pub fn eventually(what: &str, holds: impl FnMut() -> bool, state: impl Fn() -> String) {
    let does = holds_within(Duration::from_secs(20), holds);
    assert!(does, "never {what}; at the end: {}", state());
}

/// Waits until `holds`. Returns false after `time`.
pub fn holds_within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let mut deadline = Patience::of(time);
    while !holds() {
        if !deadline.lasts() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
