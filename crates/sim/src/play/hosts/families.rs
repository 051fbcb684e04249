//! Versions of IP: which one a path has, and the address that the server announces.
//!
//! The server has at most one address of each version. Connections begin at the first one.
//!
//! # Where we differ, and why
//! 1. The server announces its other address once a connection is established, without an endpoint.
//!
//! # Checked by
//! `tests/families.rs`.

use super::world::World;
use crate::mptcp::Path;
use policy::{ConnEvent, ConnId, Family, Input, LinkEvent, LinkId, RemoteId, Uplink};
use scenario::{Families, Plan, ServerFamilies};
use std::collections::{BTreeSet, VecDeque};

/// The peer's announced address. [`RemoteId::FIRST`] is the one at which connections begin.
const ANNOUNCED: RemoteId = RemoteId(1);

/// Addresses of the links and of the server.
#[derive(Debug)]
pub(super) struct Versions {
    /// Per link of the plan.
    links: Vec<Families>,
    server: ServerFamilies,
    /// Whether the plan has IPv6. Only then are families reported to the engine.
    mixed: bool,
    /// Connections whose peer has announced its other address.
    announced: BTreeSet<ConnId>,
}

const fn family(v6: bool) -> Family {
    match v6 {
        true => Family::V6,
        false => Family::V4,
    }
}

/// Whether these include one.
pub(super) const fn has(families: Families, family: Family) -> bool {
    match family {
        Family::V4 => families.has_v4(),
        Family::V6 => families.has_v6(),
    }
}

impl Versions {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            links: plan.links.iter().map(|link| link.families).collect(),
            server: plan.server_families,
            mixed: plan.uses_v6(),
            announced: BTreeSet::new(),
        }
    }

    /// The family in which MPTCP connections begin.
    pub(super) const fn begins(&self) -> Family {
        family(self.server.begins_in_v6())
    }

    /// The family of plain TCP and of probes over this link of the plan.
    pub(super) fn over(&self, link: usize) -> Family {
        let v6 = self.server.over(self.links[link]);
        family(v6.unwrap_or(self.server.begins_in_v6()))
    }

    /// Whether a link of the plan has an address of this family.
    pub(super) fn has(&self, link: usize, family: Family) -> bool {
        has(self.links[link], family)
    }

    /// The family of a server's address.
    pub(super) fn of(&self, remote: RemoteId) -> Family {
        match (self.begins(), remote == RemoteId::FIRST) {
            (first, true) => first,
            (Family::V4, false) => Family::V6,
            (Family::V6, false) => Family::V4,
        }
    }

    /// The family of the address that the server announces.
    const fn second(&self) -> Option<Family> {
        match self.server {
            ServerFamilies::V4 | ServerFamilies::V6 => None,
            ServerFamilies::V4First => Some(Family::V6),
            ServerFamilies::V6First => Some(Family::V4),
        }
    }

    /// Reports the families of a link that gets its addresses. The user has no route over it in any other.
    pub(super) fn addresses(&self, link: LinkId, facts: &mut VecDeque<Input>) {
        let of = |family| match self.has(usize::from(link.0), family) {
            true => LinkEvent::Address(family, true),
            false => LinkEvent::Uplink(family, Uplink::None),
        };
        let families = Family::ALL.into_iter().filter(|_| self.mixed);
        facts.extend(families.map(|family| Input::Link(link, of(family))));
    }
}

impl World<'_> {
    /// The server has accepted a connection: it announces its other address.
    pub(super) fn announce(&mut self, conn: u32) {
        if let Some(family) = self.versions.second() {
            let now = self.now;
            self.server.act(now, conn, |connection, _| {
                connection.announce(now, family as u8, family)
            });
        }
    }

    /// The client's engine learns the addresses of a connection's peer once it knows the connection.
    pub(super) fn tell_remotes(&mut self, conn: ConnId) {
        if !self.versions.mixed {
            return;
        }
        let first = ConnEvent::Remote(RemoteId::FIRST, self.versions.begins());
        self.tell(Input::Conn(conn, first));
        if self.versions.announced.contains(&conn) {
            self.tell_announced(conn);
        }
    }

    /// The peer has announced its other address. A stock path manager joins it over the default route of its
    /// family.
    pub(super) fn announced(&mut self, conn: ConnId) {
        let is_new = self.versions.announced.insert(conn);
        if !is_new || !self.book.is_open(conn) {
            return;
        }
        self.tell_announced(conn);
        self.join_announced(conn);
    }

    /// What a stock path manager does about an announced address.
    pub(super) fn join_announced(&mut self, conn: ConnId) {
        let known = self.versions.announced.contains(&conn);
        let route = self.route(self.versions.of(ANNOUNCED));
        if let Some(link) = route.filter(|_| known && self.endpoints.are_managed()) {
            self.join_as_kernel(conn, link, ANNOUNCED);
        }
    }

    /// The link on which new connections start.
    pub(super) fn first_route(&self) -> Option<LinkId> {
        self.route(self.versions.begins())
    }

    /// The link on which new subflows of this family start. If the chosen link has no address of the family,
    /// it is the first one that has.
    fn route(&self, family: Family) -> Option<LinkId> {
        let has = |link: &LinkId| self.versions.has(usize::from(link.0), family);
        let links = (0..self.versions.links.len() as u16).map(LinkId);
        let mut usable = links.filter(|&link| self.plugs.is_usable(link));
        let chosen = self.routes[family as usize]?;
        Some(chosen).filter(has).or_else(|| usable.find(has))
    }

    fn tell_announced(&mut self, conn: ConnId) {
        let other = ConnEvent::Remote(ANNOUNCED, self.versions.of(ANNOUNCED));
        self.tell(Input::Conn(conn, other));
    }

    /// The path of a new connection over a link. `bound`: plain TCP over this link.
    pub(super) fn opening(&self, link: links::LinkId, bound: bool) -> Path {
        let family = match bound {
            true => self.versions.over(self.others.seat(link).link),
            false => self.versions.begins(),
        };
        Path::over(link, family)
    }
}
