//! Turns the kernel's events about connections and subflows into facts for the engine.
//!
//! # Sources
//! - RFC 8684 §3.2 (the fourth packet of a join), §3.6 (reasons of a reset).
//!
//! # Checked by
//! `daemon::tests`.

use crate::daemon::act::life::reason;
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::flows::book::{NewSubflow, Phase, Standing};
use crate::daemon::flows::names::{canonical, conn_of, ends as ends_of};
use crate::daemon::flows::remotes::family_of;
use crate::daemon::hear::Hearing;
use crate::mptcp_pm::{AddressId, Announced, Connection, Event, SubflowChange, Token};
use policy::{ConnEvent, Input, RemoteId};
use std::time::Duration;
use units::Instant;

/// Time after which an unproven subflow's path is dead: the peer has neither accepted nor reset it, so both
/// packets were lost.
const PROOF_PATIENCE: Duration = Duration::from_secs(3);

impl Hearing<'_> {
    pub(crate) fn event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Created(connection) => self.created(connection),
            Event::Established(connection) => self.established(now, connection),
            Event::Closed(token) => self.conns.closed(conn_of(*token), self.host),
            Event::Announced(announced) => self.announced(announced),
            Event::Removed(token, id) => self.withdrawn(*token, *id),
            Event::SubflowEstablished(change) => self.subflow_established(now, change),
            Event::SubflowClosed(change) => self.subflow_closed(change),
            // The next sample shows a changed priority.
            Event::SubflowPriority(_) | Event::ListenerCreated(_) | Event::ListenerClosed(_) => {}
        }
    }

    fn created(&mut self, connection: &Connection) {
        if connection.server_side {
            return;
        }
        let id = conn_of(connection.token);
        let conn = self.conns.flows.open(id, connection.initial.remote);
        if connection.deny_join_id0 {
            conn.remotes.removed(RemoteId::FIRST);
        }
    }

    fn established(&mut self, now: Instant, connection: &Connection) {
        self.created(connection);
        let ends = ends_of(&connection.initial, None);
        let id = conn_of(connection.token);
        if self
            .conns
            .flows
            .conn(id)
            .is_none_or(|conn| conn.phase != Phase::Fresh)
        {
            return;
        }
        let Some(link) = self.links.owner_of(&ends) else {
            return self.conns.leave_alone(id, LeftAlone::OtherLink, self.host);
        };
        if self
            .host
            .routes
            .is_led_elsewhere(self.links, ends.remote.ip().to_canonical())
        {
            return self.conns.leave_alone(id, LeftAlone::Elsewhere, self.host);
        }
        self.conns.open(now, id, self.host);
        let new = NewSubflow {
            conn: id,
            link,
            ends,
            address_id: 0,
            initial: true,
            backup: false,
            standing: Standing::Proven,
        };
        if let Some(subflow) = self.conns.flows.add(new) {
            self.conns.introduce(subflow, self.host);
        }
        self.probes.learn_peer(
            now,
            link,
            canonical(connection.initial.remote),
            self.links,
            &mut self.host.outlet,
        );
    }

    fn announced(&mut self, announced: &Announced) {
        let id = RemoteId(announced.remote_id.0);
        let Some(conn) = self.conns.flows.conn_mut(conn_of(announced.token)) else {
            return;
        };
        if conn.remotes.announced(id, announced.remote) && conn.phase == Phase::Open {
            let family = family_of(announced.remote.ip().to_canonical());
            let event = ConnEvent::Remote(id, family);
            self.host.outlet.tell(Input::Conn(conn.id, event));
        }
    }

    /// The kernel ends the subflows to such an address by itself.
    fn withdrawn(&mut self, token: Token, id: AddressId) {
        let id = RemoteId(id.0);
        let Some(conn) = self.conns.flows.conn_mut(conn_of(token)) else {
            return;
        };
        if conn.remotes.removed(id) && conn.phase == Phase::Open {
            let event = ConnEvent::RemoteGone(id);
            self.host.outlet.tell(Input::Conn(conn.id, event));
        }
    }

    fn subflow_established(&mut self, now: Instant, change: &SubflowChange) {
        let conn = conn_of(change.token);
        let ends = ends_of(&change.subflow, change.ifindex);
        if self
            .conns
            .flows
            .conn(conn)
            .is_none_or(|conn| conn.phase != Phase::Open)
        {
            return;
        }
        let join = self.conns.joins.take(conn, &ends);
        let Some(link) = join.map(|join| join.link).or_else(|| self.links.owner_of(&ends)) else {
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
        self.conns.flows.add(new);
    }

    fn subflow_closed(&mut self, change: &SubflowChange) {
        let conn = conn_of(change.token);
        let ends = ends_of(&change.subflow, change.ifindex);
        if self.conns.flows.was_destroyed(conn, &ends) {
            return;
        }
        match self.conns.flows.find(&ends) {
            Some(id) => self.conns.subflow_gone(id, Some(change), self.host, self.links),
            None => {
                if let Some(join) = self.conns.joins.take(conn, &ends) {
                    self.conns
                        .join_failed(conn, join.link, reason(change), self.host, self.links);
                }
            }
        }
    }
}
