//! The addresses of the client's links and of the server.
//!
//! Every link gives the client an address of its private network. Where networks overlap, the link translates
//! addresses, as the routers of two homes do. The server then sees an address of 100.64.0.0/10.
//!
//! # Sources
//! - RFC 1918 (private networks), RFC 6598 (100.64.0.0/10), RFC 2544 (198.18.0.0/15).

use crate::frame::Nat;
use linux::rtnl::Prefix;
use scenario::Families;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses for the server, in order of preference. It gets the first that no link's network contains.
const SERVERS: [Ipv4Addr; 3] = [
    Ipv4Addr::new(10, 255, 0, 1),
    Ipv4Addr::new(198, 18, 0, 1),
    Ipv4Addr::new(203, 0, 113, 1),
];

/// Addresses of the Internet, which a relay connects to: documentation networks (RFC 5737).
const INTERNET: [Ipv4Addr; 4] = [
    Ipv4Addr::new(203, 0, 113, 1),
    Ipv4Addr::new(198, 51, 100, 1),
    Ipv4Addr::new(192, 0, 2, 1),
    Ipv4Addr::new(192, 0, 2, 129),
];

/// The server's IPv6 address. It is outside every link's network.
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xff, 0, 0, 0, 0, 0, 1);

/// The addresses of all links and the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressing {
    /// The server's.
    pub server: Ipv4Addr,
    /// One per link.
    pub links: Vec<LinkAddresses>,
}

/// The addresses of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkAddresses {
    index: u16,
    network: Ipv4Addr,
    len: u8,
    translated: bool,
    families: Families,
}

impl Addressing {
    /// Assigns addresses to links that ask for these networks; `None`: the link gets its own network.
    /// All of them have IPv4 addresses.
    pub fn new(asked: &[Option<(Ipv4Addr, u8)>]) -> Self {
        let mut taken: Vec<(Ipv4Addr, u8)> = asked.iter().flatten().copied().collect();
        let mut links = Vec::with_capacity(asked.len());
        for (index, asked) in asked.iter().enumerate() {
            let (network, len) = asked.unwrap_or_else(|| {
                let own = own_network(&taken);
                taken.push(own);
                own
            });
            links.push(LinkAddresses {
                index: index as u16,
                network,
                len,
                translated: false,
                families: Families::V4,
            });
        }
        mark_overlaps(&mut links);
        let free = |server: &Ipv4Addr| !taken.iter().any(|taken| overlap(*taken, (*server, 32)));
        Self {
            server: SERVERS.into_iter().find(free).unwrap_or(SERVERS[0]),
            links,
        }
    }

    /// Moves the server to the Internet: relays refuse other addresses. Returns an address for the relay.
    pub fn on_the_internet(&mut self) -> Ipv4Addr {
        let links = &self.links;
        let is_free = |address: &Ipv4Addr| {
            let taken = |link: &LinkAddresses| overlap((link.network, link.len), (*address, 32));
            !links.iter().any(taken)
        };
        let mut free = INTERNET.into_iter().filter(is_free);
        self.server = free.next().unwrap_or(INTERNET[0]);
        free.next().unwrap_or(INTERNET[1])
    }

    /// Gives the links addresses of these families, one entry for each link.
    pub fn of_families(mut self, families: impl IntoIterator<Item = Families>) -> Self {
        for (link, families) in self.links.iter_mut().zip(families) {
            link.families = families;
        }
        self
    }
}

impl LinkAddresses {
    /// The client's addresses on the link, IPv4 first.
    pub fn all(&self, lease: u32) -> impl Iterator<Item = Prefix> {
        let v4 = self.families.has_v4().then(|| self.client(lease));
        let v6 = self.families.has_v6().then(|| self.client_v6(lease));
        v4.into_iter().chain(v6)
    }

    /// The client's IPv6 address. Links translate no IPv6 addresses.
    fn client_v6(&self, lease: u32) -> Prefix {
        let [high, low] = [lease >> 16, lease].map(|bits| bits as u16);
        prefix_v6(self.in_network_v6([high, low, 2]))
    }

    /// The router of its IPv6 network, if it has one.
    pub fn router_v6(&self) -> Option<Ipv6Addr> {
        let router = self.in_network_v6([0, 0, 1]);
        self.families.has_v6().then_some(router)
    }

