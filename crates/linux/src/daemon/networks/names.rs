//! Lets programs resolve names over the network of each query.
//!
//! A resolver may answer only in its own network, and may know names that no other one knows. So programs ask
//! one address for ever, and nftables replaces it by the resolver of the link that carries the query.
//!
//! | query | its resolver |
//! |---|---|
//! | a flow, mostly over UDP | that of the link in its mark |
//! | any other, as over TCP or of a socket that is bound to a link | that of the link by which it leaves |
//! | over a link without a resolver | none: it is refused at once, so that the program asks another one |
//!
//! # Sources
//! - juggler §3.2 (name servers for each network).
//!
//! # Where we differ, and why
//! 1. A query that waits for a network is not refused: the program repeats it.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/host/names.rs`.

use super::Networks;
use crate::daemon::api::networks::NamesSetup;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::marks;
use crate::resolvers;
use policy::LinkId;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use units::Instant;

const CHAIN: &str = "inet slowhand-networks names";
/// Interval between two looks at the files that name the resolvers.
const LOOK: Duration = Duration::from_secs(2);
const PORT: u16 = 53;
/// `nft` knows the name `dstnat` for arriving packets only.
const OF_DNAT: i32 = -100;

/// A link's resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resolver {
    ifindex: u32,
    address: Ipv4Addr,
}

/// Resolvers of links behind one address.
#[derive(Debug)]
pub(super) struct Names {
    setup: NamesSetup,
    of_links: BTreeMap<LinkId, Resolver>,
    look_at: Instant,
}

impl Names {
    pub(super) const fn new(setup: NamesSetup) -> Self {
        Self {
            setup,
            of_links: BTreeMap::new(),
            look_at: Instant::ZERO,
        }
    }

    /// The address that programs ask.
    pub(super) const fn address(&self) -> Ipv4Addr {
        self.setup.address
    }

    /// The resolvers in use.
    pub(super) fn report(&self) -> Vec<(LinkId, Ipv4Addr)> {
        let all = self.of_links.iter();
        all.map(|(&link, resolver)| (link, resolver.address)).collect()
    }

    /// The host that a flow of this link really reaches.
    pub(super) fn behind(&self, link: LinkId, remote: SocketAddr) -> Option<SocketAddr> {
        if remote.ip() != self.setup.address {
            return Some(remote);
        }
        let resolver = self.of_links.get(&link)?;
        Some((resolver.address, remote.port()).into())
    }

    /// The table is new, and knows no resolver.
    pub(super) fn begin_anew(&mut self) {
        self.of_links.clear();
        self.look_at = Instant::ZERO;
    }
}

/// The resolver of a link from the host's files. One on the network of another link only is none.
fn resolver(root: &Path, but: Ipv4Addr, links: &Links, ifindex: u32) -> Option<Ipv4Addr> {
    let usable = |address: IpAddr| match address {
        IpAddr::V4(v4) => Some(v4).filter(|v4| *v4 != but && !links.is_elsewhere(address, ifindex)),
        IpAddr::V6(_) => None,
    };
    resolvers::of_link(root, ifindex).into_iter().find_map(usable)
}

/// The chains that replace this address. Without rules yet, every query is refused.
pub(super) fn chains(address: Ipv4Addr) -> String {
    let (held, mask) = (marks::HELD.value, marks::HELD.mask);
    format!(
        "chain names {{ type nat hook output priority {OF_DNAT}; policy accept; }};\n\
         chain unknown {{ type filter hook output priority filter; policy accept; \
         ip daddr {address} ct mark & {mask:#x} != {held:#x} reject; }};\n"
    )
}

