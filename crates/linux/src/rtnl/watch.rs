//! Watching a namespace: what is there, and what changed.

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
    /// A link is new or changed.
    Link(Link),
    /// A link is gone; this is how it was last.
    LinkGone(Link),
    /// An address is new or changed.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// A route is new.
    Route(Route),
    /// A route is gone.
    RouteGone(Route),
    /// A rule came or went. [`Rtnl::rules`] has them in their order, which the kernel's event does not tell.
    Rules,
}

/// Everything there is, as far as the events read so far tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Links by their number.
    pub links: BTreeMap<u32, Link>,
    /// Addresses by link and prefix.
    pub addresses: BTreeMap<(u32, Prefix), Address>,
    /// Routes.
    pub routes: BTreeSet<Route>,
}

/// Watches the links, addresses and routes of one namespace.
///
/// Put it into `epoll`, and after every wake-up call [`next`](Self::next) until it returns `None`.
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
    /// Watches with all routes but those of the kernel's `local` table. What is there already comes first, as events.
    pub fn open() -> Result<Self, WatchError> {
        Self::with_routes(|route| route.table != Table::LOCAL)
    }

    /// Watches only the routes that are `wanted`: a router's full table is not worth holding.
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

    /// The next change, without blocking; `None` when nothing more is known.
    ///
    /// When events were lost, everything is read anew and the differences are what comes next.
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

    /// Everything there is. Ahead of the events that [`next`](Self::next) has not returned yet.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// How often events were lost and everything was read anew.
    pub const fn resyncs(&self) -> u64 {
        self.resyncs
    }

    #[cfg(test)]
    pub(super) fn shrink_for_test(&self) {
        self.events.shrink_for_test();
    }

    /// Reads one datagram of events; false when none waits.
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

/// Brings the view up to date and notes what that changed.
struct Change<'w> {
    view: &'w mut View,
    pending: &'w mut VecDeque<Event>,
    wanted: fn(&Route) -> bool,
}

impl Change<'_> {
    /// Takes in one message; true if routes may have vanished of which the kernel says nothing.
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
        // Events were lost: the number belongs to another interface now.
        if old.is_some_and(|old| old.is_another(&link)) {
            self.link_gone(link.ifindex);
        }
        let old = self.view.links.insert(link.ifindex, link.clone());
        // Without an event each, the kernel drops a downed link's IPv4 routes (`fib_sync_down_dev`), stops using it as one of several next hops,
        // and uses it again when it is back.
        let (was_up, is_up) = (
            old.is_some_and(|old| old.up && old.carrier),
            link.up && link.carrier,
        );
        self.pending.push_back(Event::Link(link));
        was_up != is_up
    }

    /// Several in a row are one change.
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

    /// Routes with the address as their source vanish silently too (`fib_sync_down_addr`).
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
        // Which of several routes to the same place was replaced, the event does not say.
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
