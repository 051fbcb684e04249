//! What the kernel says of connections and subflows becomes what the engine is told.
//!
//! # Sources
//! - RFC 8684 §3.2 (the fourth packet of a join), §3.6 (reasons of a reset).
//!
//! # Checked by
//! `daemon::tests`.

use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::observe::Observation;
use crate::daemon::drive::world::World;
use crate::daemon::flows::book::{NewSubflow, Phase, Standing};
use crate::daemon::flows::motion::Motion;
use crate::daemon::flows::names::{canonical, conn_of, ends as ends_of, token_of};
use crate::daemon::host::sockets::Ending;
use crate::daemon::links::managed::Managed;
use crate::diag::Ends;
use crate::mptcp_pm::{Announced, Connection, Event, SubflowChange};
use policy::{ConnEvent, ConnId, Input, JoinFailure, LinkId, SubflowEvent, SubflowId};
use std::net::SocketAddr;
use std::time::Duration;
use units::Instant;

/// A subflow that the peer has neither accepted nor reset by then lost both packets: its path is dead.
const PROOF_PATIENCE: Duration = Duration::from_secs(3);

impl World {
    pub(crate) fn peer_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Created(connection) => self.created(connection),
            Event::Established(connection) => self.established(now, connection),
            Event::Closed(token) => self.closed(conn_of(*token)),
            Event::Announced(announced) => self.announced(announced),
            Event::SubflowEstablished(change) => self.subflow_established(now, change),
            Event::SubflowClosed(change) => self.subflow_closed(change),
            // A changed priority is seen in the next sample.
            Event::SubflowPriority(_)
            | Event::Removed(..)
            | Event::ListenerCreated(_)
            | Event::ListenerClosed(_) => {}
        }
    }

    fn created(&mut self, connection: &Connection) {
        if connection.server_side {
            return;
        }
        let remote = (!connection.deny_join_id0).then(|| canonical(connection.initial.remote));
        self.flows
            .open(conn_of(connection.token), canonical(connection.initial.remote))
            .joinable = remote;
    }

    fn established(&mut self, now: Instant, connection: &Connection) {
        self.created(connection);
        let ends = ends_of(&connection.initial, None);
        let id = conn_of(connection.token);
        if self.flows.conn(id).is_none_or(|conn| conn.phase != Phase::Fresh) {
            return;
        }
        let Some(link) = self.owner(&ends) else {
            return self.leave_alone(id, LeftAlone::OtherLink);
        };
        if self
            .host
            .routes
            .is_led_elsewhere(&self.links, ends.remote.ip().to_canonical())
        {
            return self.leave_alone(id, LeftAlone::Elsewhere);
        }
        self.open(now, id);
        let new = NewSubflow {
            conn: id,
            link,
            ends,
            address_id: 0,
            initial: true,
            backup: false,
            standing: Standing::Proven,
        };
        if let Some(subflow) = self.flows.add(new) {
            self.introduce(subflow);
        }
        self.probes.learn_peer(
            now,
            link,
            canonical(connection.initial.remote),
            &self.links,
            &mut self.host.outlet,
        );
    }

    /// The engine learns of a connection.
    pub(crate) fn open(&mut self, now: Instant, id: ConnId) {
        if let Some(conn) = self.flows.conn_mut(id) {
            conn.phase = Phase::Open;
            conn.motion = Motion::new(now);
            self.host.outlet.tell(Input::Conn(id, ConnEvent::Opened));
        }
    }

    /// The link of this host's end of a subflow.
    pub(crate) fn owner(&self, ends: &Ends) -> Option<LinkId> {
        self.links.owner(ends.local.ip().to_canonical(), ends.ifindex)
    }

    /// From now on the engine does not know of this connection.
    pub(crate) fn leave_alone(&mut self, id: ConnId, why: LeftAlone) {
        let Some(conn) = self.flows.conn_mut(id) else {
            return;
        };
        let was = std::mem::replace(&mut conn.phase, Phase::LeftAlone(why));
        if was == Phase::Open {
            self.host.outlet.tell(Input::Conn(id, ConnEvent::Closed));
        }
        let subflows = Vec::from_iter(self.flows.subflows_of(id).map(|subflow| subflow.id));
        subflows
            .into_iter()
            .for_each(|subflow| self.priorities.forget(subflow));
        self.flows.settle(id);
        self.joins.forget(id);
        self.farewells.forget(id);
        self.host.settings.forget(id);
        self.bounds.leave_alone(id, &mut self.host.outlet);
        // Every connection closes some time.
        if why != LeftAlone::Closing {
            self.host.outlet.observe(Observation::LeftAlone { conn: id, why });
        }
    }

    /// Whether a connection is to be left in peace, since it is closing or gone. The engine may not have heard of that yet.
    pub(crate) fn is_left_in_peace(&mut self, id: ConnId) -> bool {
        match self.flows.conn(id).map(|conn| conn.phase) {
            Some(Phase::Open) => {}
            Some(Phase::LeftAlone(why)) => return why == LeftAlone::Closing,
            Some(Phase::Fresh) | None => return false,
        }
        match self.host.sockets.ending(token_of(id)) {
            Some(Ending::Gone) => self.closed(id),
            Some(Ending::Closing) => self.leave_alone(id, LeftAlone::Closing),
            None => return false,
        }
        true
    }

    pub(crate) fn closed(&mut self, id: ConnId) {
        let Some(conn) = self.flows.close(id) else { return };
        self.joins.forget(id);
        self.host.settings.forget(id);
        self.farewells.forget(id);
        self.bounds.release(id, &mut self.host.outlet);
        self.forget_advice(id);
        if conn.phase == Phase::Open {
            self.host.outlet.tell(Input::Conn(id, ConnEvent::Closed));
        }
    }

    /// A server that wants no joins at its first address says where it wants them.
    fn announced(&mut self, announced: &Announced) {
        let Some(conn) = self.flows.conn_mut(conn_of(announced.token)) else {
            return;
        };
        if conn.joinable.is_none() {
            let port = if announced.remote.port() == 0 {
                conn.remote.port()
            } else {
                announced.remote.port()
            };
            conn.joinable = Some(SocketAddr::new(announced.remote.ip().to_canonical(), port));
        }
    }

    fn subflow_established(&mut self, now: Instant, change: &SubflowChange) {
        let conn = conn_of(change.token);
        let ends = ends_of(&change.subflow, change.ifindex);
        if self.flows.conn(conn).is_none_or(|conn| conn.phase != Phase::Open) {
            return;
        }
        let join = self.joins.take(conn, ends.local.ip().to_canonical());
        let Some(link) = join.map(|join| join.link).or_else(|| self.owner(&ends)) else {
            return;
        };
        let new = NewSubflow {
            conn,
            link,
            ends,
            address_id: change.local_id.0,
            initial: false,
            backup: join.map_or(change.backup, |join| join.backup),
            standing: Standing::Unproven {
                until: now + PROOF_PATIENCE,
            },
        };
        self.flows.add(new);
    }

    /// The peer has accepted a subflow: the engine learns of it.
    pub(crate) fn proven(&mut self, id: SubflowId) {
        let Some(subflow) = self.flows.subflow_mut(id) else {
            return;
        };
        subflow.standing = Standing::Proven;
        self.introduce(id);
        self.bounds.levers.subflow_joined();
        self.bounds
            .mind_unattached(&self.flows, &self.links, &mut self.host);
        self.maybe_handed_off(self.host.outlet.now, id);
    }

    /// Tells the engine of a proven subflow.
    pub(crate) fn introduce(&mut self, id: SubflowId) {
        let Some(subflow) = self.flows.subflow(id) else {
            return;
        };
        let (conn, link, ends, address_id) = (subflow.conn, subflow.link, subflow.ends, subflow.address_id);
        let event = SubflowEvent::Established {
            conn,
            link,
            initial: subflow.initial,
            backup: subflow.backup,
        };
        let (local, remote) = (ends.local, ends.remote);
        self.host.outlet.observe(Observation::Subflow {
            subflow: id,
            conn,
            link,
            local,
            remote,
            address_id,
        });
        self.host.outlet.tell(Input::Subflow(id, event));
    }

    fn subflow_closed(&mut self, change: &SubflowChange) {
        let conn = conn_of(change.token);
        let ends = ends_of(&change.subflow, change.ifindex);
        if self.flows.was_destroyed(conn, &ends) {
            return;
        }
        match self.flows.find(&ends) {
            Some(id) => self.subflow_gone(id, Some(change)),
            None => {
                if let Some(join) = self.joins.take(conn, ends.local.ip().to_canonical()) {
                    self.join_failed(conn, join.link, reason(change));
                }
            }
        }
    }

    /// A known subflow is gone; `change` is what the kernel said of it, if anything.
    pub(crate) fn subflow_gone(&mut self, id: SubflowId, change: Option<&SubflowChange>) {
        let Some(subflow) = self.flows.subflow(id) else {
            return;
        };
        let (conn, link, standing) = (subflow.conn, subflow.link, subflow.standing);
        self.flows.end(id, Standing::Closed);
        self.priorities.forget(id);
        if standing == Standing::Proven {
            return self.host.outlet.tell(Input::Subflow(id, SubflowEvent::Closed));
        }
        // It was established, so a peer that closes it without a word has refused it.
        let refused = change.is_none_or(|change| change.error.is_none());
        let reason = if refused {
            JoinFailure::Refused
        } else {
            change.map_or(JoinFailure::Refused, reason)
        };
        self.join_failed(conn, link, reason);
    }

    /// A join came to nothing. Where the connection is closing or the link has lost its address, nobody has refused it.
    pub(crate) fn join_failed(&mut self, conn: ConnId, link: LinkId, reason: JoinFailure) {
        if self.is_left_in_peace(conn) {
            return;
        }
        let is_there = self.links.get(link).is_some_and(Managed::usable);
        let reason = if is_there { reason } else { JoinFailure::Untimely };
        self.host
            .outlet
            .tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
    }

    /// Joins and proofs for which was waited long enough.
    pub(crate) fn give_up_waiting(&mut self, now: Instant) {
        while let Some(join) = self.joins.expired(now) {
            self.abandon(&join);
            self.join_failed(join.conn, join.link, JoinFailure::Timeout);
        }
        while let Some(id) = self.flows.unproven_since_long(now) {
            let Some(subflow) = self.flows.subflow(id) else {
                return;
            };
            let (conn, link) = (subflow.conn, subflow.link);
            if self.is_left_in_peace(conn) {
                continue;
            }
            self.destroy_quietly(id);
            self.join_failed(conn, link, JoinFailure::Timeout);
        }
    }
}

/// Why a subflow closed before it was proven.
const fn reason(change: &SubflowChange) -> JoinFailure {
    let Some(errno) = change.error else {
        return if change.reset.is_some() {
            JoinFailure::Refused
        } else {
            JoinFailure::Timeout
        };
    };
    match errno as i32 {
        libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE => JoinFailure::Refused,
        libc::ENETUNREACH | libc::ENETDOWN | libc::EADDRNOTAVAIL | libc::ENODEV => JoinFailure::Local,
        _ => JoinFailure::Timeout,
    }
}
