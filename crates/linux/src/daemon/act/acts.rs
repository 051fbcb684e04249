//! Carrying out what the engine asks for.
//!
//! Every action is carried out or handed to the kernel before the next one is looked at, so they reach the peer in the
//! engine's order. What fails is observed; where the engine waits for an outcome (a join), it is told of the failure too.

use crate::bpf::{Hook, PacedSubflow};
use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::api::setup::Association;
use crate::daemon::ask::probes::ProbeError;
use crate::daemon::bound::caps::Cap;
use crate::daemon::bound::levers::LeverError;
use crate::daemon::bound::marks::MarkError;
use crate::daemon::drive::world::World;
use crate::daemon::flows::book::Phase;
use crate::daemon::flows::joins::Join;
use crate::daemon::flows::names::pair;
use crate::daemon::flows::names::token_of;
use crate::daemon::host::endpoints::EndpointError;
use crate::daemon::links::managed::Managed;
use crate::journal::SetSysctlError;
use crate::mptcp_pm::{self, AddressId, CreateSubflowError, NewSubflow};
use policy::{Action, Ahead, ConnEvent, ConnId, Input, JoinFailure, LinkId, SubflowEvent, SubflowId};
use std::net::SocketAddr;
use thiserror::Error;
use units::{Bitrate, Instant, Ratio};