    /// The next hop of its first address.
    pub fn gateway(&self) -> IpAddr {
        match self.router_v6() {
            Some(router) if !self.families.has_v4() => router.into(),
            _ => self.router().into(),
        }
    }

    const fn in_network_v6(&self, [high, middle, low]: [u16; 3]) -> Ipv6Addr {
        Ipv6Addr::new(0xfd01, self.index, 0, 0, 0, high, middle, low)
    }

    /// Whether the server knows the link by this address.
    pub fn is_seen_as(&self, address: IpAddr) -> bool {
        self.all_behind().any(|prefix| prefix.contains(address))
    }

    /// The prefixes that the server reaches over this link.
    pub fn all_behind(&self) -> impl Iterator<Item = Prefix> {
        let v4 = self.families.has_v4().then(|| self.behind());
        let v6 = self.families.has_v6().then(|| self.client_v6(0).network());
        v4.into_iter().chain(v6)
    }

    /// The client's IPv4 address on the link, and the length of its network's prefix. `lease` counts the
    /// addresses that the link has given out: 0 is the first one.
    pub fn client(&self, lease: u32) -> Prefix {
        let addr = Ipv4Addr::from_bits(self.network.to_bits() + self.host(lease));
        prefix(addr, self.len)
    }

    /// The router of its IPv4 network.
    pub fn router(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() + 1)
    }

    /// The client's IPv4 address as the server sees it.
    pub fn seen(&self, lease: u32) -> Ipv4Addr {
        match (self.translated, self.client(lease).addr()) {
            (false, IpAddr::V4(addr)) => addr,
            _ => Ipv4Addr::from_bits(self.public_network().to_bits() + 2 + lease % 250),
        }
    }

    /// The link's address translation, if it has one.
    pub fn nat(&self, lease: u32) -> Option<Nat> {
        let IpAddr::V4(private) = self.client(lease).addr() else {
            return None;
        };
        self.translated.then(|| Nat {
            private,
            public: self.seen(lease),
        })
    }

    /// The IPv4 prefix that the server reaches over this link.
    pub fn behind(&self) -> Prefix {
        if self.translated {
            prefix(self.public_network(), 24)
        } else {
            prefix(self.network, self.len)
        }
    }

    /// The host part of the client's address. Addresses 0 and 1 are the network and its router, the last one
    /// is for broadcasts. Links that share a network begin at different hosts of it, if it has enough.
    fn host(&self, lease: u32) -> u32 {
        let hosts = (1u32 << (32 - self.len)) - 3;
        2 + (u32::from(self.index) + 100 * lease) % hosts
    }

    fn public_network(&self) -> Ipv4Addr {
        let [high, low] = self.index.to_be_bytes();
        Ipv4Addr::new(100, 64 + high % 64, low, 0)
    }
}

fn prefix(addr: Ipv4Addr, len: u8) -> Prefix {
    Prefix::new(addr.into(), len).expect("an IPv4 prefix is at most 32 bits long")
}

fn prefix_v6(addr: Ipv6Addr) -> Prefix {
    Prefix::new(addr.into(), 64).expect("an IPv6 prefix is at most 128 bits long")
}

/// The first free 10.x.y.0/24.
fn own_network(taken: &[(Ipv4Addr, u8)]) -> (Ipv4Addr, u8) {
    let candidates = (1..=254u8).flat_map(|x| (1..=254u8).map(move |y| (Ipv4Addr::new(10, x, y, 0), 24)));
    let mut free = candidates.filter(|network| !taken.iter().any(|taken| overlap(*taken, *network)));
    // When a link has asked for all of 10/8, it is translated anyway.
    free.next().unwrap_or((Ipv4Addr::new(172, 16, 0, 0), 24))
}

fn mark_overlaps(links: &mut [LinkAddresses]) {
    for index in 0..links.len() {
        let mine = (links[index].network, links[index].len);
        let others = links.iter().enumerate().filter(|(other, _)| *other != index);
        let shared = others
            .into_iter()
            .any(|(_, other)| overlap((other.network, other.len), mine));
        links[index].translated = shared;
    }
}

