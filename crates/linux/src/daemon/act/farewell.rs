//! Ends subflows and tells the peer.
//!
//! Ending this host's half (DESTROY) sends nothing to a peer behind a dead path. Withdrawing the address
//! (REMOVE) sends RM_ADDR once, over whichever subflow the kernel thinks alive. So the dead ones are ended
//! first. But DESTROY makes the kernel forget the address, so the address must be announced anew before it
//! can be withdrawn. The first address of a connection (identifier 0) cannot be announced and need not be.
//!
//! The kernel drops an RM_ADDR, without an error, while an earlier announcement or withdrawal of the same
//! connection is still to be sent. Its counter `RmAddrTxDrop` shows that, and the withdrawal is repeated, 10
//! times at most. A Linux peer drops an RM_ADDR that arrives before its worker has handled the last one
//! (`mptcp_pm_rm_addr_received`). So one address at a time is withdrawn per connection.
//!
//! # Sources
//! - RFC 8684 §3.4.2; net/mptcp/pm.c (`mptcp_pm_remove_addr`), net/mptcp/pm_userspace.c, Linux 6.18.
//!
//! # Checked by
//! `daemon::tests`: one dead link, two at once, the first address, a lost RM_ADDR, all with a server that
//! counts RM_ADDR. `tests`: what the kernel drops.

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
/// Pause between two withdrawals on one connection. A Linux peer drops an RM_ADDR that comes before its
/// worker has handled the last one.
const PAUSE: Duration = Duration::from_millis(10);

/// A withdrawal to be sent later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    conn: ConnId,
    subflow: SubflowId,
    tries: u32,
    at: Instant,
}

/// Withdrawals to be sent later, for the first time or because the kernel dropped them.
#[derive(Debug)]
pub(crate) struct Farewells {
    waiting: Vec<Waiting>,
    /// When each connection's peer was last sent an RM_ADDR.
    told: BTreeMap<ConnId, Instant>,
    dropped: u64,
}

/// Withdrawals (RM_ADDR) that the kernel dropped because an earlier announcement or withdrawal was still to
/// be sent. 0 if the kernel does not count them.
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

    /// When the next withdrawal may be sent on this connection.
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

    /// Records a sent withdrawal. If `dropped`, the kernel's count, has grown, schedules it again.
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

    /// Removes all state of a closed connection.
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
                .trouble("keeping the window while a subflow is closed", &error);
        }
        match ended {
            // It closed by itself. Its event is still to come.
            Ok(()) | Err(DestroySubflowError::Absent { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a subflow that the engine does not know.
    pub(crate) fn destroy_quietly(&mut self, id: SubflowId, host: &mut Host) {
        if let Err(error) = self.destroy(id, host) {
            host.outlet
                .trouble("closing a subflow that the peer did not confirm", &error);
        }
    }

    /// Tells the peer that a subflow's address is gone: now, or once the peer has handled the last
    /// withdrawal.
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

    /// Sends the withdrawals that are due.
    pub(crate) fn say_farewells(&mut self, now: Instant, host: &mut Host) {
        while let Some(waiting) = self.farewells.due(now) {
            match self.withdraw_now(now, waiting, host) {
                // The connection is over, or the address is in use again: nothing to withdraw.
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

    /// No pending withdrawals. The kernel has dropped three so far.
    fn nothing_waits() -> Farewells {
        Farewells {
            waiting: Vec::new(),
            told: BTreeMap::new(),
            dropped: 3,
        }
    }

    #[test]
    fn dropped_withdrawals_are_repeated_until_sent() {
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
    fn a_withdrawal_that_is_always_dropped_is_given_up() {
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
    fn a_peer_gets_one_withdrawal_at_a_time() {
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
