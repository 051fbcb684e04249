//! Joins connections over further links, and ends joins that got no reply.

use crate::daemon::act::conns::Conns;
use crate::daemon::act::error::ActError;
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::flows::book::Standing;
use crate::daemon::flows::joins::Join;
use crate::daemon::flows::names::token_of;
use crate::daemon::host::Host;
use crate::daemon::host::outlet::Outlet;
use crate::daemon::links::book::Links;
use crate::daemon::links::managed::Managed;
use crate::mptcp_pm::{AddressId, CreateSubflowError, DestroySubflowError, NewSubflow, Subflow};
use policy::{ConnEvent, ConnId, Input, JoinFailure, LinkId, RemoteId, SubflowEvent};
use units::Instant;

/// A join that the engine asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) conn: ConnId,
    pub(crate) link: LinkId,
    pub(crate) remote: RemoteId,
    pub(crate) backup: bool,
}

impl Wanted {
    pub(crate) const fn new((conn, link): (ConnId, LinkId), remote: RemoteId, backup: bool) -> Self {
        Self {
            conn,
            link,
            remote,
            backup,
        }
    }
}

impl Conns {
    pub(crate) fn join(
        &mut self,
        now: Instant,
        wanted: Wanted,
        host: &mut Host,
        links: &Links,
    ) -> Result<(), ActError> {
        let Wanted { conn, link, .. } = wanted;
        if is_about_to_hear_of(&host.outlet, conn, link) {
            return Ok(());
        }
        self.drop_earlier(conn, link, host);
        let joined = self.try_join(now, wanted, host, links);
        match &joined {
            Ok(()) => {}
            Err(ActError::Create(CreateSubflowError::NotUserspace { .. })) => {
                // Nothing else shows who manages a connection. That it is left alone is reported.
                self.leave_alone(conn, LeftAlone::KernelManaged, host);
                return Ok(());
            }
            Err(ActError::Create(CreateSubflowError::ConnectionGone { .. })) => self.closed(conn, host),
            Err(error) => {
                if matches!(error, ActError::Create(CreateSubflowError::SocketFamily { .. })) {
                    self.of_one_family(conn, &mut host.outlet);
                }
                let reason = why_not_joined(error, link, links);
                host.outlet
                    .tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
                // This is no fault: the engine tries again, or says why it does not.
                if reason != JoinFailure::Local {
                    return Ok(());
                }
            }
        }
        joined
    }

    /// Ends joins over this link that have no result yet: the engine has given them up.
    fn drop_earlier(&mut self, conn: ConnId, link: LinkId, host: &mut Host) {
        while let Some(join) = self.joins.take_over(conn, link) {
            self.abandon(&join, host);
        }
        let subflows = self.flows.subflows_of(conn);
        let unproven = subflows
            .filter(|subflow| subflow.link == link && matches!(subflow.standing, Standing::Unproven { .. }));
        for id in Vec::from_iter(unproven.map(|subflow| subflow.id)) {
            self.destroy_quietly(id, host);
        }
        let is_of_it = |input: &Input| matches!(*input, Input::Conn(id, ConnEvent::JoinFailed { link: over, .. }) if (id, over) == (conn, link));
        host.outlet.facts.retain(|input| !is_of_it(input));
    }

    /// The kernel has refused a join because the program's socket has subflows of one family only.
    fn of_one_family(&mut self, id: ConnId, outlet: &mut Outlet) {
        let conn = self.flows.conn_mut(id);
        let useless = conn.map(|conn| conn.remotes.mixes_no_families());
        for remote in useless.unwrap_or_default() {
            outlet.tell(Input::Conn(id, ConnEvent::RemoteGone(remote)));
        }
    }