fn overlap((a, a_len): (Ipv4Addr, u8), (b, b_len): (Ipv4Addr, u8)) -> bool {
    let shift = 32 - u32::from(a_len.min(b_len));
    let network = |addr: Ipv4Addr| u64::from(addr.to_bits()) >> shift;
    network(a) == network(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const HOME: Option<(Ipv4Addr, u8)> = Some((Ipv4Addr::new(192, 168, 1, 0), 24));

    #[test]
    fn links_without_a_subnet_get_distinct_networks() {
        let addressing = Addressing::new(&[None, HOME, None]);
        assert!(addressing.links.iter().all(|link| link.nat(0).is_none()));
        let seen: BTreeSet<_> = addressing.links.iter().map(|link| link.seen(0)).collect();
        assert_eq!(seen.len(), 3);
        assert_eq!(addressing.server, Ipv4Addr::new(10, 255, 0, 1));
    }

    #[test]
    fn links_with_the_same_private_network_differ_after_translation() {
        let addressing = Addressing::new(&[HOME, HOME]);
        let [a, b] = &addressing.links[..] else { panic!() };
        assert_eq!(a.client(0).to_string(), "192.168.1.2/24");
        assert_eq!(b.client(0).to_string(), "192.168.1.3/24");
        assert_eq!(a.nat(0).unwrap().public, Ipv4Addr::new(100, 64, 0, 2));
        assert_eq!(b.nat(0).unwrap().public, Ipv4Addr::new(100, 64, 1, 2));
        assert!(b.behind().contains(b.seen(3).into()));
    }

    #[test]
    fn a_new_lease_is_another_address_of_the_same_network() {
        for asked in [None, HOME] {
            let link = Addressing::new(&[asked, HOME]).links[0];
            assert_ne!(link.client(0), link.client(1));
            assert_ne!(link.seen(0), link.seen(1));
            assert_eq!(link.client(0).network(), link.client(1).network());
        }
    }

    #[test]
    fn a_link_has_the_families_that_its_scenario_gives_it() {
        let families = [Families::V4, Families::V6, Families::Both];
        let addressing = Addressing::new(&[None, None, HOME]).of_families(families);
        let [v4, v6, both] = &addressing.links[..] else {
            panic!()
        };
        let all = |link: &LinkAddresses| Vec::from_iter(link.all(1).map(|prefix| prefix.to_string()));
        assert_eq!(all(v4), ["10.1.1.102/24"]);
        assert_eq!(all(v6), ["fd01:1::1:2/64"]);
        assert_eq!(all(both), ["192.168.1.104/24", "fd01:2::1:2/64"]);
        assert_eq!(
            (v4.router_v6(), v6.router_v6()),
            (None, Some("fd01:1::1".parse().unwrap()))
        );
        assert!(both.is_seen_as("192.168.1.2".parse().unwrap()));
        assert!(both.is_seen_as("fd01:2::2".parse().unwrap()));
        assert!(!both.is_seen_as("fd01:1::2".parse().unwrap()));
        assert!(!v6.is_seen_as(v6.client(0).addr()), "it has no IPv4 address");
        let server = SERVER_V6.into();
        assert!(!addressing.links.iter().any(|link| link.is_seen_as(server)));
    }

    #[test]
    fn the_server_is_outside_every_network() {
        let whole = Some((Ipv4Addr::new(10, 0, 0, 0), 8));
        assert_eq!(
            Addressing::new(&[whole, None]).server,
            Ipv4Addr::new(198, 18, 0, 1)
        );
    }

    #[test]
    fn with_a_relay_both_are_on_the_internet_and_outside_every_network() {
        let asked = Some((Ipv4Addr::new(198, 51, 100, 0), 24));
        let mut addressing = Addressing::new(&[None, asked]);
        let relay = addressing.on_the_internet();
        assert_eq!(
            (addressing.server, relay),
            (Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(192, 0, 2, 1))
        );
    }

    #[test]
    fn the_smallest_network_has_one_free_address() {
        let tiny = Some((Ipv4Addr::new(192, 168, 1, 4), 30));
        let link = Addressing::new(&[None, tiny]).links[1];
        assert_eq!((link.client(0), link.client(1)), (link.client(0), link.client(0)));
        assert_eq!(link.client(0).to_string(), "192.168.1.6/30");
    }
}
