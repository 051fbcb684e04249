//! A client and a server with several links between them, and faults of these links.

use crate::diag::{Diag, States, TcpSocket};
use crate::netns::Netns;
use crate::rtnl::{Address, AddressFlags, Rtnl};
use crate::testing::{Pair, Patience, furnish, index, output, prefix};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The server's address, the same over every link.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
pub(super) const PORT: u16 = 5001;

/// Slow enough for two cores, and to build a queue.
const RATE: &str = "40mbit burst 16kb latency 40ms";

/// Link `i` is `w{i}`: client 10.0.{i}.1, server 10.0.{i}.2. The server's own address is reachable over all
/// links.
pub(super) struct Net {
    pub(super) client: Netns,
    pub(super) server: Netns,
}

/// Prints the kernels' counters if a test fails.
impl Drop for Net {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (who, netns) in [("client", &self.client), ("server", &self.server)] {
                let counted = netns.run(|| output("nstat -as"));
                eprintln!("{who}: {}", counted.unwrap_or_else(|error| error.to_string()));
            }
        }
    }
}

impl Net {
    /// Returns `None` if this user may not create namespaces. The server accepts enough subflows for all
    /// links.
    pub(super) fn with_links(links: u8) -> Option<Self> {
        Self::whose_server_takes(8, links)
    }

    /// Builds the network with a server that accepts this many subflows beside a connection's first one.
    pub(super) fn whose_server_takes(subflows: u8, links: u8) -> Option<Self> {
        let Pair { client, server } = Pair::joined(links)?;
        let net = Self { client, server };
        net.in_server(|| {
            furnish("lo", &["10.255.0.1/32", "fd00:ff::1/128"]);
            settle();
            output(&format!("ip mptcp limits set subflows {subflows}"));
            (0..links).for_each(shape);
        });
        net.in_client(|| {
            settle();
            output("sysctl -qw net.mptcp.blackhole_timeout=0");
            (0..links).for_each(shape);
        });
        Some(net)
    }

