//! Hosts of walkers other than the client. Each is a stock host. It associates with every access point that
//! it uses as soon as it hears it. Its kernel's path manager joins over all of its links.
//!
//! # Where we differ, and why
//! 1. Its links have the numbers after the client's, as in [`links::NetworkConfig::other_links`].
//! 2. New connections start on its first usable link in the order of the plan.
//! 3. It joins at the server's first address only.

use super::families::has;
use super::plugs::Plugs;
use crate::hosts::Host;
use crate::mptcp::{Config, Connection, Event, Path};
use links::{Input as Order, LinkId, LinkState};
use policy::Family;
use scenario::{Families, LinkKind, Plan, models};
use std::collections::BTreeSet;
use units::Instant;

/// The host that a link of the network belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    /// Number of the host: 0 is the client, then the others in the order of the plan.
    pub(super) host: usize,
    /// Index of the plan's link that this one is, or shares with the client.
    pub(super) link: usize,
}

/// The hosts that open connections, with their links, as applications see them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Openers<'w> {
    client: &'w Host,
    plugs: &'w Plugs,
    /// The link on which new connections of the client start.
    route: Option<LinkId>,
    others: &'w Others,
}

impl<'w> Openers<'w> {
    /// `route` is the engine's number of a link.
    pub(super) fn new(
        client: &'w Host,
        plugs: &'w Plugs,
        route: Option<policy::LinkId>,
        others: &'w Others,
    ) -> Self {
        Self {
            client,
            plugs,
            route: route.map(|link| LinkId(link.0)),
            others,
        }
    }

    /// A host by its number.
    pub(super) fn host(&self, number: usize) -> &'w Host {
        match number.checked_sub(1) {
            None => self.client,
            Some(other) => &self.others.all[other].host,
        }
    }

    pub(super) fn is_usable(&self, number: usize, link: LinkId) -> bool {
        match number.checked_sub(1) {
            None => self.plugs.is_usable(policy::LinkId(link.0)),
            Some(other) => self.others.all[other].is_usable(link),
        }
    }

    /// Where new connections of a host start.
    pub(super) fn route(&self, number: usize) -> Option<LinkId> {
        match number.checked_sub(1) {
            None => self.route,
            Some(other) => self.others.all[other].route(),
        }
    }
}

/// All hosts of other walkers, and the owner of each link of the network.
#[derive(Debug)]
pub(super) struct Others {
    pub(super) all: Vec<Other>,
    seats: Vec<Seat>,
}

/// The host of one walker.
#[derive(Debug)]
pub(super) struct Other {
    /// Index in [`Plan::walkers`].
    by: usize,
    pub(super) host: Host,
    links: Vec<Interface>,
    /// The family in which connections begin.
    begins: Family,
    /// Connections that can be joined.
    joinable: BTreeSet<u32>,
}

#[derive(Debug)]
struct Interface {
    id: LinkId,
    is_radio: bool,
    families: Families,
    state: LinkState,
}

impl Others {
    pub(super) fn new(plan: &Plan, unused: Config) -> Self {
        let own = (0..plan.links.len()).map(|link| Seat { host: 0, link });
        let mut seats: Vec<Seat> = own.collect();
        let mut all = Vec::new();
        for resident in models::residents(plan) {
            let mut links = Vec::new();
            for &through in &resident.links {
                let is_radio = matches!(plan.links[through].kind, LinkKind::Wifi(_));
                links.push(Interface {
                    id: LinkId(seats.len() as u16),
                    is_radio,
                    families: plan.links[through].families,
                    state: if is_radio { LinkState::Down } else { LinkState::Up },
                });
                seats.push(Seat {
                    host: all.len() + 1,
                    link: through,
                });
            }
            all.push(Other {
                by: resident.by,
                host: Host::new(unused),
                links,
                begins: match plan.server_families.begins_in_v6() {
                    true => Family::V6,
                    false => Family::V4,
                },
                joinable: BTreeSet::new(),
            });
        }
        Self { all, seats }
    }

