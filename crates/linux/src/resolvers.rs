//! Finds the DNS resolvers of a link in the host's configuration files.
//!
//! # Sources
//! - resolv.conf(5); systemd-resolved.service(8), "/etc/resolv.conf": 127.0.0.53 is a stub, and
//!   `/run/systemd/resolve/resolv.conf` has the servers behind it.
//! - systemd v257, `src/resolve/resolved-link.c` (`link_save_user`): `/run/systemd/resolve/netif/INDEX` has
//!   `SERVERS=` for a link whose servers were set over D-Bus, as NetworkManager does.
//!   `src/network/networkd-state-file.c`: `/run/systemd/netif/links/INDEX` has `DNS=`.
//!
//! # Where we differ, and why
//! 1. Files instead of D-Bus: they exist without a bus, and an unreadable file is not an error. A host
//!    without any of them has no resolver to probe.
//! 2. A server on this host (the stub, dnsmasq) proves nothing about a link, and is skipped.
//!
//! # Checked by
//! `tests`.

mod alone;

pub use alone::{AloneError, use_alone};

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Most bytes read from a file. No such file needs more.
const LONGEST: u64 = 64 << 10;
/// Most resolvers per link. More are not worth a probe.
const MOST: usize = 4;
/// Files with a link's own servers, and the key in them.
const OF_LINK: [(&str, &str); 2] = [
    ("run/systemd/resolve/netif", "SERVERS="),
    ("run/systemd/netif/links", "DNS="),
];
/// Files with the servers of the whole host.
const OF_HOST: [&str; 3] = [
    "run/systemd/resolve/resolv.conf",
    "run/NetworkManager/no-stub-resolv.conf",
    "etc/resolv.conf",
];

/// Returns the resolvers of one link, or those of the whole host if the link has none. `root` is `/` on a
/// host.
pub fn of_link(root: &Path, ifindex: u32) -> Vec<IpAddr> {
    let own = OF_LINK.iter().map(|(directory, key)| {
        let text = contents(&root.join(directory).join(ifindex.to_string()));
        let lines = text.lines().filter_map(|line| line.strip_prefix(key));
        kept(lines.flat_map(str::split_whitespace).filter_map(server))
    });
    let of_host = OF_HOST.iter().map(|file| {
        let text = contents(&root.join(file));
        let servers = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("nameserver")).then(|| words.next())?
        });
        kept(servers.filter_map(server))
    });
    own.chain(of_host)
        .find(|servers| !servers.is_empty())
        .unwrap_or_default()
}

fn kept(servers: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut kept = Vec::new();
    for server in servers {
        let is_elsewhere = !server.is_loopback() && !server.is_unspecified() && !server.is_multicast();
        if is_elsewhere && !kept.contains(&server) && kept.len() < MOST {
            kept.push(server);
        }
    }
    kept
}

/// Parses `ADDRESS[:PORT][%INTERFACE][#NAME]`.
fn server(text: &str) -> Option<IpAddr> {
    let text = text.split(['#', '%']).next()?;
    let plain = text.parse::<IpAddr>();
    let address = plain.or_else(|_| text.parse::<SocketAddr>().map(|socket| socket.ip()));
    address.ok().filter(|address| !is_link_local(*address))
}

/// Whether the address is link-local. It is meaningless without its interface, and a resolver on the link
/// proves nothing about the path beyond.
const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Reads a file up to the length limit. Empty if there is no such file.
pub(crate) fn contents(path: &Path) -> String {
    use std::io::Read as _;
    let mut text = String::new();
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    if let Some(file) = is_file.then(|| std::fs::File::open(path).ok()).flatten() {
        // A file that is not text counts as empty.
        let _ = file.take(LONGEST).read_to_string(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Root;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_links_own_servers_come_before_those_of_the_host() {
        let root = Root::new("resolvers-own");
        root.write("etc/resolv.conf", "nameserver 127.0.0.53\n");
        assert!(of_link(root.path(), 3).is_empty());
        root.write(
            "run/systemd/resolve/resolv.conf",
            "# comment\nsearch lan\nnameserver 192.0.2.53 # no\nnameserver 2001:db8::53\n",
        );
        assert_eq!(
            of_link(root.path(), 3),
            addresses(&["192.0.2.53", "2001:db8::53"])
        );
        root.write(
            "run/systemd/netif/links/3",
            "ADMIN_STATE=configured\nDNS=198.51.100.1 fe80::1%3\n",
        );
        assert_eq!(of_link(root.path(), 3), addresses(&["198.51.100.1"]));
        root.write(
            "run/systemd/resolve/netif/3",
            "LLMNR=yes\nSERVERS=203.0.113.1#dns.example [2001:db8::1]:53%3 203.0.113.1\n",
        );
        assert_eq!(
            of_link(root.path(), 3),
            addresses(&["203.0.113.1", "2001:db8::1"])
        );
        assert_eq!(
            of_link(root.path(), 4),
            addresses(&["192.0.2.53", "2001:db8::53"])
        );
    }

    #[test]
    fn invalid_and_local_servers_are_skipped() {
        let root = Root::new("resolvers-nonsense");
        root.write(
            "etc/resolv.conf",
            "nameserver ::1\nnameserver\nnameserver 300.1.1.1\nnameserver 0.0.0.0\nnameserver 224.0.0.251\nnameserver 9.9.9.9\n",
        );
        assert_eq!(of_link(root.path(), 1), addresses(&["9.9.9.9"]));
    }
}