    pub(super) fn in_client<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.client.run(work).unwrap()
    }

    pub(super) fn in_server<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.server.run(work).unwrap()
    }

    pub(super) fn address(&self) -> SocketAddr {
        (SERVER, PORT).into()
    }

    /// Makes the link drop everything in both directions while it stays up. Asserts that it does.
    pub(super) fn kill(&self, link: u8) {
        self.kill_at_once(&[link]);
    }

    /// Kills several links at one moment, as [`Net::kill`] does one.
    pub(super) fn kill_at_once(&self, links: &[u8]) {
        let rules = |link| {
            format!(
                "add table inet dead{link}; \
                 add chain inet dead{link} in {{ type filter hook prerouting priority 0; }}; \
                 add chain inet dead{link} out {{ type filter hook postrouting priority 0; }}; \
                 add rule inet dead{link} in iifname w{link} drop; \
                 add rule inet dead{link} out oifname w{link} drop; "
            )
        };
        self.in_server(|| {
            nft(&links.iter().map(rules).collect::<String>());
            let applied = output("nft list ruleset");
            for link in links {
                assert!(
                    applied.contains(&format!("iifname \"w{link}\" drop")),
                    "{applied}"
                );
            }
        });
    }

    pub(super) fn revive(&self, link: u8) {
        self.in_server(|| nft(&format!("delete table inet dead{link}")));
    }

    /// Makes a middlebox drop every segment with an MPTCP option.
    pub(super) fn drop_mptcp(&self) {
        self.in_server(|| {
            nft("add table inet hole; \
                 add chain inet hole in { type filter hook prerouting priority 0; }; \
                 add rule inet hole in tcp option mptcp exists drop");
        });
    }

    /// Makes a middlebox overwrite MPTCP options in what the server sends. The client's acknowledgements
    /// still arrive: otherwise a server whose window is full at that moment would send nothing more.
    pub(super) fn strip_mptcp(&self) {
        self.in_server(|| {
            nft("add table inet bleach; \
                 add chain inet bleach out { type filter hook postrouting priority 0; }; \
                 add rule inet bleach out reset tcp option mptcp");
        });
    }

    /// Drops the next RM_ADDR that leaves the client, and nothing else. In the TCP header it follows the
    /// timestamps, the SACK blocks (if any) and the data acknowledgement.
    pub(super) fn lose_a_withdrawal(&self) {
        self.in_client(|| {
            nft("add table inet word; \
                 add chain inet word lost; \
                 add rule inet word lost limit rate 1/day burst 1 packets counter drop; \
                 add chain inet word out { type filter hook output priority 0; }; \
                 add rule inet word out tcp doff 12 @th,352,16 0x1e04 jump lost; \
                 add rule inet word out tcp doff 15 @th,448,16 0x1e04 jump lost");
        });
    }

    /// Whether an RM_ADDR was dropped.
    pub(super) fn has_lost_a_withdrawal(&self) -> bool {
        self.in_client(|| output("nft list chain inet word lost").contains("counter packets 1 "))
    }

    /// Unplugs or plugs in the cable.
    pub(super) fn plug(&self, link: u8, plugged: bool) {
        self.in_server(|| {
            let mut rtnl = Rtnl::open().unwrap();
            let ifindex = index(&mut rtnl, &format!("w{link}"));
            rtnl.set_up(ifindex, plugged).unwrap();
        });
    }

    /// Gives the client another address on a link, as another network would.
    pub(super) fn readdress(&self, link: u8, from: &str, to: &str) {
        self.in_client(|| {
            let mut rtnl = Rtnl::open().unwrap();
            let ifindex = index(&mut rtnl, &format!("w{link}"));
            let address = |text| Address {
                flags: AddressFlags::NO_DAD,
                ..Address::new(ifindex, prefix(text))
            };
            rtnl.del_address(&address(from)).unwrap();
            rtnl.add_address(&address(to)).unwrap();
        });
    }

    /// Makes the server's end of a link a home router that has assigned `address` to the client, as another
    /// link's router has.
    pub(super) fn hide_behind_router(&self, link: u8, address: &str) {
        self.in_server(|| {
            output(&format!("ip addr add 192.168.1.1/32 dev w{link}"));
            output(&format!(
                "ip route add 10.9.{link}.50 via {address} dev w{link} onlink"
            ));
            nft(&format!(
                "add table ip home{link}; \
                 add chain ip home{link} in {{ type filter hook prerouting priority -300; }}; \
                 add chain ip home{link} out {{ type filter hook postrouting priority 300; }}; \
                 add rule ip home{link} in iifname w{link} ip saddr {address} ip saddr set 10.9.{link}.50; \
                 add rule ip home{link} out oifname w{link} ip daddr 10.9.{link}.50 ip daddr set {address}"
            ));
        });
    }

    /// The server's MPTCP counter `counter`, of its namespace.
    pub(super) fn server_counter(&self, counter: &str) -> u64 {
        self.in_server(|| mptcp_counter(counter))
    }

    /// Waits until the server has received this many withdrawals of addresses.
    pub(super) fn wait_for_withdrawals(&self, heard: u64, patience: Duration) {
        let mut until = Patience::of(patience);
        while self.server_counter("RmAddr") < heard {
            assert!(until.lasts(), "the server has not heard {heard} withdrawals");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the server sends over these links and no other.
    pub(super) fn wait_for_server_subflows(&self, links: &[u8], patience: Duration) {
        let wanted = BTreeSet::from_iter(links.iter().map(|&link| IpAddr::from([10, 0, link, 1])));
        let mut until = Patience::of(patience);
        while self.server_peers() != wanted {
            assert!(until.lasts(), "it sends to {:?}", self.server_peers());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The client's addresses to which the server has subflows.
    fn server_peers(&self) -> BTreeSet<IpAddr> {
        self.in_server(|| {
            let mut peers = BTreeSet::new();
            let add = |socket: &TcpSocket| {
                peers.extend(socket.subflow.map(|_| socket.remote.ip().to_canonical()));
            };
            Diag::open().unwrap().each_tcp(States::ESTABLISHED, add).unwrap();
            peers
        })
    }

    /// Waits until the client's new connections to the server's own addresses begin on this link, in every
    /// family that it has.
    pub(super) fn until_new_connections_leave_by(&self, link: u8) {
        let mut until = Patience::of(Duration::from_secs(20));
        let wanted = [
            IpAddr::from([10, 0, link, 1]),
            format!("fd00:{link}::1").parse().unwrap(),
        ];
        let leaves = |server: &str| {
            let any: IpAddr = if server.contains('.') {
                [0; 4].into()
            } else {
                [0; 16].into()
            };
            let socket = UdpSocket::bind((any, 0)).unwrap();
            socket
                .connect(server)
                .ok()
                .map(|()| socket.local_addr().unwrap().ip())
        };
        loop {
            let by = self.in_client(|| [leaves("10.255.0.1:9"), leaves("[fd00:ff::1]:9")]);
            let by: Vec<IpAddr> = by.into_iter().flatten().collect();
            if !by.is_empty() && by.iter().all(|address| wanted.contains(address)) {
                return;
            }
            assert!(
                until.lasts(),
                "new connections begin from {by:?}, and not over w{link}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The client's MPTCP counter `counter`.
    pub(super) fn client_counter(&self, counter: &str) -> u64 {
        self.in_client(|| mptcp_counter(counter))
    }

    /// Waits until the client's state contains this text.
    pub(super) fn wait_for_client(&self, text: &str, patience: Duration) {
        let mut until = Patience::of(patience);
        while !self.client_state().contains(text) {
            assert!(until.lasts(), "{text} does not appear");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Everything in the client's namespace that a daemon may have changed.
    pub(super) fn client_state(&self) -> String {
        self.in_client(state)
    }
}

/// Everything in this namespace that a daemon may have changed.
pub(super) fn state() -> String {
    let commands = [
        "ip -4 rule",
        "ip -6 rule",
        "ip -4 route show table all",
        "ip -6 route show table all",
        "ip -o addr",
        "ip mptcp limits",
        "ip mptcp endpoint",
        "sysctl -a --pattern net.(mptcp|ipv4.tcp_|ipv4.conf.*rp_filter|ipv4.conf.*arp)",
    ];
    // Link-local addresses appear by themselves after a while. The list of controllers is the whole host's,
    // and other programs load theirs.
    let others = ["fe80", "tcp_allowed_congestion", "tcp_available_congestion"];
    let lasting = |text: String| {
        text.lines()
            .filter(|line| !others.iter().any(|other| line.contains(other)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    commands
        .map(|command| format!("# {command}\n{}\n", lasting(output(command))))
        .concat()
}

fn settle() {
    output("sysctl -qw net.ipv4.tcp_congestion_control=reno");
    output("sysctl -qw net.ipv4.conf.all.rp_filter=0");
}

fn mptcp_counter(name: &str) -> u64 {
    crate::netstat::counted("MPTcpExt", name).unwrap_or(0)
}

fn shape(link: u8) {
    output(&format!("tc qdisc add dev w{link} root tbf rate {RATE}"));
}

/// Changes the packet filter of the calling thread's namespace.
pub(super) fn nft(rules: &str) {
    let status = std::process::Command::new("nft").arg(rules).status().unwrap();
    assert!(status.success(), "nft {rules}");
}

/// Link `i` as seen from the client: its next hop is the server's end.
pub(super) fn gateway(link: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, link, 2).into()
}
