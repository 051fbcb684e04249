//! What the kernel reports about every interface: names, carrier, addresses, and the user's default routes
//! over it.
//!
//! Facts only, also about undeclared interfaces. When a link is declared, renamed or comes back, its state is
//! read from here.
//!
//! # Checked by
//! `links::book::tests`, `links::ways::tests`.

use crate::rtnl::{Address, Event, Link, Prefix, Protocol, Route, RouteKind, Table};
use std::collections::BTreeMap;

/// One interface.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    pub(crate) link: Link,
    pub(crate) addresses: Vec<Address>,
    /// The user's default routes over it, in the table `main`.
    pub(crate) defaults: Vec<Route>,
}

/// All interfaces of the namespace.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    by_index: BTreeMap<u32, Interface>,
    /// Default routes that reject or drop what no better route takes.
    blocking: Vec<Route>,
}

impl Interface {
    /// The networks of its addresses.
    pub(crate) fn networks(&self) -> impl Iterator<Item = Prefix> {
        self.addresses.iter().map(|address| address.prefix.network())
    }

    /// Adds or updates an address. An updated address keeps its position.
    fn set_address(&mut self, address: Address) {
        let mut known = self.addresses.iter_mut();
        match known.find(|other| other.prefix == address.prefix) {
            Some(known) => *known = address,
            None => self.addresses.push(address),
        }
    }
}

impl Interfaces {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Link(link) => self.link(link),
            Event::LinkGone(link) => _ = self.by_index.remove(&link.ifindex),
            Event::Address(address) => self.on(address.ifindex, |interface| interface.set_address(*address)),
            Event::AddressGone(address) => self.on(address.ifindex, |interface| {
                interface.addresses.retain(|other| other.prefix != address.prefix);
            }),
            Event::Route(route) => self.route(route, true),
            Event::RouteGone(route) => self.route(route, false),
            Event::Rules => {}
        }
    }

    pub(crate) fn get(&self, ifindex: u32) -> Option<&Interface> {
        self.by_index.get(&ifindex)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Interface> {
        self.by_index.values()
    }

    /// Whether a better or equal rejecting default route keeps the kernel from using this route.
    pub(crate) fn is_blocked(&self, route: &Route) -> bool {
        self.blocking
            .iter()
            .any(|other| is_v6(other) == is_v6(route) && other.metric <= route.metric)
    }

    /// The interfaces to which the kernel sends what only a default route matches. Several if the best route
    /// has several next hops.
    pub(crate) fn first_choices(&self, v6: bool) -> Vec<u32> {
        let of_family = |interface: &Interface| {
            let defaults = interface.defaults.iter();
            Vec::from_iter(defaults.filter(|route| is_v6(route) == v6).copied())
        };
        let mut all = Vec::from_iter(self.iter().flat_map(of_family));
        all.retain(|route| !self.is_blocked(route));
        let best = all.iter().map(|route| route.metric).min();
        all.iter()
            .filter(|route| Some(route.metric) == best)
            .filter_map(|route| route.oif)
            .collect()
    }

    fn link(&mut self, link: &Link) {
        match self.by_index.get_mut(&link.ifindex) {
            Some(known) => known.link = link.clone(),
            None => {
                let interface = Interface {
                    link: link.clone(),
                    addresses: Vec::new(),
                    defaults: Vec::new(),
                };
                self.by_index.insert(link.ifindex, interface);
            }
        }
    }

    fn on(&mut self, ifindex: u32, change: impl FnOnce(&mut Interface)) {
        if let Some(interface) = self.by_index.get_mut(&ifindex) {
            change(interface);
        }
    }

    fn route(&mut self, route: &Route, there: bool) {
        if route.table != Table::MAIN || !route.is_default() || route.protocol == Protocol::SLOWHAND {
            return;
        }
        let change = |routes: &mut Vec<Route>| {
            routes.retain(|other| other != route);
            if there {
                routes.push(*route);
            }
        };
        match (route.kind, route.oif) {
            (RouteKind::Unicast, Some(oif)) => self.on(oif, |interface| change(&mut interface.defaults)),
            (RouteKind::Unicast, None) => {}
            _ => change(&mut self.blocking),
        }
    }
}

pub(crate) const fn is_v6(route: &Route) -> bool {
    route.dst.addr().is_ipv6()
}
