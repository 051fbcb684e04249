//! Connections: their known state, pending commands, and the limits on their queues.

use crate::daemon::act::cla::Cla;
use crate::daemon::act::error::ActError;
use crate::daemon::act::farewell::Farewells;
use crate::daemon::flows::address_ids::AddressIds;
use crate::daemon::flows::book::Flows;
use crate::daemon::flows::joins::Joins;
use crate::daemon::flows::names::canonical;
use crate::daemon::flows::priorities::Priorities;
use crate::daemon::links::managed::Managed;
use crate::daemon::queues::bounds::Bounds;
use policy::ConnId;
use std::net::SocketAddr;
use units::Instant;

/// All connections, with their pending commands and limits.
#[derive(Debug)]
pub(crate) struct Conns {
    pub(crate) flows: Flows,
    pub(crate) ids: AddressIds,
    pub(crate) joins: Joins,
    pub(crate) priorities: Priorities,
    pub(crate) farewells: Farewells,
    pub(crate) bounds: Bounds,
    pub(crate) cla: Cla,
}

impl Conns {
    pub(crate) fn new(bounds: Bounds, cla: Cla) -> Self {
        Self {
            flows: Flows::default(),
            ids: AddressIds::default(),
            joins: Joins::default(),
            priorities: Priorities::default(),
            farewells: Farewells::new(),
            bounds,
            cla,
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let times = [
            self.flows.wake_at(),
            self.joins.wake_at(),
            self.priorities.wake_at(),
            self.farewells.wake_at(),
            self.bounds.wake_at(),
        ];
        times.into_iter().flatten().min()
    }

    /// The address to which probes of a connection over a link go: the one of its subflow there, or one for
    /// joins that the link can reach.
    pub(crate) fn peer_over(&self, conn: ConnId, link: &Managed) -> Result<SocketAddr, ActError> {
        let subflows = self.flows.subflows_of(conn);
        let mut living = subflows.filter(|subflow| subflow.link == link.id && subflow.living());
        if let Some(subflow) = living.next() {
            return Ok(canonical(subflow.ends.remote));
        }
        let conn = self.flows.conn(conn).ok_or(ActError::NoConnection)?;
        let mut remotes = conn.remotes.addresses();
        let reachable = remotes.find(|remote| link.way(remote.is_ipv6()).is_some());
        Ok(reachable.unwrap_or(conn.remote))
    }
}
