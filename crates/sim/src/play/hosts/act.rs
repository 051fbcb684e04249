//! Carries out the engine's actions on the client's host and on the links.
//!
//! # Where we differ, and why
//! 1. `CapPacing`, `Outlook` and `HandedOff` change nothing. They act on congestion controllers that pace or
//!    hear signals, and no sender here does.

use super::endpoints::Step;
use super::world::World;
use links::Input as Order;
use policy::{Action, ConnId, Input, JoinFailure, LinkId, RemoteId, SubflowEvent, SubflowId};
use thiserror::Error;

/// Subflows that a stock client adds to a connection by itself (`ip mptcp limits`).
const MOST_SUBFLOWS: usize = 8;

/// Why an action was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum ActError {
    /// The subflow is gone.
    #[error("the subflow is gone")]
    NoSubflow,
    /// The connection is gone.
    #[error("the connection is gone")]
    NoConnection,
    /// The link has no address.
    #[error("the link has no address")]
    NoWay,
    /// Another subflow has the address that would be withdrawn.
    #[error("the link has been joined again")]
    JoinedAgain,
    /// No host in virtual time can do it.
    #[error("virtual time cannot {0}")]
    Unable(&'static str),
}

const fn wire(link: LinkId) -> links::LinkId {
    links::LinkId(link.0)
}