/// Why an action could not be carried out.
#[derive(Debug, Error)]
pub(crate) enum ActError {
    /// The link went away between the decision and the act.
    #[error("the link is gone or has no address of this family; it is tried again when it has one")]
    NoWay,
    /// The user's routes lead to the peer by a network of its own.
    #[error("the user's routes lead to its peer by a network of its own, not over this link")]
    Elsewhere,
    /// The connection went away between the decision and the act.
    #[error("the connection is gone")]
    NoConnection,
    /// The subflow went away between the decision and the act.
    #[error("the subflow is gone")]
    NoSubflow,
    /// The peer wants joins elsewhere, and has not said where.
    #[error("the server wants no joins at its first address and has announced no other")]
    NotJoinable,
    /// The address is in use again.
    #[error("its address has been joined again since; withdrawing it now would end the new subflow")]
    JoinedAgain,
    /// The kernel refused a join.
    #[error(transparent)]
    Create(#[from] CreateSubflowError),
    /// The kernel refused to end a subflow.
    #[error(transparent)]
    Destroy(#[from] mptcp_pm::DestroySubflowError),
    /// The kernel refused to announce an address.
    #[error(transparent)]
    Announce(#[from] mptcp_pm::AnnounceError),
    /// The kernel refused to withdraw an address.
    #[error(transparent)]
    Remove(#[from] mptcp_pm::RemoveError),
    /// The kernel refused to change a priority.
    #[error(transparent)]
    SetBackup(#[from] mptcp_pm::SetBackupError),
    /// An endpoint of the kernel's own path manager.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The kernel does not tell a connection's addresses.
    #[error(transparent)]
    ListEndpoints(#[from] mptcp_pm::ListEndpointsError),
    /// A probe could not be sent.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The engine was told of something that this world does not have.
    #[error("this daemon cannot {0}; leave out what makes the engine ask for it")]
    NotHere(&'static str),
    /// Packets of a link could not be marked.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// A lever could not be pulled.
    #[error(transparent)]
    Lever(#[from] LeverError),
    /// The receive buffer of later connections could not be set.
    #[error(transparent)]
    Buffer(#[from] SetSysctlError),
}

impl World {
    /// Carries out one action.
    pub(crate) fn carry_out(&mut self, now: Instant, action: &Action) -> Result<(), ActError> {
        if self
            .changes_subflows_of(action)
            .is_some_and(|conn| self.is_left_in_peace(conn))
        {
            return Ok(());
        }
        match *action {
            Action::Associate(link) => {
                (self.associate)(Association::Join(link));
                Ok(())
            }
            Action::Leave(link) => {
                (self.associate)(Association::Leave(link));
                Ok(())
            }
            Action::DefaultRoute(family, link) => {
                self.begin_connections_on(now, family, link);
                Ok(())
            }
            Action::Endpoint(link, wanted) => {
                let (links, ids) = (&self.links, &mut self.ids);
                Ok(self.endpoints.set(&mut self.host, links, ids, (link, wanted))?)
            }
            Action::Join { conn, link, backup } => self.join(now, conn, link, backup),
            Action::SetBackup { subflow, backup } => self.set_backup(now, subflow, backup),
            Action::Destroy(subflow) => self.destroy(subflow),
            Action::Withdraw(subflow) => self.withdraw(now, subflow),
            Action::Probe { link, conn, probe } => self.probe(now, link, conn, probe),
            Action::Ask {
                link,
                host,
                probe,
                gently,
            } => {
                let asked = (host, (probe, gently));
                let means = (&self.links, &mut self.probes);
                self.idle.ask(now, link, asked, means, &mut self.host);
                Ok(())
            }
            Action::Check(link) => {
                let (links, outlet) = (&self.links, &mut self.host.outlet);
                self.checks.check(link, links, &self.idle, outlet);
                Ok(())
            }
            Action::Window(conn, window) => self.bound_window(conn, window),
            Action::Unsent(conn, unsent) => {
                self.still_open(conn)?;
                Ok(self
                    .bounds
                    .levers
                    .unsent(conn, unsent, &mut self.host.settings.journal)?)
            }
            Action::CapPacing { subflow, rate, lasts } => self.cap_pacing(subflow, rate, now + lasts),
            Action::Mark(link, rate) => self.mark(link, rate, Hook::Ingress),
            Action::MarkSent(link, rate) => self.mark(link, rate, Hook::Egress),
            Action::Slots(..) => Err(ActError::NotHere("divide a radio's time")),
            Action::Assign(..) | Action::Hold(_) | Action::EndFlow(_) => {
                Err(ActError::NotHere("give single flows a network"))
            }
            Action::Outlook(link, ref outlook) => {
                self.outlook(now, link, outlook);
                Ok(())
            }
            Action::Note(ref note) => {
                self.bounds.marks.remember(note);
                Ok(())
            }
        }
    }

    /// The connection whose subflows an action would change.
    fn changes_subflows_of(&self, action: &Action) -> Option<ConnId> {
        match *action {
            Action::Join { conn, .. } => Some(conn),
            Action::SetBackup { subflow, .. } | Action::Destroy(subflow) | Action::Withdraw(subflow) => {
                Some(self.flows.subflow(subflow)?.conn)
            }
            _ => None,
        }
    }

    fn join(&mut self, now: Instant, conn: ConnId, link: LinkId, backup: bool) -> Result<(), ActError> {
        if self.is_about_to_hear_of(conn, link) {
            return Ok(());
        }
        let joined = self.try_join(now, conn, link, backup);
        match &joined {
            Ok(()) => {}
            Err(ActError::Create(CreateSubflowError::NotUserspace { .. })) => {
                // Nothing else tells whose a connection is, and that it is left alone is said.
                self.leave_alone(conn, LeftAlone::KernelManaged);
                return Ok(());
            }
            Err(ActError::Create(CreateSubflowError::ConnectionGone { .. })) => self.closed(conn),
            Err(error) => {
                let reason = self.why_not_joined(error, link);
                self.host
                    .outlet
                    .tell(Input::Conn(conn, ConnEvent::JoinFailed { link, reason }));
                // Nothing is wrong: it is tried again, or the engine says why not.
                if reason != JoinFailure::Local {
                    return Ok(());
                }
            }
        }
        joined
    }

    /// What went away or is not ready yet between the decision and the act has not been refused.
    pub(crate) fn why_not_joined(&self, error: &ActError, link: LinkId) -> JoinFailure {
        match error {
            ActError::NoWay if self.links.get(link).is_some_and(Managed::usable) => JoinFailure::NoAddress,
            ActError::NoWay
            | ActError::NoConnection
            | ActError::NotJoinable
            | ActError::Create(
                CreateSubflowError::NotEstablished { .. } | CreateSubflowError::AddressGone { .. },
            ) => JoinFailure::Untimely,
            ActError::Elsewhere => JoinFailure::Elsewhere,
            _ => JoinFailure::Local,
        }
    }

    /// Connections that are found have several subflows, of which the engine hears one by one.
    fn is_about_to_hear_of(&self, wanted: ConnId, over: LinkId) -> bool {
        self.host.outlet.facts.iter().any(|input| {
            matches!(*input, Input::Subflow(_, SubflowEvent::Established { conn, link, .. }) if (conn, link) == (wanted, over))
        })
    }

    fn try_join(&mut self, now: Instant, conn: ConnId, link: LinkId, backup: bool) -> Result<(), ActError> {
        let remote = self
            .flows
            .conn(conn)
            .ok_or(ActError::NoConnection)?
            .joinable
            .ok_or(ActError::NotJoinable)?;
        let managed = self.links.get(link).ok_or(ActError::NoWay)?;
        let way = managed.way(remote.is_ipv6()).ok_or(ActError::NoWay)?;
        let (local, ifindex) = (way.address.addr(), managed.ifindex);
        if self
            .host
            .routes
            .leads_elsewhere(&self.links, remote.ip(), way.ifindex)
        {
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
        )?;
        self.joins.add(
            now,
            Join {
                conn,
                link,
                local,
                address_id: id.0,
                backup,
            },
        );
        Ok(())
    }

    /// Asks for a subflow that can take as much as its connection. One whose buffer stays small is better than none.
    fn create(&mut self, conn: ConnId, new: &NewSubflow) -> Result<(), CreateSubflowError> {
        let token = token_of(conn);
        let buffer = self.host.sockets.receive_buffer(token);
        let (settings, commands) = (&mut self.host.settings, &mut self.host.commands);
        let clamp = self.bounds.levers.clamped_to(conn);
        let (created, given) = settings.with_buffer(buffer, clamp, || commands.create_subflow(token, new));
        if let Err(error) = given {
            self.host.outlet.trouble(
                "giving a new subflow the receive buffer of its connection",
                &error,
            );
        }
        created
    }

    /// The same. A connection that an earlier daemon looked after knows the address by another identifier: then that one.
    fn create_as_known(&mut self, conn: ConnId, new: NewSubflow) -> Result<AddressId, ActError> {
        let token = token_of(conn);
        match self.create(conn, &new) {
            Ok(()) => Ok(new.id),
            Err(CreateSubflowError::IdConflict { .. }) => {
                let known = self.host.commands.addresses_of(token)?;
                let id = match known.iter().find(|known| known.addr == new.addr) {
                    Some(known) => known.id,
                    None => {
                        self.host.commands.remove(token, new.id)?;
                        new.id
                    }
                };
                self.create(conn, &NewSubflow { id, ..new })?;
                Ok(id)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn cap_pacing(&mut self, id: SubflowId, rate: Bitrate, until: Instant) -> Result<(), ActError> {
        let subflow = self.flows.subflow(id).filter(|subflow| subflow.living());
        let (conn, local) = subflow
            .map(|subflow| (subflow.conn, subflow.ends.local))
            .ok_or(ActError::NoSubflow)?;
        self.still_open(conn)?;
        let subflow = PacedSubflow {
            conn,
            local_port: local.port(),
        };
        let cap = Cap { subflow, rate, until };
        Ok(self
            .bounds
            .levers
            .cap_pacing(cap, &mut self.host.settings.journal)?)
    }

    fn set_backup(&mut self, now: Instant, id: SubflowId, backup: bool) -> Result<(), ActError> {
        self.priorities.forget(id);
        match self.try_set_backup(id, backup) {
            Err(ActError::SetBackup(mptcp_pm::SetBackupError::NotReady { .. })) => {
                self.priorities.later(now, id, backup);
                Ok(())
            }
            result => result,
        }
    }

    fn try_set_backup(&mut self, id: SubflowId, backup: bool) -> Result<(), ActError> {
        let living = |subflow: &&mut crate::daemon::flows::book::Subflow| subflow.living();
        let subflow = self
            .flows
            .subflow_mut(id)
            .filter(living)
            .ok_or(ActError::NoSubflow)?;
        self.host
            .commands
            .set_backup(token_of(subflow.conn), &pair(&subflow.ends), backup)?;
        subflow.backup = backup;
        Ok(())
    }

    /// Changes of priority that the kernel would not take before.
    pub(crate) fn set_priorities(&mut self, now: Instant, doubted: &[LinkId]) {
        while let Some(wanted) = self.priorities.due(now) {
            let subflow = self.flows.subflow(wanted.subflow);
            if subflow.is_some_and(|subflow| subflow.living() && doubted.contains(&subflow.link)) {
                self.priorities.put_off(now, wanted);
                continue;
            }
            let result = self.try_set_backup(wanted.subflow, wanted.backup);
            if let Err(error) = result
                && !(is_not_ready(&error) && self.priorities.again(now, wanted))
            {
                let action = Action::SetBackup {
                    subflow: wanted.subflow,
                    backup: wanted.backup,
                };
                self.host.outlet.failed(&action, &error);
            }
        }
    }

    /// Bounds how far ahead the peer may queue; where that cannot be done, how far the peers of later connections may.
    fn bound_window(&mut self, conn: ConnId, ahead: Option<Ahead>) -> Result<(), ActError> {
        self.still_open(conn)?;
        let bounded = self
            .bounds
            .levers
            .window(conn, ahead, &mut self.host.settings.journal);
        self.bounds
            .mind_unattached(&self.flows, &self.links, &mut self.host);
        match (bounded, ahead) {
            (Err(LeverError::NotLoaded { .. }), Some(ahead)) => {
                Ok(self.host.settings.bound_new_connections(conn, ahead.usual())?)
            }
            (result, _) => Ok(result?),
        }
    }

    /// The bounds of one that closed or is left alone were released at once; the engine may decide on it until it hears that.
    fn still_open(&self, conn: ConnId) -> Result<(), ActError> {
        let open = self.flows.conn(conn).filter(|conn| conn.phase == Phase::Open);
        open.map(drop).ok_or(ActError::NoConnection)
    }

    /// Marks a share of what arrives by a link, or of what leaves. One that has lost its interface carries nothing.
    fn mark(&mut self, link: LinkId, rate: Ratio, hook: Hook) -> Result<(), ActError> {
        let ifindex = self.links.get(link).and_then(|managed| managed.ifindex);
        match ifindex {
            Some(ifindex) => Ok(self.bounds.marks.set(link, ifindex, rate, hook)?),
            None if rate == Ratio::ZERO => Ok(()),
            None => Err(ActError::NoWay),
        }
    }

    fn probe(&mut self, now: Instant, link: LinkId, conn: ConnId, probe: u32) -> Result<(), ActError> {
        let peer = self.peer_of(conn)?;
        let managed = self.links.get(link);
        let way = managed.and_then(|link| link.way(peer.is_ipv6()));
        let way = way.ok_or(ActError::NoWay)?;
        let sent = self.probes.ask(now, (link, &way), peer, Some(probe));
        Ok(sent.map_err(ProbeError::from)?)
    }

    /// Where probes of a connection go.
    fn peer_of(&self, conn: ConnId) -> Result<SocketAddr, ActError> {
        let conn = self.flows.conn(conn).ok_or(ActError::NoConnection)?;
        Ok(conn.joinable.unwrap_or(conn.remote))
    }
}

const fn is_not_ready(error: &ActError) -> bool {
    matches!(
        error,
        ActError::SetBackup(mptcp_pm::SetBackupError::NotReady { .. })
    )
}
