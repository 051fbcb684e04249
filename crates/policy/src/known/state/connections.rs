//! Inputs about connections and subflows.

use super::{MOST_CONNS, State};
use crate::io::{
    ConnEvent, ConnId, Family, JoinFailure, LinkId, Reason, RemoteId, SubflowEvent, SubflowId, SubflowSample,
    Verb,
};
use crate::known::change::Change;
use crate::known::conn::{Conn, Subflow};
use units::Instant;

impl State {
    pub(super) fn about_conn(&mut self, now: Instant, conn: ConnId, event: ConnEvent) -> Change {
        match event {
            ConnEvent::Opened if self.conns.len() < MOST_CONNS => {
                let peer_subflows = self.peer_subflows;
                self.conns.entry(conn).or_insert_with(|| Conn::new(peer_subflows));
                Change::Shape
            }
            ConnEvent::Opened => Change::Counters,
            ConnEvent::Closed => {
                self.forget_conn(conn);
                Change::Shape
            }
            ConnEvent::Sample(sample) => {
                if let Some(conn) = self.conns.get_mut(&conn) {
                    conn.read(now, sample);
                }
                Change::Counters
            }
            ConnEvent::Remote(remote, family) => self.about_remote(conn, remote, Some(family)),
            ConnEvent::RemoteGone(remote) => self.about_remote(conn, remote, None),
            ConnEvent::JoinFailed { link, reason } => self.join_failed(now, conn, link, reason),
        }
    }

    /// The peer accepts joins at an address of this family, or at none.
    fn about_remote(&mut self, conn: ConnId, remote: RemoteId, family: Option<Family>) -> Change {
        if let Some(conn) = self.conns.get_mut(&conn) {
            conn.failed.retain(|failed| failed.remote != remote);
            match family {
                Some(family) => conn.remotes.learn(remote, family),
                None => conn.remotes.forget(remote),
            }
        }
        Change::Shape
    }

    /// Drops a connection, its subflows, and decisions about links for it alone.
    fn forget_conn(&mut self, conn: ConnId) {
        let subflows = self.conns.remove(&conn).map(|conn| conn.subflows);
        for subflow in subflows.into_iter().flatten() {
            self.owners.remove(&subflow.id);
        }
        for path in self.paths.values_mut() {
            path.forget_aside(conn);
        }
    }

    fn join_failed(&mut self, now: Instant, conn: ConnId, link: LinkId, reason: JoinFailure) -> Change {
        let Some(state) = self.conns.get_mut(&conn) else {
            return Change::Counters;
        };
        let is_reported = state.join_failed(now, link, reason);
        let is_second = state.renewals.is_over(link);
        if reason != JoinFailure::Timeout {
            state.renewals.join_failed(link);
        }
        match is_reported.then_some(Reason::Join(reason)) {
            // The first subflow over this link continues.
            Some(why) if is_second => self.remark(Some(conn), Some(link), Verb::Refuse, why),
            Some(why) => self.note(Some(link), Some(conn), Verb::Refuse, why),
            None => {}
        }
        Change::Shape
    }

    pub(super) fn about_subflow(&mut self, now: Instant, id: SubflowId, event: SubflowEvent) -> Change {
        match event {
            SubflowEvent::Established {
                conn,
                link,
                initial,
                backup,
            } => {
                let subflow = Subflow::new(now, (id, link), initial, backup);
                self.established(now, conn, subflow)
            }
            SubflowEvent::Closed => self.subflow_closed(now, id),
            SubflowEvent::Sample(sample) => self.sampled(now, id, sample.plausible()),
        }
    }

    fn established(&mut self, now: Instant, id: ConnId, subflow: Subflow) -> Change {
        let Some(conn) = self.conns.get_mut(&id) else {
            return Change::Counters;
        };
        conn.begun = true;
        conn.joined(subflow.link);
        conn.withdrawn.retain(|withdrawn| withdrawn.link != subflow.link);
        self.owners.insert(subflow.id, id);
        let link = subflow.link;
        conn.subflows.retain(|other| other.id != subflow.id);
        conn.subflows.push(subflow);
        if let Some(path) = self.paths.get_mut(&link) {
            path.forget_aside(id);
        }
        self.proof_of_life(now, link);
        Change::Shape
    }

    fn subflow_closed(&mut self, now: Instant, id: SubflowId) -> Change {
        if let Some(conn) = self.owners.remove(&id).and_then(|conn| self.conns.get_mut(&conn)) {
            conn.subflows.retain(|subflow| subflow.id != id);
            conn.place_freed(now);
        }
        Change::Shape
    }

    fn sampled(&mut self, now: Instant, id: SubflowId, sample: SubflowSample) -> Change {
        let Some(conn) = self.owners.get(&id).and_then(|conn| self.conns.get_mut(conn)) else {
            return Change::Counters;
        };
        let Some(subflow) = conn.subflows.iter_mut().find(|subflow| subflow.id == id) else {
            return Change::Counters;
        };
        let arrived = subflow.read(now, sample);
        let link = subflow.link;
        let Some(path) = self.paths.get_mut(&link) else {
            return Change::Counters;
        };
        path.measured(sample.min_rtt);
        // An interface counts everything that arrives over it. A subflow counts only its own.
        let is_counted = path.received > 0;
        match arrived {
            true => {
                self.liveness.heard(now, link);
                self.proof_of_life(now, link)
            }
            false if is_counted => Change::Counters,
            false => self.found_nothing(now, link),
        }
    }

    pub(crate) fn conn_of(&self, subflow: SubflowId) -> Option<ConnId> {
        self.owners.get(&subflow).copied()
    }
}