impl World<'_> {
    /// Carries out one action.
    pub(super) fn carry_out(&mut self, action: &Action) -> Result<(), ActError> {
        match *action {
            Action::Associate(link) => self.associate(link),
            Action::Leave(link) => {
                self.carrier.handle(self.now, Order::Leave(wire(link)));
                self.stop_serving(link);
            }
            Action::Slots(_, ref slots) => self.take_turns(slots),
            Action::DefaultRoute(family, link) => self.routes[family as usize] = link,
            Action::Endpoint(link, wanted) => {
                let conns: Vec<ConnId> = self.book.conns().collect();
                let steps = self.endpoints.set(link, wanted, &conns);
                self.manage(&steps);
            }
            Action::Join {
                conn,
                link,
                remote,
                backup,
            } => self.join(conn, link, remote, backup),
            Action::SetBackup { subflow, backup } => self.set_backup(subflow, backup)?,
            Action::Destroy(subflow) => {
                let known = self.book.living(subflow).ok_or(ActError::NoSubflow)?;
                self.end(subflow, known.conn);
            }
            Action::Withdraw(subflow) => self.withdraw(subflow)?,
            Action::Probe { link, probe, .. } => {
                if !self.plugs.is_usable(link) {
                    return Err(ActError::NoWay);
                }
                let family = self.versions.over(usize::from(link.0));
                self.client.probe(self.now, wire(link), family, probe, true);
            }
            Action::Window(conn, window) => {
                let capped = self
                    .client
                    .act(self.now, conn.0, |connection, _| connection.cap_window(window));
                capped.ok_or(ActError::NoConnection)?;
            }
            Action::Unsent(conn, unsent) => {
                let capped = self
                    .client
                    .act(self.now, conn.0, |connection, _| connection.cap_unsent(unsent));
                capped.ok_or(ActError::NoConnection)?;
            }
            Action::Mark(link, rate) => self.client.mark_arriving(wire(link), rate),
            Action::MarkSent(link, rate) => self.client.mark_leaving(wire(link), rate),
            Action::CapPacing { .. } | Action::Outlook(..) | Action::HandedOff(_) | Action::Note(_) => {}
            Action::Ask { .. } => return Err(ActError::Unable("probe hosts that programs reach")),
            Action::Check(_) => return Err(ActError::Unable("check for captive portals")),
            Action::Assign(flow, link) => self.assign(flow, link)?,
            Action::EndFlow(flow) => self.end_flow(flow)?,
            // Its application waits until the link is assigned.
            Action::Hold(_) => {}
            // Flows that move while they are open. No flow of a scenario does.
            _ => return Err(ActError::Unable("give a flow its own network")),
        }
        Ok(())
    }

    /// Joins a connection over a link, or tells the engine why not.
    fn join(&mut self, conn: ConnId, link: LinkId, remote: RemoteId, backup: bool) {
        let is_same = |input: &Input| {
            matches!(*input, Input::Subflow(_, SubflowEvent::Established { conn: of, link: over, .. })
                if (of, over) == (conn, link))
        };
        // The engine is about to hear of such a subflow.
        if self.facts.iter().any(is_same) {
            return;
        }
        let connection = self.client.connection(conn.0);
        let is_joinable = connection.is_some_and(|connection| connection.is_joinable());
        if !is_joinable || !self.book.is_open(conn) || !self.plugs.is_usable(link) {
            return self.join_failed(conn, link, JoinFailure::Untimely);
        }
        let family = self.versions.of(remote);
        if !self.versions.has(usize::from(link.0), family) {
            return self.join_failed(conn, link, JoinFailure::NoAddress);
        }
        let (now, path) = (self.now, self.addresses.path(link, family));
        self.book.join(now, conn, path, backup);
        self.client.act(now, conn.0, |connection, out| {
            connection.join(now, path, backup, out)
        });
    }

    fn set_backup(&mut self, id: SubflowId, backup: bool) -> Result<(), ActError> {
        let subflow = self.book.living(id).ok_or(ActError::NoSubflow)?;
        self.book.set_backup(id, backup);
        let set = self.client.act(self.now, subflow.conn.0, |connection, _| {
            connection.set_backup(id, backup)
        });
        set.ok_or(ActError::NoConnection)
    }

    /// Tells the peer that the address of a subflow is gone, unless another one has it now.
    fn withdraw(&mut self, id: SubflowId) -> Result<(), ActError> {
        let subflow = self.book.subflow(id).ok_or(ActError::NoSubflow)?;
        let conn = subflow.conn;
        if self.book.has_again(id, &subflow) {
            return Err(ActError::JoinedAgain);
        }
        let withdrawn = self.client.act(self.now, conn.0, |connection, _| {
            connection.withdraw(subflow.path)
        });
        withdrawn.ok_or(ActError::NoConnection)
    }

    /// Carries out what a stock kernel's path manager does.
    pub(super) fn manage(&mut self, steps: &[Step]) {
        for &step in steps {
            match step {
                Step::Join(conn, link) => self.join_as_kernel(conn, link, RemoteId::FIRST),
                Step::Part(conn, link) => self.part_as_kernel(conn, link),
            }
        }
    }

    /// A kernel leaves out links without an address of the peer's family.
    pub(super) fn join_as_kernel(&mut self, conn: ConnId, link: LinkId, remote: RemoteId) {
        let connection = self.client.connection(conn.0);
        let is_joinable = connection.is_some_and(|connection| connection.is_joinable());
        let joined = self.book.of(conn).filter(|(_, subflow)| !subflow.initial);
        let has_room = joined.count() < MOST_SUBFLOWS;
        let is_there = self.book.of(conn).any(|(_, subflow)| subflow.link() == link);
        let has_way = self.versions.has(usize::from(link.0), self.versions.of(remote));
        if is_joinable && has_room && has_way && !is_there && !self.book.is_joining(conn, link) {
            self.join(conn, link, remote, false);
        }
    }

    fn part_as_kernel(&mut self, conn: ConnId, link: LinkId) {
        let own = self.book.of(conn).filter(|(_, subflow)| subflow.link() == link);
        let own: Vec<_> = own.collect();
        for (id, subflow) in own {
            let path = subflow.path;
            self.end(id, conn);
            self.tell(Input::Subflow(id, SubflowEvent::Closed));
            self.client
                .act(self.now, conn.0, |connection, _| connection.withdraw(path));
        }
    }
}