/// Commands that replace the resolvers.
fn choice(address: Ipv4Addr, of_links: &BTreeMap<LinkId, Resolver>) -> String {
    let mut text = format!("flush chain {CHAIN}");
    if of_links.is_empty() {
        return text;
    }
    let all = of_links.iter();
    let by_mark = all.clone().filter_map(|(&link, resolver)| {
        let mark = marks::of_link(link)?.value;
        Some(format!("{mark:#x} : {}", resolver.address))
    });
    let by_interface = all.map(|(_, resolver)| format!("{} : {}", resolver.ifindex, resolver.address));
    let asked = format!("ip daddr {address} meta l4proto {{ tcp, udp }} th dport {PORT}");
    let (by_mark, by_interface) = (Vec::from_iter(by_mark), Vec::from_iter(by_interface));
    let mask = marks::HELD.mask;
    let _ = write!(
        text,
        "; add rule {CHAIN} {asked} \
         dnat ip to ct mark & {mask:#x} map {{ {} }}",
        by_mark.join(", ")
    );
    let _ = write!(
        text,
        "; add rule {CHAIN} {asked} \
         dnat ip to oif map {{ {} }}",
        by_interface.join(", ")
    );
    text
}

impl Networks {
    /// Looks for the resolvers of links, if it is time, and lets the table use them.
    pub(crate) fn look_for_names(&mut self, now: Instant, links: &Links, outlet: &mut Outlet) {
        let Some(names) = self.names.as_mut().filter(|names| names.look_at <= now) else {
            return;
        };
        names.look_at = now + LOOK;
        let NamesSetup { address, root } = &names.setup;
        let of_link = |link: LinkId| {
            let ifindex = links.get(link)?.ifindex?;
            let address = resolver(root, *address, links, ifindex)?;
            Some((link, Resolver { ifindex, address }))
        };
        let found = BTreeMap::from_iter(links.carrying_flows().filter_map(of_link));
        if found == names.of_links {
            return;
        }
        match self.table.change(&choice(*address, &found)) {
            Ok(()) => names.of_links = found,
            Err(error) => outlet.trouble("choosing the resolvers of networks", &error),
        }
    }

    /// When [`Networks::look_for_names`] next has work.
    pub(super) fn names_at(&self) -> Option<Instant> {
        self.names.as_ref().map(|names| names.look_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 53);

    fn names(of_links: &[(u16, u32, [u8; 4])]) -> Names {
        let of_link = |&(link, ifindex, address): &(u16, u32, [u8; 4])| {
            let address = address.into();
            (LinkId(link), Resolver { ifindex, address })
        };
        Names {
            of_links: of_links.iter().map(of_link).collect(),
            ..Names::new(NamesSetup {
                address: ADDRESS,
                root: "/".into(),
            })
        }
    }

    #[test]
    fn a_query_gets_the_resolver_of_its_link() {
        let names = names(&[(0, 7, [10, 0, 0, 2]), (2, 9, [10, 0, 1, 2])]);
        let text = choice(ADDRESS, &names.of_links);
        assert_eq!(
            Vec::from_iter(text.split("; ")),
            [
                "flush chain inet slowhand-networks names",
                "add rule inet slowhand-networks names ip daddr 100.64.0.53 meta l4proto { tcp, udp } th dport 53 \
                 dnat ip to ct mark & 0xff00ffff map { 0x4e000001 : 10.0.0.2, 0x4e000003 : 10.0.1.2 }",
                "add rule inet slowhand-networks names ip daddr 100.64.0.53 meta l4proto { tcp, udp } th dport 53 \
                 dnat ip to oif map { 7 : 10.0.0.2, 9 : 10.0.1.2 }",
            ]
        );
        assert_eq!(
            choice(ADDRESS, &BTreeMap::new()),
            "flush chain inet slowhand-networks names"
        );
    }

    #[test]
    fn evidence_is_about_the_host_that_was_reached() {
        let names = names(&[(2, 9, [10, 0, 1, 2])]);
        let asked = SocketAddr::from((ADDRESS, 53));
        assert_eq!(names.behind(LinkId(2), asked), Some(([10, 0, 1, 2], 53).into()));
        assert_eq!(names.behind(LinkId(1), asked), None);
        let other = SocketAddr::from(([192, 0, 2, 1], 443));
        assert_eq!(names.behind(LinkId(1), other), Some(other));
    }
}