    /// Takes the states of their associations at the start.
    pub(super) fn begin(&mut self, state: impl Fn(LinkId) -> LinkState) {
        let links = self.all.iter_mut().flat_map(|other| &mut other.links);
        let radios = links.filter(|link| link.is_radio);
        radios.for_each(|link| link.state = state(link.id));
    }

    pub(super) fn seat(&self, link: LinkId) -> Seat {
        self.seats[usize::from(link.0)]
    }

    /// For each link of the network, the plan's link that it is or shares.
    pub(super) fn through(&self) -> Vec<usize> {
        self.seats.iter().map(|seat| seat.link).collect()
    }

    /// The host of a walker: 0 for the client. `None`: it has none.
    pub(super) fn host_of(&self, by: usize) -> Option<usize> {
        let place = self.all.iter().position(|other| other.by == by);
        place.map(|at| at + 1).or((by == 0).then_some(0))
    }

    /// The link of a host that shares this link of the plan.
    pub(super) fn link_of(&self, host: usize, through: usize) -> Option<LinkId> {
        let seat = Seat { host, link: through };
        let at = self.seats.iter().position(|known| *known == seat)?;
        Some(LinkId(at as u16))
    }

    /// When the first timer of all is due.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.all.iter().filter_map(|other| other.host.next_timer()).min()
    }
}

impl Other {
    pub(super) fn is_usable(&self, link: LinkId) -> bool {
        self.usable().any(|usable| usable == link)
    }

    fn usable(&self) -> impl Iterator<Item = LinkId> {
        let up = self.links.iter().filter(|link| link.state == LinkState::Up);
        up.map(|link| link.id)
    }

    /// Where new connections start.
    pub(super) fn route(&self) -> Option<LinkId> {
        self.usable().find(|&link| self.has_way(link))
    }

    /// Whether a link has an address of the family in which connections begin.
    fn has_way(&self, id: LinkId) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.id == id && has(link.families, self.begins))
    }

    /// Acts on a beacon. Returns what the link shall do.
    pub(super) fn beacon(&self, id: LinkId) -> Option<Order> {
        let mut links = self.links.iter();
        let waits = links.any(|link| link.id == id && link.is_radio && link.state == LinkState::Down);
        waits.then_some(Order::Associate(id))
    }

    /// Acts on a link's new state.
    pub(super) fn state(&mut self, now: Instant, id: LinkId, state: LinkState) {
        let Some(link) = self.links.iter_mut().find(|link| link.id == id) else {
            return;
        };
        let was_usable = std::mem::replace(&mut link.state, state) == LinkState::Up;
        let is_usable = state == LinkState::Up;
        if was_usable == is_usable {
            return;
        }
        for conn in self.joinable.clone() {
            match is_usable {
                true => self.join(now, conn, id),
                false => self.part(now, conn, id),
            }
        }
    }

    /// Acts on an event of its connections.
    pub(super) fn hear(&mut self, now: Instant, event: Event) {
        match event {
            Event::Joinable { conn } => {
                self.joinable.insert(conn);
                let links: Vec<LinkId> = self.usable().collect();
                links.into_iter().for_each(|link| self.join(now, conn, link));
            }
            Event::Closed { conn } => {
                self.joinable.remove(&conn);
            }
            _ => {}
        }
    }

    /// A connection begins. If joins do not wait, they begin, too.
    pub(super) fn begins(&mut self, now: Instant, conn: u32) {
        let connection = self.host.connection(conn);
        if connection.is_some_and(Connection::is_joinable) {
            self.hear(now, Event::Joinable { conn });
        }
    }

    fn join(&mut self, now: Instant, conn: u32, link: LinkId) {
        if !self.has_way(link) {
            return;
        }
        let path = Path::over(link, self.begins);
        self.host.act(now, conn, |connection, out| {
            if connection.is_joinable() && !connection.uses(link) {
                connection.join(now, path, false, out);
            }
        });
    }

    fn part(&mut self, now: Instant, conn: u32, link: LinkId) {
        self.host.act(now, conn, |connection, out| {
            let own = connection.subflows(now).filter(|view| view.path.link == link);
            for view in own.collect::<Vec<_>>() {
                connection.destroy(now, view.id, out);
                connection.withdraw(view.path);
            }
        });
    }
}
