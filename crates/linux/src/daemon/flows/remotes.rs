//! The addresses at which a connection's peer accepts joins: its first one, and those that it announces.
//!
//! # Sources
//! - RFC 8684 §3.4.1 (ADD_ADDR), §5 (an announced address may belong to somebody else).
//! - net/mptcp/pm.c (`mptcp_pm_addr_families_match`), Linux 6.18: a program's IPv4 socket has IPv4 subflows
//!   only. Its IPv6 socket has both, also if it began with an IPv4-mapped address.
//!
//! # Where we differ, and why
//! 1. From RFC 8684 §3.4.1, which leaves it to the host: a private address of a public server is ignored.
//!    On this host's networks it belongs to another host.
//!
//! # Checked by
//! `tests`; `daemon::tests::families`.

use policy::{Family, RemoteId};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Most addresses remembered for one peer: its first one, and 8 that it announces, as Linux does at most.
const MOST: usize = 9;

/// The peer's addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remotes {
    /// The address of the first subflow.
    first: SocketAddr,
    /// Whether the program's socket can have subflows of both families.
    mixes: bool,
    known: Vec<(RemoteId, SocketAddr)>,
}

impl Remotes {
    /// The addresses of a new connection: the one of its first subflow, in the form that the kernel reports.
    pub(crate) fn new(first: SocketAddr) -> Self {
        let mixes = first.is_ipv6();
        let first = SocketAddr::new(first.ip().to_canonical(), first.port());
        Self {
            first,
            mixes,
            known: vec![(RemoteId::FIRST, first)],
        }
    }

    /// The address for joins that has this identifier.
    pub(crate) fn address(&self, id: RemoteId) -> Option<SocketAddr> {
        let mut known = self.known.iter();
        known.find(|(known, _)| *known == id).map(|(_, address)| *address)
    }

    /// All addresses for joins, the first one first.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.known.iter().map(|(_, address)| *address)
    }

    /// The identifier and family of each.
    pub(crate) fn families(&self) -> impl Iterator<Item = (RemoteId, Family)> + '_ {
        self.known
            .iter()
            .map(|(id, address)| (*id, family_of(address.ip())))
    }

    /// Adds an announced address. Without a port, it has the first one's. Returns whether that is news.
    pub(crate) fn announced(&mut self, id: RemoteId, address: SocketAddr) -> bool {
        let port = match address.port() {
            0 => self.first.port(),
            port => port,
        };
        let address = SocketAddr::new(address.ip().to_canonical(), port);
        let is_known = self.known.iter().any(|(_, known)| *known == address);
        if is_known || !self.is_usable(address.ip()) || id == RemoteId::FIRST {
            return false;
        }
        self.known.retain(|(known, _)| *known != id);
        let has_room = self.known.len() < MOST;
        if has_room {
            self.known.push((id, address));
        }
        has_room
    }

    /// Removes an address. Returns whether it was known.
    pub(crate) fn removed(&mut self, id: RemoteId) -> bool {
        let before = self.known.len();
        self.known.retain(|(known, _)| *known != id);
        self.known.len() < before
    }

    /// The program's socket has subflows of one family only. Returns the addresses that are thus useless.
    pub(crate) fn mixes_no_families(&mut self) -> Vec<RemoteId> {
        self.mixes = false;
        let first = family_of(self.first.ip());
        let useless = self.families().filter(|(_, family)| *family != first);
        let useless = Vec::from_iter(useless.map(|(id, _)| id));
        self.known.retain(|(id, _)| !useless.contains(id));
        useless
    }

    /// Whether a join to this address is possible, and can reach the peer and nobody else.
    fn is_usable(&self, address: IpAddr) -> bool {
        let first = self.first.ip();
        let is_of_family = self.mixes || address.is_ipv4() == first.is_ipv4();
        is_of_family && is_of_one_host(address) && (!is_private(address) || is_private(first))
    }
}

pub(crate) const fn family_of(address: IpAddr) -> Family {
    match address {
        IpAddr::V4(_) => Family::V4,
        IpAddr::V6(_) => Family::V6,
    }
}

/// Whether other hosts may have this address as well: RFC 1918, RFC 6598, RFC 4193.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || is_shared(address),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

const fn is_shared(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && second & 0xc0 == 64
}

/// Whether a host beyond the link can have this address.
const fn is_of_one_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !(address.octets()[0] == 0
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// The addresses of a peer that announces `announced` to a connection with `first`.
    fn after(first: &str, announced: &[&str]) -> Vec<String> {
        let mut remotes = Remotes::new(address(first));
        for (id, text) in (1..).zip(announced) {
            remotes.announced(RemoteId(id), address(text));
        }
        let all = remotes.addresses().map(|address| address.to_string());
        all.collect()
    }

    #[test]
    fn an_ipv6_socket_takes_both_families_and_an_ipv4_socket_one() {
        let announced = ["[2001:db8::2]:0", "198.51.100.2:81"];
        assert_eq!(
            after("[::ffff:192.0.2.1]:80", &announced),
            ["192.0.2.1:80", "[2001:db8::2]:80", "198.51.100.2:81"]
        );
        assert_eq!(
            after("192.0.2.1:80", &announced),
            ["192.0.2.1:80", "198.51.100.2:81"]
        );
    }

    #[test]
    fn addresses_of_other_hosts_are_ignored() {
        let others = [
            "192.168.1.1:0",
            "100.64.0.9:0",
            "[fd00::1]:0",
            "127.0.0.1:0",
            "169.254.1.1:0",
            "224.0.0.1:0",
            "0.0.0.0:0",
            "255.255.255.255:0",
            "[::1]:0",
            "[fe80::1]:0",
            "[ff02::1]:0",
            "[::]:0",
        ];
        assert_eq!(after("[2001:db8::2]:80", &others), ["[2001:db8::2]:80"]);
        assert_eq!(
            after("[fd00::9]:80", &others),
            ["[fd00::9]:80", "192.168.1.1:80", "100.64.0.9:80", "[fd00::1]:80"]
        );
    }

    #[test]
    fn an_address_is_news_once_until_it_is_removed() {
        let mut remotes = Remotes::new(address("[::ffff:192.0.2.1]:80"));
        let (id, other) = (RemoteId(3), address("[2001:db8::2]:80"));
        assert!(remotes.announced(id, other) && !remotes.announced(id, other));
        assert!(
            !remotes.announced(RemoteId(4), address("192.0.2.1:0")),
            "its first"
        );
        assert_eq!(remotes.address(id), Some(other));
        assert!(remotes.removed(id) && !remotes.removed(id));
        assert!(remotes.announced(id, other));
        assert_eq!(remotes.mixes_no_families(), [id]);
        assert!(!remotes.announced(id, other));
        assert!(remotes.removed(RemoteId::FIRST));
        assert_eq!(remotes.addresses().count(), 0);
    }

    #[test]
    fn a_peer_cannot_make_us_remember_without_limit() {
        let mut remotes = Remotes::new(address("192.0.2.1:80"));
        for id in 1..=255 {
            remotes.announced(RemoteId(id), (Ipv4Addr::new(198, 51, 100, id), 80).into());
        }
        assert_eq!(remotes.addresses().count(), MOST);
    }
}
