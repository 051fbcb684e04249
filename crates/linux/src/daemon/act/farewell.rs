//! Ending subflows, and telling the peer.
//!
//! Ending this host's half (DESTROY) says nothing to a peer behind a dead path, and withdrawing the address (REMOVE: RM_ADDR)
//! says it once, over whichever subflow the kernel thinks alive. So the dead ones are ended first; but DESTROY makes the kernel
//! forget the address, and it must be announced anew to be withdrawn. The first address of a connection (identifier 0) cannot
//! be announced and need not be. The kernel drops an RM_ADDR, without an error, while an earlier word of the same connection still waits
//! to be sent: its counter `RmAddrTxDrop` tells, and the withdrawal is done again, ten times at most. A Linux peer drops an RM_ADDR that comes before its
//! worker has handled the last one (`mptcp_pm_rm_addr_received`), so the peer of one connection is told of one address at a time.
//!
//! # Sources
//! - RFC 8684 §3.4.2; net/mptcp/pm.c (`mptcp_pm_remove_addr`), net/mptcp/pm_userspace.c, Linux 6.18.
//!
//! # Checked by
//! `daemon::tests`: one dead link, two at once, the first address, a word that is lost, all with a server that counts RM_ADDR. `tests`: what the kernel drops.

use crate::daemon::act::conns::Conns;
use crate::daemon::act::error::ActError;
use crate::daemon::flows::book::{Standing, Subflow};
use crate::daemon::flows::names::{pair, token_of};
use crate::daemon::host::Host;
use crate::mptcp_pm::{AddressId, DestroySubflowError, LocalAddress, RemoveError, Token};
use crate::netstat;
use policy::{Action, ConnId, SubflowId};
use std::collections::BTreeMap;
use std::time::Duration;
use units::Instant;

const AGAIN: Duration = Duration::from_millis(10);
const TRIES: u32 = 10;
/// A Linux peer handles one RM_ADDR at a time, and drops the next, until its worker has run.
const PAUSE: Duration = Duration::from_millis(10);

/// A withdrawal that waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    conn: ConnId,
    subflow: SubflowId,
    tries: u32,
    at: Instant,
}

/// Withdrawals that wait for their time, or that the kernel has dropped.
#[derive(Debug)]
pub(crate) struct Farewells {
    waiting: Vec<Waiting>,
    /// When each connection's peer was last told.
    told: BTreeMap<ConnId, Instant>,
    dropped: u64,
}

/// Withdrawals (RM_ADDR) that were never sent, because an earlier word still waited; 0 where the kernel does not count.
fn never_sent() -> u64 {
    netstat::counted("MPTcpExt", "RmAddrTxDrop").unwrap_or(0)
}

impl Farewells {
    pub(crate) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            told: BTreeMap::new(),
            dropped: never_sent(),
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.at).min()
    }

    /// When this connection's peer can be told of another address.
    fn free_at(&self, now: Instant, conn: ConnId) -> Instant {
        let waiting = self
            .waiting
            .iter()
            .filter(|waiting| waiting.conn == conn)
            .map(|waiting| waiting.at);
        let last = waiting.chain(self.told.get(&conn).copied()).max();
        last.map_or(now, |last| now.max(last + PAUSE))
    }

    fn due(&mut self, now: Instant) -> Option<Waiting> {
        let at = self.waiting.iter().position(|waiting| waiting.at <= now)?;
        Some(self.waiting.remove(at))
    }

    /// This one has been said, and by now the kernel has dropped so many: again in a moment, if it was among them.
    fn said(&mut self, now: Instant, waiting: Waiting, dropped: u64) {
        self.told.insert(waiting.conn, now);
        if dropped > std::mem::replace(&mut self.dropped, dropped) && waiting.tries < TRIES {
            self.waiting.push(Waiting {
                tries: waiting.tries + 1,
                at: now + AGAIN,
                ..waiting
            });
        }
    }

    /// The connection is no more.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        self.waiting.retain(|waiting| waiting.conn != conn);
        self.told.remove(&conn);
    }
}

