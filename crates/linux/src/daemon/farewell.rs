//! Ending subflows, and telling the peer.
//!
//! Ending this host's half (DESTROY) says nothing to a peer behind a dead path, and withdrawing the address (REMOVE: RM_ADDR)
//! says it once, over whichever subflow the kernel thinks alive. So the dead ones are ended first; but DESTROY makes the kernel
//! forget the address, and it must be announced anew to be withdrawn. The first address of a connection (identifier 0) cannot
//! be announced and need not be. The kernel drops an RM_ADDR, without an error, while an earlier word of the same connection still waits
//! to be sent: its counter `RmAddrTxDrop` tells, and the withdrawal is done again.
//!
//! # Sources
//! - RFC 8684 §3.4.2; net/mptcp/pm.c (`mptcp_pm_remove_addr`), net/mptcp/pm_userspace.c, Linux 6.18.
//!
//! # Checked by
//! `daemon::tests`: one dead link, two at once, the first address, all with a server that counts RM_ADDR.

use super::acts::ActError;
use super::flows::{Standing, pair};
use super::joins::Join;
use super::peers::token_of;
use super::world::World;
use super::{Duration, mib};
use crate::mptcp_pm::{AddressId, DestroySubflowError, LocalAddress, RemoveError, Subflow, Token};
use policy::{Action, SubflowId};
use units::Instant;

const AGAIN: Duration = Duration::from_millis(10);
const TRIES: u32 = 10;

/// Withdrawals that the kernel dropped.
#[derive(Debug)]
pub(super) struct Farewells {
    waiting: Vec<(SubflowId, u32, Instant)>,
    dropped: u64,
}

impl Farewells {
    pub(super) fn new() -> Self {
        Self { waiting: Vec::new(), dropped: mib::rm_addr_drops() }
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.waiting.iter().map(|(_, _, at)| *at).min()
    }
}

impl World {
    pub(super) fn destroy(&mut self, id: SubflowId) -> Result<(), ActError> {
        let subflow = self.flows.subflow(id).filter(|subflow| subflow.living()).ok_or(ActError::NoSubflow)?;
        let (token, ends) = (token_of(subflow.conn), pair(&subflow.ends));
        self.priorities.forget(id);
        self.flows.end(id, Standing::Destroyed);
        match self.commands.destroy_subflow(token, &ends) {
            // It closed by itself; the event is on its way.
            Ok(()) | Err(DestroySubflowError::Absent { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a subflow that the engine does not know of.
    pub(super) fn destroy_quietly(&mut self, id: SubflowId) {
        if let Err(error) = self.destroy(id) {
            self.trouble("ending a subflow that the peer did not confirm", &error);
        }
    }

    /// Ends the SYN_SENT half of a join that nobody answered; otherwise the kernel goes on asking for two minutes.
    pub(super) fn abandon(&mut self, join: &Join) {
        let Some(remote) = self.flows.conn(join.conn).and_then(|conn| conn.joinable) else { return };
        let local_ports = match self.sampler.connecting(join.local, remote) {
            Ok(ports) => ports,
            Err(error) => return self.trouble("looking for a join that nobody answered", &error),
        };
        for port in local_ports {
            let ends = Subflow { local: (join.local, port).into(), remote };
            match self.commands.destroy_subflow(token_of(join.conn), &ends) {
                Ok(()) | Err(DestroySubflowError::Absent { .. } | DestroySubflowError::ConnectionGone { .. }) => {}
                Err(error) => self.trouble("ending a join that nobody answered", &error),
            }
        }
    }

    pub(super) fn withdraw(&mut self, now: Instant, id: SubflowId) -> Result<(), ActError> {
        self.withdraw_once(id)?;
        self.watch_for_a_drop(now, id, 1);
        Ok(())
    }

    fn withdraw_once(&mut self, id: SubflowId) -> Result<(), ActError> {
        let subflow = self.flows.subflow(id).ok_or(ActError::NoSubflow)?;
        let (conn, token) = (subflow.conn, token_of(subflow.conn));
        let address_id = AddressId(subflow.address_id);
        let addr = subflow.ends.local.ip().to_canonical();
        let ifindex = subflow.ends.ifindex;
        let same = |other: &super::flows::Subflow| other.id != id && other.address_id == address_id.0;
        let rejoined = self.flows.subflows_of(conn).any(same) || self.joins.has_id(conn, address_id.0);
        if rejoined {
            return Err(ActError::JoinedAgain);
        }
        match self.commands.remove(token, address_id) {
            Err(RemoveError::UnknownId { .. }) if address_id != AddressId::INITIAL => {
                self.announce_and_remove(token, LocalAddress { addr, id: address_id, port: None, ifindex })
            }
            result => Ok(result?),
        }
    }

    fn announce_and_remove(&mut self, token: Token, local: LocalAddress) -> Result<(), ActError> {
        self.commands.announce(token, &local)?;
        Ok(self.commands.remove(token, local.id)?)
    }

    fn watch_for_a_drop(&mut self, now: Instant, id: SubflowId, tries: u32) {
        let dropped = mib::rm_addr_drops();
        if dropped > std::mem::replace(&mut self.farewells.dropped, dropped) {
            self.farewells.waiting.push((id, tries, now + AGAIN));
        }
    }

    /// Withdrawals that were dropped, once more.
    pub(super) fn repeat_farewells(&mut self, now: Instant) {
        let due = |(_, _, at): &mut (SubflowId, u32, Instant)| *at <= now;
        let again: Vec<_> = self.farewells.waiting.extract_if(.., due).collect();
        for (id, tries, _) in again {
            match self.withdraw_once(id) {
                Ok(()) if tries < TRIES => self.watch_for_a_drop(now, id, tries + 1),
                // The connection or the subflow's address is in use otherwise by now: nothing left to say.
                Ok(()) | Err(ActError::NoSubflow | ActError::JoinedAgain) => {}
                Err(error) => self.failed(&Action::Withdraw(id), &error),
            }
        }
    }
}
