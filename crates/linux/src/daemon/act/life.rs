//! The life of a connection as the engine sees it: opened, left alone, closed, and its subflows proven and
//! lost.

use crate::daemon::act::conns::Conns;
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::observe::Observation;
use crate::daemon::flows::book::{Phase, Standing, Subflow};
use crate::daemon::flows::motion::Motion;
use crate::daemon::flows::names::token_of;
use crate::daemon::host::Host;
use crate::daemon::host::sockets::Ending;
use crate::daemon::links::book::Links;
use crate::daemon::links::managed::Managed;
use crate::mptcp_pm::SubflowChange;
use policy::{ConnEvent, ConnId, Input, JoinFailure, LinkId, SubflowEvent, SubflowId};
use std::net::IpAddr;
use units::Instant;

impl Conns {
    /// Tells the engine about a connection.
    pub(crate) fn open(&mut self, now: Instant, id: ConnId, host: &mut Host) {
        if let Some(conn) = self.flows.conn_mut(id) {
            conn.phase = Phase::Open;
            conn.motion = Motion::new(now);
            let remotes = conn.remotes.families();
            let remotes = remotes.map(|(remote, family)| ConnEvent::Remote(remote, family));
            for event in std::iter::once(ConnEvent::Opened).chain(remotes) {
                host.outlet.tell(Input::Conn(id, event));
            }
        }
    }

    /// Removes a connection from the engine. From now on it is left alone.
    pub(crate) fn leave_alone(&mut self, id: ConnId, why: LeftAlone, host: &mut Host) {
        let Some(conn) = self.flows.conn_mut(id) else {
            return;
        };
        let was = std::mem::replace(&mut conn.phase, Phase::LeftAlone(why));
        if was == Phase::Open {
            host.outlet.tell(Input::Conn(id, ConnEvent::Closed));
        }
        let subflows = Vec::from_iter(self.flows.subflows_of(id).map(|subflow| subflow.id));
        subflows
            .into_iter()
            .for_each(|subflow| self.priorities.forget(subflow));
        self.flows.settle(id);
        self.joins.forget(id);
        self.farewells.forget(id);
        host.settings.forget(id);
        self.bounds.leave_alone(id, &mut host.outlet);
        // Every connection closes at some time.
        if why != LeftAlone::Closing {
            host.outlet.observe(Observation::LeftAlone { conn: id, why });
        }
    }

    /// Whether a connection must not be changed because it is closing or gone. The engine may not know that
    /// yet.
    pub(crate) fn is_left_in_peace(&mut self, id: ConnId, host: &mut Host) -> bool {
        match self.flows.conn(id).map(|conn| conn.phase) {
            Some(Phase::Open) => {}
            Some(Phase::LeftAlone(why)) => return why == LeftAlone::Closing,
            Some(Phase::Fresh) | None => return false,
        }
        match host.sockets.ending(token_of(id)) {
            Some(Ending::Gone) => self.closed(id, host),
            Some(Ending::Closing) => self.leave_alone(id, LeftAlone::Closing, host),
            None => return false,
        }
        true
    }

    pub(crate) fn closed(&mut self, id: ConnId, host: &mut Host) {
        let Some(conn) = self.flows.close(id) else { return };
        self.joins.forget(id);
        host.settings.forget(id);
        self.farewells.forget(id);
        self.bounds.release(id, &mut host.outlet);
        self.cla.forget(id, &mut host.outlet);
        if conn.phase == Phase::Open {
            host.outlet.tell(Input::Conn(id, ConnEvent::Closed));
        }
    }

    /// Marks a subflow as accepted by the peer and tells the engine.
    pub(crate) fn proven(&mut self, id: SubflowId, host: &mut Host, links: &Links) {
        let Some(subflow) = self.flows.subflow_mut(id) else {
            return;
        };
        subflow.standing = Standing::Proven;
        self.introduce(id, host);
        self.bounds.levers.subflow_joined();
        self.bounds.mind_unattached(&self.flows, links, host);
        self.cla
            .maybe_handed_off(id, (&self.flows, links), &mut host.outlet);
    }

    /// Tells the engine about a proven subflow.
    pub(crate) fn introduce(&mut self, id: SubflowId, host: &mut Host) {
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
        host.outlet.observe(Observation::Subflow {
            subflow: id,
            conn,
            link,
            local,
            remote,
            address_id,
        });
        host.outlet.tell(Input::Subflow(id, event));
    }