impl Conns {
    pub(crate) fn destroy(&mut self, id: SubflowId, host: &mut Host) -> Result<(), ActError> {
        let subflow = self
            .flows
            .subflow(id)
            .filter(|subflow| subflow.living())
            .ok_or(ActError::NoSubflow)?;
        let (conn, ends) = (subflow.conn, pair(&subflow.ends));
        self.priorities.forget(id);
        self.flows.end(id, Standing::Destroyed);
        let commands = &mut host.commands;
        let end = || commands.destroy_subflow(token_of(conn), &ends);
        let (ended, parted) = self.bounds.levers.parting(conn, ends.local.port(), end);
        if let Err(error) = parted {
            host.outlet
                .trouble("keeping the window while a subflow is ended", &error);
        }
        match ended {
            // It closed by itself; the event is on its way.
            Ok(()) | Err(DestroySubflowError::Absent { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a subflow that the engine does not know of.
    pub(crate) fn destroy_quietly(&mut self, id: SubflowId, host: &mut Host) {
        if let Err(error) = self.destroy(id, host) {
            host.outlet
                .trouble("ending a subflow that the peer did not confirm", &error);
        }
    }

    /// Tells the peer that a subflow's address is gone: now, or as soon as it can hear it.
    pub(crate) fn withdraw(&mut self, now: Instant, id: SubflowId, host: &mut Host) -> Result<(), ActError> {
        let conn = self.flows.subflow(id).ok_or(ActError::NoSubflow)?.conn;
        let at = self.farewells.free_at(now, conn);
        let waiting = Waiting {
            conn,
            subflow: id,
            tries: 1,
            at,
        };
        if at > now {
            self.farewells.waiting.push(waiting);
            return Ok(());
        }
        self.withdraw_now(now, waiting, host)
    }

    fn withdraw_now(&mut self, now: Instant, waiting: Waiting, host: &mut Host) -> Result<(), ActError> {
        self.withdraw_once(waiting.subflow, host)?;
        self.farewells.said(now, waiting, never_sent());
        Ok(())
    }

    fn withdraw_once(&mut self, id: SubflowId, host: &mut Host) -> Result<(), ActError> {
        let subflow = self.flows.subflow(id).ok_or(ActError::NoSubflow)?;
        let (conn, token) = (subflow.conn, token_of(subflow.conn));
        let address_id = AddressId(subflow.address_id);
        let addr = subflow.ends.local.ip().to_canonical();
        let ifindex = subflow.ends.ifindex;
        let same = |other: &Subflow| other.id != id && other.address_id == address_id.0;
        let rejoined = self.flows.subflows_of(conn).any(same) || self.joins.has_id(conn, address_id.0);
        if rejoined {
            return Err(ActError::JoinedAgain);
        }
        match host.commands.remove(token, address_id) {
            Err(RemoveError::UnknownId { .. }) if address_id != AddressId::INITIAL => self
                .announce_and_remove(
                    token,
                    LocalAddress {
                        addr,
                        id: address_id,
                        port: None,
                        ifindex,
                    },
                    host,
                ),
            result => Ok(result?),
        }
    }

    fn announce_and_remove(
        &mut self,
        token: Token,
        local: LocalAddress,
        host: &mut Host,
    ) -> Result<(), ActError> {
        host.commands.announce(token, &local)?;
        Ok(host.commands.remove(token, local.id)?)
    }

    /// Withdrawals whose time has come.
    pub(crate) fn say_farewells(&mut self, now: Instant, host: &mut Host) {
        while let Some(waiting) = self.farewells.due(now) {
            match self.withdraw_now(now, waiting, host) {
                // The connection is over or the subflow's address in use again: nothing left to say.
                Ok(()) | Err(ActError::NoSubflow | ActError::JoinedAgain) => {}
                Err(error) => host.outlet.failed(&Action::Withdraw(waiting.subflow), &error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(conn: u32, at: u64) -> Waiting {
        Waiting {
            conn: ConnId(conn),
            subflow: SubflowId(0),
            tries: 1,
            at: Instant::from_millis(at),
        }
    }

    /// The kernel has dropped three so far.
    fn nothing_waits() -> Farewells {
        Farewells {
            waiting: Vec::new(),
            told: BTreeMap::new(),
            dropped: 3,
        }
    }

    #[test]
    fn what_the_kernel_drops_is_said_again_until_it_is_sent() {
        let mut farewells = nothing_waits();
        farewells.said(Instant::from_millis(100), waiting(1, 100), 4);
        let again = Waiting {
            tries: 2,
            ..waiting(1, 110)
        };
        assert_eq!(farewells.wake_at(), Some(again.at));
        assert_eq!(farewells.due(again.at), Some(again));
        farewells.said(again.at, again, 4);
        assert_eq!(farewells.wake_at(), None);
    }

    #[test]
    fn what_the_kernel_always_drops_is_not_said_for_ever() {
        let mut farewells = nothing_waits();
        let (mut dropped, mut said) = (farewells.dropped, 0);
        farewells.waiting.push(waiting(1, 100));
        while let Some(at) = farewells.wake_at() {
            (dropped, said) = (dropped + 1, said + 1);
            let due = farewells.due(at).unwrap();
            farewells.said(at, due, dropped);
        }
        assert_eq!(said, TRIES);
    }

    #[test]
    fn a_peer_hears_one_word_at_a_time() {
        let mut farewells = nothing_waits();
        let now = Instant::from_millis(100);
        assert_eq!(farewells.free_at(now, ConnId(1)), now);
        farewells.told.insert(ConnId(1), now);
        assert_eq!(farewells.free_at(now, ConnId(1)), now + PAUSE);
        assert_eq!(farewells.free_at(now, ConnId(2)), now);
        farewells.waiting.push(waiting(1, 110));
        assert_eq!(farewells.free_at(now, ConnId(1)), now + PAUSE * 2);
        assert_eq!(farewells.due(Instant::from_millis(109)), None);
        assert_eq!(farewells.due(Instant::from_millis(110)), Some(waiting(1, 110)));
        farewells.forget(ConnId(1));
        assert_eq!(farewells.free_at(now, ConnId(1)), now);
    }
}
