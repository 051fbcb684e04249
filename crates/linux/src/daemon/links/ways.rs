//! The ways out of one interface: the next hop and the source address.
//!
//! # Sources
//! - RFC 6724 §5: source addresses that are not deprecated come first. RFC 8981: temporary addresses are
//!   created where they are to be used.
//!
//! # Where we differ, and why
//! 1. A source address and a next hop belong together. The gateway of an address is that of its own network,
//!    if such a default route exists. Otherwise it is the best one over the interface.
//!
//! # Checked by
//! `tests`; `crates/cli/tests/hosts`: two networks on one card.

use crate::daemon::links::interfaces::{Interface, Interfaces, is_v6};
use crate::routing::Uplink;
use crate::rtnl::{Address, IfName, Metrics, Prefix, Route};
use std::cmp::Reverse;
use std::net::IpAddr;

/// How subflows of one family leave over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// The interface.
    pub(crate) ifindex: u32,
    /// Its name.
    pub(crate) name: IfName,
    /// The source address, with the length of its network's prefix.
    pub(crate) address: Prefix,
    /// The next hop. `None` if every peer is reached directly.
    pub(crate) gateway: Option<IpAddr>,
}

impl Way {
    /// Whether the address is the next hop, or on the network of the source address.
    pub(crate) fn reaches_directly(self, address: IpAddr) -> bool {
        self.address.contains(address) || self.gateway == Some(address)
    }
}

/// Default routes over an interface in one family, the best first: the configured one, then the user's by
/// metric.
pub(crate) fn uplinks(
    all: &Interfaces,
    interface: &Interface,
    v6: bool,
    declared: Option<IpAddr>,
    ecn: bool,
) -> Vec<Uplink> {
    let mut routes: Vec<Route> = interface.defaults.clone();
    routes.retain(|route| is_v6(route) == v6 && !all.is_blocked(route));
    routes.sort_by_key(|route| route.metric);
    let uplink = |gateway, src, metrics: Metrics| Uplink {
        ifindex: interface.link.ifindex,
        name: interface.link.name,
        v6,
        gateway,
        src,
        metrics: if ecn { metrics.asking_for_ecn() } else { metrics },
    };
    let of_configuration = declared
        .filter(|gateway| gateway.is_ipv6() == v6)
        .map(|gateway| uplink(Some(gateway), None, Metrics::NONE));
    let mut uplinks = Vec::from_iter(of_configuration);
    for route in routes {
        if uplinks.iter().all(|known| known.gateway != route.gateway) {
            uplinks.push(uplink(route.gateway, route.src, route.metrics));
        }
    }
    uplinks
}

/// The interface's addresses of one family that can be source addresses, including deprecated ones.
pub(crate) fn sources(interface: &Interface, v6: bool) -> impl Iterator<Item = &Address> {
    let fits = move |address: &&Address| address.usable() && address.addr().is_ipv6() == v6;
    interface.addresses.iter().filter(fits)
}

/// The position in `uplinks` of the one that packets from this address take.
pub(crate) fn uplink_of(address: &Address, uplinks: &[Uplink]) -> Option<usize> {
    let preferred = |uplink: &Uplink| uplink.src == Some(address.addr());
    let same_network = |uplink: &Uplink| {
        uplink
            .gateway
            .is_some_and(|gateway| address.prefix.contains(gateway))
    };
    uplinks
        .iter()
        .position(preferred)
        .or_else(|| uplinks.iter().position(same_network))
        .or_else(|| (!uplinks.is_empty()).then_some(0))
}

/// The way over the best uplink, from the most suitable address.
pub(crate) fn way(interface: &Interface, v6: bool, uplinks: &[Uplink]) -> Option<Way> {
    let best = uplinks.first()?;
    // In IPv4 the flag means secondary: the kernel does not choose such an address itself. In IPv6 the same
    // bit means temporary.
    let merit = |address: &&Address| {
        Reverse((
            best.src == Some(address.addr()),
            uplink_of(address, uplinks) == Some(0),
            !address.flags.deprecated(),
            address.flags.secondary_or_temporary() == v6,
        ))
    };
    let address = sources(interface, v6).min_by_key(merit)?;
    Some(Way {
        ifindex: best.ifindex,
        name: best.name,
        address: address.prefix,
        gateway: best.gateway,
    })
}

/// How the user's routes rank the interface in one family.
pub(crate) fn rank(
    all: &Interfaces,
    interface: &Interface,
    v6: bool,
    declared: Option<IpAddr>,
) -> policy::Uplink {
    let of_family = |route: &&Route| is_v6(route) == v6 && !all.is_blocked(route);
    let best = interface
        .defaults
        .iter()
        .filter(of_family)
        .map(|route| route.metric)
        .min();
    match best {
        Some(metric) => policy::Uplink::Metric(metric),
        None if declared.is_some_and(|gateway| gateway.is_ipv6() == v6) => policy::Uplink::Declared,
        None => policy::Uplink::None,
    }
}

#[cfg(test)]
#[path = "ways_tests.rs"]
mod tests;
