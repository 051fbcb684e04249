//! Addresses of the client: their identifiers, and what happens when a link has another one.
//!
//! # Sources
//! - RFC 8684 §3.4.1: an identifier in use names no other address.
//!
//! # Where we differ, and why
//! 1. The first subflow of a connection has an identifier of its own per link, where RFC 8684 has 0.

use super::relay;
use super::world::World;
use crate::mptcp::Path;
use policy::{Family, Input, LinkId, SubflowEvent};

/// The identifiers of each link's addresses.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Per link: of IPv4, and of IPv6.
    ids: Vec<[u8; 2]>,
    /// The first identifier that no link begins with, and the next one to use.
    first: u8,
    next: u8,
}

impl Addresses {
    /// The first addresses of this many links: those of [`Path::over`].
    pub(super) fn new(links: usize) -> Self {
        let ids = |link| Family::ALL.map(|family| Path::over(links::LinkId(link), family).client);
        let first = (links as u8).saturating_mul(2);
        Self {
            ids: (0..links as u16).map(ids).collect(),
            first,
            next: first,
        }
    }

    /// Gives a link other addresses. After 255, the identifier used longest ago is taken again.
    fn renew(&mut self, link: LinkId) {
        for id in &mut self.ids[usize::from(link.0)] {
            *id = self.next;
            self.next = self.next.checked_add(1).unwrap_or(self.first);
        }
    }

    /// The path of a join over a link.
    pub(super) fn path(&self, link: LinkId, family: Family) -> Path {
        Path {
            client: self.ids[usize::from(link.0)][family as usize],
            ..Path::over(links::LinkId(link.0), family)
        }
    }
}

impl World<'_> {
    /// A link has other addresses from now on. Subflows with the old ones are dead. Those that the engine
    /// knows are closed and withdrawn, as a daemon does when the kernel reports that an address is gone.
    pub(super) fn renew(&mut self, link: LinkId) {
        let dead = (0..self.flows.count()).flat_map(|conn| {
            // The client may have closed its end already.
            let ends = [&self.client, relay::far_end(&self.behind, &self.server, conn)];
            let connections = ends.into_iter().filter_map(move |host| host.connection(conn));
            let subflows = connections.flat_map(|of| of.subflows(self.now));
            let own = subflows.filter(|view| view.path.link.0 == link.0);
            own.map(move |view| (conn, view.port))
        });
        let dead: Vec<(u32, u16)> = dead.collect();
        dead.into_iter()
            .for_each(|(conn, port)| self.carrier.orphan(conn, port));
        self.addresses.renew(link);
        if !self.plugs.is_usable(link) {
            return;
        }
        let conns: Vec<_> = self.book.conns().collect();
        for conn in conns {
            let own = self.book.of(conn).filter(|(_, subflow)| subflow.link() == link);
            let own: Vec<_> = own.collect();
            for (id, subflow) in own {
                self.tell(Input::Subflow(id, SubflowEvent::Closed));
                self.end(id, conn);
                self.client.act(self.now, conn.0, |connection, _| {
                    connection.withdraw(subflow.path)
                });
            }
        }
        self.plugs.renew(link, &self.versions, &mut self.facts);
    }
}
