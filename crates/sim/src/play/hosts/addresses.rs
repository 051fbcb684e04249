//! Addresses of the client: their identifiers, and what happens when a link has another one.
//!
//! # Sources
//! - RFC 8684 §3.4.1: an identifier in use names no other address.
//!
//! # Where we differ, and why
//! 1. The first subflow of a connection has an identifier of its own per link, where RFC 8684 has 0.

use super::world::World;
use crate::mptcp::Path;
use policy::{Family, Input, LinkId, SubflowEvent};

/// The identifier of each link's address.
#[derive(Debug)]
pub(super) struct Addresses {
    ids: Vec<u8>,
    /// The first identifier that no link begins with, and the next one to use.
    first: u8,
    next: u8,
}

impl Addresses {
    /// The first addresses of this many links: those of [`Path::over`].
    pub(super) fn new(links: usize) -> Self {
        let path = |link| Path::over(links::LinkId(link), Family::V4);
        let first = (links as u8).saturating_mul(2);
        Self {
            ids: (0..links as u16).map(|link| path(link).client).collect(),
            first,
            next: first,
        }
    }

    /// Gives a link another address. After 255, the identifier used longest ago is taken again.
    fn renew(&mut self, link: LinkId) {
        self.ids[usize::from(link.0)] = self.next;
        self.next = self.next.checked_add(1).unwrap_or(self.first);
    }

    /// The path of a join over a link.
    pub(super) fn path(&self, link: LinkId) -> Path {
        Path {
            client: self.ids[usize::from(link.0)],
            ..Path::over(links::LinkId(link.0), Family::V4)
        }
    }
}

impl World<'_> {
    /// A link has another address from now on. Subflows with the old one are dead. Those that the engine
    /// knows are closed and withdrawn, as a daemon does when the kernel reports that an address is gone.
    pub(super) fn renew(&mut self, link: LinkId) {
        let dead = (0..self.flows.count()).flat_map(|conn| {
            // The client may have closed its end already.
            let ends = [&self.client, &self.server];
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
        self.plugs.renew(link, &mut self.facts);
    }
}