    /// Handles the end of a known subflow. `change` is the kernel's event, if there was one.
    pub(crate) fn subflow_gone(
        &mut self,
        id: SubflowId,
        change: Option<&SubflowChange>,
        host: &mut Host,
        links: &Links,
    ) {
        let Some(subflow) = self.flows.subflow(id) else {
            return;
        };
        let (conn, link, standing) = (subflow.conn, subflow.link, subflow.standing);
        self.flows.end(id, Standing::Closed);
        self.priorities.forget(id);
        if standing == Standing::Proven {
            return host.outlet.tell(Input::Subflow(id, SubflowEvent::Closed));
        }
        // It was established, so a peer that closes it without an error has refused it.
        let refused = change.is_none_or(|change| change.error.is_none());
        let reason = if refused {
            JoinFailure::Refused
        } else {
            change.map_or(JoinFailure::Refused, reason)
        };
        self.join_failed(conn, link, reason, host, links);
    }

    /// Tells the engine that a join failed. If the connection is closing or the link has lost its address,
    /// nobody refused the join.
    pub(crate) fn join_failed(
        &mut self,
        conn: ConnId,
        link: LinkId,
        reason: JoinFailure,
        host: &mut Host,
        links: &Links,
    ) {
        if self.is_left_in_peace(conn, host) {
            return;
        }
        let is_there = links.get(link).is_some_and(Managed::usable);
        let reason = if is_there { reason } else { JoinFailure::Untimely };
        host.outlet
            .tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
    }

    /// Ends joins and unproven subflows whose deadlines have passed.
    pub(crate) fn give_up_waiting(&mut self, now: Instant, host: &mut Host, links: &Links) {
        while let Some(join) = self.joins.expired(now) {
            self.abandon(&join, host);
            self.join_failed(join.conn, join.link, JoinFailure::Timeout, host, links);
        }
        while let Some(id) = self.flows.unproven_since_long(now) {
            let Some(subflow) = self.flows.subflow(id) else {
                return;
            };
            let (conn, link) = (subflow.conn, subflow.link);
            if self.is_left_in_peace(conn, host) {
                continue;
            }
            self.destroy_quietly(id, host);
            self.join_failed(conn, link, JoinFailure::Timeout, host, links);
        }
    }

    /// Leaves connections alone to whose peers the user's routes now lead over another network, and ends the
    /// subflows added to them.
    pub(crate) fn leave_what_leads_elsewhere(&mut self, now: Instant, host: &mut Host, links: &Links) {
        let open = self.flows.conns().filter(|conn| conn.phase == Phase::Open);
        let open: Vec<(ConnId, IpAddr)> = open.map(|conn| (conn.id, conn.remote.ip())).collect();
        for (conn, peer) in open {
            if !host.routes.is_led_elsewhere(links, peer) {
                continue;
            }
            let added = self.flows.subflows_of(conn).filter(|subflow| !subflow.initial);
            for id in Vec::from_iter(added.map(|subflow| subflow.id)) {
                if let Err(error) = self.withdraw(now, id, host) {
                    host.outlet
                        .trouble("withdrawing the address of a subflow whose link is left", &error);
                }
                self.destroy_quietly(id, host);
            }
            self.leave_alone(conn, LeftAlone::Elsewhere, host);
        }
    }

    /// Ends the subflows of an address that is gone. The link itself stays, so the engine cannot know.
    pub(crate) fn address_lost(&mut self, link: LinkId, address: IpAddr, host: &mut Host, links: &Links) {
        let of_it =
            |subflow: &&Subflow| subflow.link == link && subflow.ends.local.ip().to_canonical() == address;
        let lost: Vec<SubflowId> = self
            .flows
            .living()
            .filter(of_it)
            .map(|subflow| subflow.id)
            .collect();
        for &id in &lost {
            host.outlet.tell(Input::Subflow(id, SubflowEvent::Closed));
            self.destroy_quietly(id, host);
        }
        for id in lost {
            if let Err(error) = self.withdraw(host.outlet.now, id, host) {
                host.outlet.trouble_on(
                    &links.name_of(link),
                    "withdrawing an address that is gone",
                    &error,
                );
            }
        }
    }
}

/// Returns why a subflow closed before it was proven. If no route leads to the peer here, the kernel refuses
/// the join itself. So an unreachable network was reported by a router on the way.
pub(crate) const fn reason(change: &SubflowChange) -> JoinFailure {
    let Some(errno) = change.error else {
        return if change.reset.is_some() {
            JoinFailure::Refused
        } else {
            JoinFailure::Timeout
        };
    };
    match errno as i32 {
        libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE => JoinFailure::Refused,
        libc::ENETDOWN | libc::EADDRNOTAVAIL | libc::ENODEV => JoinFailure::Local,
        _ => JoinFailure::Timeout,
    }
}