    fn try_join(
        &mut self,
        now: Instant,
        wanted: Wanted,
        host: &mut Host,
        links: &Links,
    ) -> Result<(), ActError> {
        let Wanted {
            conn, link, backup, ..
        } = wanted;
        let known = &self.flows.conn(conn).ok_or(ActError::NoConnection)?.remotes;
        let remote = known.address(wanted.remote).ok_or(ActError::NotJoinable)?;
        let managed = links.get(link).ok_or(ActError::NoWay)?;
        let way = managed.way(remote.is_ipv6()).ok_or(ActError::NoWay)?;
        let (local, ifindex) = (way.address.addr(), managed.ifindex);
        if host.routes.leads_elsewhere(links, remote.ip(), way.ifindex) {
            return Err(ActError::Elsewhere);
        }
        let id = AddressId(self.ids.of(link, local));
        let id = self.create_as_known(
            conn,
            NewSubflow {
                addr: local,
                id,
                ifindex,
                backup,
                remote,
            },
            host,
        )?;
        self.joins.add(
            now,
            Join {
                conn,
                link,
                local,
                remote,
                address_id: id.0,
                backup,
            },
        );
        Ok(())
    }

    /// Creates a subflow with the receive buffer of its connection. If the buffer cannot be set, creates the
    /// subflow all the same.
    fn create(&mut self, conn: ConnId, new: &NewSubflow, host: &mut Host) -> Result<(), CreateSubflowError> {
        let token = token_of(conn);
        let buffer = host.sockets.receive_buffer(token);
        let (settings, commands) = (&mut host.settings, &mut host.commands);
        let clamp = self.bounds.levers.clamped_to(conn);
        let (created, given) = settings.with_buffer(buffer, clamp, || commands.create_subflow(token, new));
        if let Err(error) = given {
            host.outlet.trouble(
                "giving a new subflow the receive buffer of its connection",
                &error,
            );
        }
        created
    }

    /// Creates the subflow. If an earlier daemon gave this address another identifier in the connection, uses
    /// that one.
    fn create_as_known(
        &mut self,
        conn: ConnId,
        new: NewSubflow,
        host: &mut Host,
    ) -> Result<AddressId, ActError> {
        let token = token_of(conn);
        match self.create(conn, &new, host) {
            Ok(()) => Ok(new.id),
            Err(CreateSubflowError::IdConflict { .. }) => {
                let known = host.commands.addresses_of(token)?;
                let id = match known.iter().find(|known| known.addr == new.addr) {
                    Some(known) => known.id,
                    None => {
                        host.commands.remove(token, new.id)?;
                        new.id
                    }
                };
                self.create(conn, &NewSubflow { id, ..new }, host)?;
                Ok(id)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the SYN_SENT half of a join that got no reply. Otherwise the kernel would retransmit the SYN for
    /// two minutes.
    pub(crate) fn abandon(&mut self, join: &Join, host: &mut Host) {
        let remote = join.remote;
        let local_ports = match host.sockets.connecting(join.local, remote) {
            Ok(ports) => ports,
            Err(error) => {
                return host.outlet.trouble("looking up a join without a reply", &error);
            }
        };
        for port in local_ports {
            let ends = Subflow {
                local: (join.local, port).into(),
                remote,
            };
            match host.commands.destroy_subflow(token_of(join.conn), &ends) {
                Ok(())
                | Err(DestroySubflowError::Absent { .. } | DestroySubflowError::ConnectionGone { .. }) => {}
                Err(error) => host.outlet.trouble("closing a join without a reply", &error),
            }
        }
    }
}

/// Maps the error to the reason for the engine. If something went away or is not ready yet, nobody has
/// refused the join.
pub(crate) fn why_not_joined(error: &ActError, link: LinkId, links: &Links) -> JoinFailure {
    match error {
        ActError::NoWay if links.get(link).is_some_and(Managed::usable) => JoinFailure::NoAddress,
        ActError::NoWay
        | ActError::NoConnection
        | ActError::NotJoinable
        | ActError::Create(
            CreateSubflowError::NotEstablished { .. }
            | CreateSubflowError::AddressGone { .. }
            | CreateSubflowError::SocketFamily { .. },
        ) => JoinFailure::Untimely,
        ActError::Elsewhere => JoinFailure::Elsewhere,
        _ => JoinFailure::Local,
    }
}

/// Whether a fact about such a subflow is already queued for the engine. A connection found in a list has
/// several subflows, and the engine processes them one by one.
fn is_about_to_hear_of(outlet: &Outlet, wanted: ConnId, over: LinkId) -> bool {
    outlet.facts.iter().any(|input| {
        matches!(*input, Input::Subflow(_, SubflowEvent::Established { conn, link, .. }) if (conn, link) == (wanted, over))
    })
}
