//! Monitors a namespace: current state and changes.

use super::error::WatchError;
use super::{Address, Link, NLM_F_REPLACE, Prefix, Route, Rtnl, Table};
use crate::netlink::{Message, Protocol, ReceiveError, Socket};
use libc::{
    RTM_DELADDR, RTM_DELLINK, RTM_DELROUTE, RTM_DELRULE, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWROUTE, RTM_NEWRULE,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

const GROUPS: [u32; 7] = [
    libc::RTNLGRP_LINK,
    libc::RTNLGRP_IPV4_IFADDR,
    libc::RTNLGRP_IPV6_IFADDR,
    libc::RTNLGRP_IPV4_ROUTE,
    libc::RTNLGRP_IPV6_ROUTE,
    libc::RTNLGRP_IPV4_RULE,
    libc::RTNLGRP_IPV6_RULE,
];

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A link was added or changed.
    Link(Link),
    /// A link was removed. This is its last known state.
    LinkGone(Link),
    /// An address was added or changed.
    Address(Address),
    /// An address was removed.
    AddressGone(Address),
    /// A route was added.
    Route(Route),
    /// A route was removed.
    RouteGone(Route),
    /// A rule was added or removed. The event does not tell the order of the rules, so use [`Rtnl::rules`].
    Rules,
}

/// The state of the namespace after all events read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Links by their index.
    pub links: BTreeMap<u32, Link>,
    /// Addresses by link and prefix.
    pub addresses: BTreeMap<(u32, Prefix), Address>,
    /// Routes.
    pub routes: BTreeSet<Route>,
}

/// Monitors the links, addresses and routes of one namespace.
///
/// Register it with `epoll`. After every wake-up call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub struct Watch {
    events: Socket,
    rtnl: Rtnl,
    wanted: fn(&Route) -> bool,
    view: View,
    pending: VecDeque<Event>,
    resyncs: u64,
}

impl Watch {
    /// Monitors all routes except those of the kernel's `local` table. The existing state is reported first,
    /// as events.
    pub fn open() -> Result<Self, WatchError> {
        Self::with_routes(|route| route.table != Table::LOCAL)
    }

    /// Monitors only the routes that `wanted` accepts, so that a router need not hold its full table.
    pub fn with_routes(wanted: fn(&Route) -> bool) -> Result<Self, WatchError> {
        let events = Socket::open(Protocol::Route)?;
        for group in GROUPS {
            events.subscribe(group).map_err(WatchError::Subscribe)?;
        }
        let (view, pending) = (View::default(), VecDeque::new());
        let mut watch = Self {
            events,
            rtnl: Rtnl::open()?,
            wanted,
            view,
            pending,
            resyncs: 0,
        };
        watch.read_all()?;
        Ok(watch)
    }

