//! Takes stock: lists the connections that exist, at the start and whenever events were lost.
//!
//! # Where we differ, and why
//! 1. The kernel does not say which end opened a connection. Its subflows do: on the host that opened them,
//!    the first has the flag "asked for MPTCP" (MCAP_LOC), a joined one "asked to join" (JOIN_LOC).
//!
//! # Sources
//! - net/mptcp/diag.c (`MPTCP_SUBFLOW_FLAG_*`), Linux 6.18.
//!
//! # Checked by
//! `daemon::tests::life`.

use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::flows::book::{NewSubflow, Phase, Standing};
use crate::daemon::flows::names::{canonical, conn_of};
use crate::daemon::flows::remotes::family_of;
use crate::daemon::hear::Hearing;
use crate::daemon::host::sockets::{Found, Listing};
use policy::{ConnEvent, ConnId, Input, RemoteId, SubflowId};
use std::collections::BTreeSet;
use units::Instant;

impl Hearing<'_> {
    /// Compares known connections with those that exist, and handles each difference as the event that was
    /// missed.
    pub(crate) fn take_stock(&mut self, now: Instant) {
        let found = match self.host.sockets.list() {
            Ok(found) => found,
            Err(error) => return self.host.outlet.trouble("listing connections", &error),
        };
        let Listing {
            subflows: found,
            conns: there,
            closing,
        } = found;
        let gone: Vec<ConnId> = self
            .conns
            .flows
            .conns()
            .map(|conn| conn.id)
            .filter(|id| !there.contains(id))
            .collect();
        gone.into_iter().for_each(|id| self.conns.closed(id, self.host));
        self.end_missing(&found);
        let mut ready: Vec<&Found> = found.iter().filter(|found| found.ours && found.ready).collect();
        // The first subflow has the connection's first address.
        ready.sort_by_key(|found| !found.initial);
        for found in &ready {
            self.found(found);
        }
        let ids: BTreeSet<ConnId> = ready.iter().map(|found| conn_of(found.token)).collect();
        ids.into_iter()
            .for_each(|id| self.settle_opening(now, id, closing.contains(&id)));
        let open = |id: &ConnId| {
            self.conns
                .flows
                .conn(*id)
                .is_some_and(|conn| conn.phase == Phase::Open)
        };
        let ending = Vec::from_iter(closing.into_iter().filter(open));
        ending
            .into_iter()
            .for_each(|id| self.conns.leave_alone(id, LeftAlone::Closing, self.host));
    }

    fn end_missing(&mut self, found: &[Found]) {
        let there: BTreeSet<SubflowId> = found
            .iter()
            .filter_map(|found| self.conns.flows.find(&found.ends))
            .collect();
        let living = self.conns.flows.living().map(|subflow| subflow.id);
        let gone: Vec<SubflowId> = living.filter(|id| !there.contains(id)).collect();
        gone.into_iter()
            .for_each(|id| self.conns.subflow_gone(id, None, self.host, self.links));
    }

    fn found(&mut self, found: &Found) {
        let id = conn_of(found.token);
        if self.conns.flows.find(&found.ends).is_some() {
            return;
        }
        let conn = self.conns.flows.open(id, found.ends.remote);
        // The kernel does not list announced addresses, but a subflow to one shows it.
        let remote = RemoteId(found.remote_id);
        if conn.remotes.announced(remote, found.ends.remote) && conn.phase == Phase::Open {
            let family = family_of(found.ends.remote.ip().to_canonical());
            let event = ConnEvent::Remote(remote, family);
            self.host.outlet.tell(Input::Conn(id, event));
        }
        let phase = conn.phase;
        let Some(link) = self
            .links
            .owner_of(&found.ends)
            .filter(|_| !matches!(phase, Phase::LeftAlone(_)))
        else {
            return;
        };
        let new = NewSubflow {
            conn: id,
            link,
            ends: found.ends,
            address_id: found.address_id,
            initial: found.initial,
            backup: found.backup,
            standing: Standing::Proven,
        };
        let added = self.conns.flows.add(new);
        if phase == Phase::Open {
            added
                .into_iter()
                .for_each(|subflow| self.conns.introduce(subflow, self.host));
        }
    }

    /// Settles a connection that is new to the engine, once all its subflows are known.
    fn settle_opening(&mut self, now: Instant, id: ConnId, is_closing: bool) {
        if self
            .conns
            .flows
            .conn(id)
            .is_none_or(|conn| conn.phase != Phase::Fresh)
        {
            return;
        }
        let subflows: Vec<SubflowId> = self
            .conns
            .flows
            .subflows_of(id)
            .map(|subflow| subflow.id)
            .collect();
        if subflows.is_empty() {
            return self.conns.leave_alone(id, LeftAlone::OtherLink, self.host);
        }
        if is_closing {
            return self.conns.leave_alone(id, LeftAlone::Closing, self.host);
        }
        let remote = self.conns.flows.conn(id).map(|conn| conn.remote.ip());
        if remote.is_some_and(|remote| self.host.routes.is_led_elsewhere(self.links, remote)) {
            return self.conns.leave_alone(id, LeftAlone::Elsewhere, self.host);
        }
        self.conns.open(now, id, self.host);
        if let Some((link, remote)) = self
            .conns
            .flows
            .subflow(subflows[0])
            .map(|subflow| (subflow.link, subflow.ends.remote))
        {
            self.probes
                .learn_peer(now, link, canonical(remote), self.links, &mut self.host.outlet);
        }
        subflows
            .into_iter()
            .for_each(|subflow| self.conns.introduce(subflow, self.host));
    }
}