    /// Returns the next change without blocking, or `None` if none is pending.
    ///
    /// If events were lost, the state is read again and the differences follow as events.
    #[expect(clippy::should_implement_trait, reason = "an error does not end the watch")]
    pub fn next(&mut self) -> Result<Option<Event>, WatchError> {
        while self.pending.is_empty() {
            match self.receive() {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(WatchError::Receive(ReceiveError::Overrun)) => {
                    self.resyncs += 1;
                    self.read_all()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.pending.pop_front())
    }

    /// The current state. It is ahead of the events that [`next`](Self::next) has not returned yet.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// How often events were lost and the state was read again.
    pub const fn resyncs(&self) -> u64 {
        self.resyncs
    }

    #[cfg(test)]
    pub(super) fn shrink_for_test(&self) {
        self.events.shrink_for_test();
    }

    /// Reads one datagram of events. False if none is pending.
    fn receive(&mut self) -> Result<bool, WatchError> {
        let mut routes_doubtful = false;
        match self.events.receive().map_err(WatchError::Receive)? {
            None => return Ok(false),
            Some(messages) => {
                let mut change = Change {
                    view: &mut self.view,
                    pending: &mut self.pending,
                    wanted: self.wanted,
                };
                for message in messages {
                    routes_doubtful |= change.apply(&message);
                }
            }
        }
        if routes_doubtful {
            self.read_routes()?;
        }
        Ok(true)
    }

    fn read_all(&mut self) -> Result<(), WatchError> {
        let links = self.rtnl.links()?;
        let addresses = self.rtnl.addresses()?;
        let mut change = Change {
            view: &mut self.view,
            pending: &mut self.pending,
            wanted: self.wanted,
        };
        change.links_are(links);
        change.addresses_are(addresses);
        self.read_routes()
    }

    fn read_routes(&mut self) -> Result<(), WatchError> {
        let routes = self.rtnl.routes()?;
        let mut change = Change {
            view: &mut self.view,
            pending: &mut self.pending,
            wanted: self.wanted,
        };
        change.routes_are(routes);
        Ok(())
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// Applies updates to the view and queues the resulting events.
struct Change<'w> {
    view: &'w mut View,
    pending: &'w mut VecDeque<Event>,
    wanted: fn(&Route) -> bool,
}

impl Change<'_> {
    /// Applies one message. True if routes may have vanished without an event.
    fn apply(&mut self, message: &Message<'_>) -> bool {
        match message.kind {
            RTM_NEWLINK => Link::parse(message).is_some_and(|link| self.link(link)),
            RTM_DELLINK => Link::parse(message).is_some_and(|link| self.link_gone(link.ifindex)),
            RTM_NEWADDR => Address::parse(message).is_some_and(|address| self.address(address)),
            RTM_DELADDR => Address::parse(message).is_some_and(|address| self.address_gone(&address)),
            RTM_NEWROUTE => {
                let replaces = message.flags & NLM_F_REPLACE != 0;
                let mut doubtful = false;
                for route in Route::parse(message) {
                    doubtful |= self.route(route, replaces);
                }
                doubtful
            }
            RTM_DELROUTE => {
                Route::parse(message)
                    .iter()
                    .for_each(|route| self.route_gone(route));
                false
            }
            RTM_NEWRULE | RTM_DELRULE => {
                self.rules();
                false
            }
            _ => false,
        }
    }

    fn link(&mut self, link: Link) -> bool {
        let old = self.view.links.get(&link.ifindex);
        if old == Some(&link) {
            return false;
        }
        // Events were lost: the index now belongs to another interface.
        if old.is_some_and(|old| old.is_another(&link)) {
            self.link_gone(link.ifindex);
        }
        let old = self.view.links.insert(link.ifindex, link.clone());
        // When a link goes down, the kernel drops the link's IPv4 routes (`fib_sync_down_dev`) and disables
        // it as a next hop of multipath routes. It sends no events for that, nor when it enables the next hop
        // again.
        let (was_up, is_up) = (
            old.is_some_and(|old| old.up && old.carrier),
            link.up && link.carrier,
        );
        self.pending.push_back(Event::Link(link));
        was_up != is_up
    }

    /// Queues one event for several consecutive changes.
    fn rules(&mut self) {
        if self.pending.back() != Some(&Event::Rules) {
            self.pending.push_back(Event::Rules);
        }
    }

    fn link_gone(&mut self, ifindex: u32) -> bool {
        let Some(link) = self.view.links.remove(&ifindex) else {
            return false;
        };
        self.pending.push_back(Event::LinkGone(link));
        true
    }

    fn address(&mut self, address: Address) -> bool {
        let old = self
            .view
            .addresses
            .insert((address.ifindex, address.prefix), address);
        if old != Some(address) {
            self.pending.push_back(Event::Address(address));
        }
        false
    }

    /// The kernel also removes routes with this source address without an event (`fib_sync_down_addr`).
    fn address_gone(&mut self, address: &Address) -> bool {
        let Some(old) = self.view.addresses.remove(&(address.ifindex, address.prefix)) else {
            return false;
        };
        self.pending.push_back(Event::AddressGone(old));
        true
    }

    fn route(&mut self, route: Route, replaces: bool) -> bool {
        if !(self.wanted)(&route) {
            return false;
        }
        if self.view.routes.insert(route) {
            self.pending.push_back(Event::Route(route));
        }
        // The event does not say which of several routes to the same destination was replaced.
        replaces
    }

    fn route_gone(&mut self, route: &Route) {
        if self.view.routes.remove(route) {
            self.pending.push_back(Event::RouteGone(*route));
        }
    }

    fn links_are(&mut self, now: Vec<Link>) {
        let present: BTreeSet<u32> = now.iter().map(|link| link.ifindex).collect();
        let gone: Vec<u32> = self
            .view
            .links
            .keys()
            .filter(|i| !present.contains(i))
            .copied()
            .collect();
        gone.into_iter().for_each(|ifindex| _ = self.link_gone(ifindex));
        now.into_iter().for_each(|link| _ = self.link(link));
    }

    fn addresses_are(&mut self, now: Vec<Address>) {
        let present: BTreeSet<_> = now.iter().map(|a| (a.ifindex, a.prefix)).collect();
        let old = self.view.addresses.values();
        let gone: Vec<_> = old
            .filter(|a| !present.contains(&(a.ifindex, a.prefix)))
            .copied()
            .collect();
        gone.iter().for_each(|address| _ = self.address_gone(address));
        now.into_iter().for_each(|address| _ = self.address(address));
    }

    fn routes_are(&mut self, now: Vec<Route>) {
        let present: BTreeSet<Route> = now.into_iter().filter(self.wanted).collect();
        let gone: Vec<Route> = self.view.routes.difference(&present).copied().collect();
        gone.iter().for_each(|route| self.route_gone(route));
        present.into_iter().for_each(|route| _ = self.route(route, false));
    }
}
