//! Connections and subflows: their names and states.
//!
//! The kernel names a subflow by its ends, the engine by a number. Both name a connection by its token. The
//! engine is told about a joined subflow not when the kernel reports it established, but when it is *proven*.
//! A peer that accepts no more subflows completes the TCP handshake first and resets the subflow one round
//! trip later. The proof is the kernel's own flag for the fourth packet of the join (RFC 8684 §3.2), which
//! only a peer that accepts sends. It comes in the same round trip as the reset would. The wait costs
//! nothing: the kernel uses the subflow from that packet on, whether the engine knows of it or not. So
//! recovery is not delayed, and the engine never counts a path that is about to vanish.
//!
//! # Sources
//! - RFC 8684 §3.2; net/mptcp/options.c (`check_fully_established`), Linux 6.18.
//!
//! # Checked by
//! `flows::book::tests`; `daemon::tests::acts`.

use crate::daemon::api::left_alone::LeftAlone;
use crate::daemon::flows::motion::Motion;
use crate::daemon::flows::names::canonical;
use crate::daemon::flows::remotes::Remotes;
use crate::diag::Ends;
use crate::info::Held;
use policy::{ConnId, ConnSample, LinkId, SubflowId, SubflowSample};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use units::{Bytes, Instant};

/// Most ended subflows remembered per connection. Their addresses may have to be withdrawn, even more than
/// once.
const REMEMBERED: usize = 32;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No subflow can be added to it yet.
    Fresh,
    /// The engine knows it.
    Open,
    /// The engine does not know it, or has been told to forget it, for this reason.
    LeftAlone(LeftAlone),
}

/// A connection that this host opened.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) id: ConnId,
    /// The peer's address and port.
    pub(crate) remote: SocketAddr,
    /// The addresses for joins. None if the peer accepts no join at its first address and has announced no
    /// other.
    pub(crate) remotes: Remotes,
    pub(crate) phase: Phase,
    /// When data last moved.
    pub(crate) motion: Motion,
    /// Counters of the latest sample.
    pub(crate) sample: ConnSample,
    /// Out-of-order bytes.
    pub(crate) held: Held,
    /// Living subflows.
    pub(crate) subflows: Vec<SubflowId>,
    /// Ended subflows, the latest last.
    pub(crate) ended: Vec<SubflowId>,
}

/// The state of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The kernel calls it established, but the peer may not have accepted it.
    Unproven {
        /// When to give up waiting for the proof.
        until: Instant,
    },
    /// The engine knows it.
    Proven,
    /// This host ended it.
    Destroyed,
    /// It has ended.
    Closed,
}

/// A subflow of a connection over one link.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(crate) id: SubflowId,
    pub(crate) conn: ConnId,
    pub(crate) link: LinkId,
    pub(crate) ends: Ends,
    /// The address identifier that this host assigned. Zero for the first subflow.
    pub(crate) address_id: u8,
    pub(crate) initial: bool,
    /// The priority that this host asked for.
    pub(crate) backup: bool,
    pub(crate) standing: Standing,
    /// Counters of the latest sample.
    pub(crate) sample: SubflowSample,
    /// Bytes received that its connection's [`Held`] has counted.
    pub(crate) counted: Bytes,
    /// Samples in a row that did not find it.
    pub(crate) misses: u8,
}

impl Subflow {
    pub(crate) const fn living(&self) -> bool {
        matches!(self.standing, Standing::Unproven { .. } | Standing::Proven)
    }
}

/// All connections of this namespace that this host opened.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    conns: BTreeMap<ConnId, Conn>,
    subflows: BTreeMap<SubflowId, Subflow>,
    by_ends: HashMap<Ends, SubflowId>,
    next: u32,
}

impl Flows {
    pub(crate) fn conn(&self, id: ConnId) -> Option<&Conn> {
        self.conns.get(&id)
    }

    pub(crate) fn conn_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&id)
    }

    pub(crate) fn conns(&self) -> impl Iterator<Item = &Conn> {
        self.conns.values()
    }

    pub(crate) fn subflow(&self, id: SubflowId) -> Option<&Subflow> {
        self.subflows.get(&id)
    }

    pub(crate) fn subflow_mut(&mut self, id: SubflowId) -> Option<&mut Subflow> {
        self.subflows.get_mut(&id)
    }

    /// The living subflow with these ends.
    pub(crate) fn find(&self, ends: &Ends) -> Option<SubflowId> {
        self.by_ends.get(ends).copied()
    }

    /// Living subflows of all connections, in the order of their numbers.
    pub(crate) fn living(&self) -> impl Iterator<Item = &Subflow> {
        self.subflows.values().filter(|subflow| subflow.living())
    }

    /// Living subflows of one connection.
    pub(crate) fn subflows_of(&self, conn: ConnId) -> impl Iterator<Item = &Subflow> {
        let ids = self
            .conns
            .get(&conn)
            .map(|conn| conn.subflows.as_slice())
            .unwrap_or_default();
        ids.iter().filter_map(|id| self.subflows.get(id))
    }

    /// Bytes received on a connection's living subflows since the last call.
    pub(crate) fn arrived(&mut self, conn: ConnId) -> Bytes {
        let ids = self.conns.get(&conn).map(|conn| conn.subflows.as_slice());
        let mut arrived = Bytes::ZERO;
        for id in ids.unwrap_or_default() {
            if let Some(subflow) = self.subflows.get_mut(id) {
                let counted = std::mem::replace(&mut subflow.counted, subflow.sample.bytes_received);
                arrived += subflow.counted.saturating_sub(counted);
            }
        }
        arrived
    }

    /// Whether this host has ended a subflow with these ends. The kernel may still send events about it.
    pub(crate) fn was_destroyed(&self, conn: ConnId, ends: &Ends) -> bool {
        let ended = self
            .conns
            .get(&conn)
            .map(|conn| conn.ended.as_slice())
            .unwrap_or_default();
        let mut ended = ended.iter().filter_map(|id| self.subflows.get(id));
        ended.any(|subflow| subflow.standing == Standing::Destroyed && subflow.ends == *ends)
    }

    /// An unproven subflow whose time is over.
    pub(crate) fn unproven_since_long(&self, now: Instant) -> Option<SubflowId> {
        let late =
            |subflow: &&Subflow| matches!(subflow.standing, Standing::Unproven { until } if until <= now);
        self.living().find(late).map(|subflow| subflow.id)
    }

    /// Marks all subflows of a connection as proven.
    pub(crate) fn settle(&mut self, conn: ConnId) {
        let ids = self.conns.get(&conn).map(|conn| conn.subflows.as_slice());
        for id in ids.unwrap_or_default() {
            if let Some(subflow) = self.subflows.get_mut(id) {
                subflow.standing = Standing::Proven;
            }
        }
    }

    /// When the next unproven subflow is given up.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.living()
            .filter_map(|subflow| match subflow.standing {
                Standing::Unproven { until } => Some(until),
                _ => None,
            })
            .min()
    }

    /// Returns a connection. Creates it if it is not known, with its first subflow's remote address as the
    /// kernel reports it.
    pub(crate) fn open(&mut self, id: ConnId, remote: SocketAddr) -> &mut Conn {
        self.conns.entry(id).or_insert_with(|| Conn {
            id,
            remote: canonical(remote),
            remotes: Remotes::new(remote),
            phase: Phase::Fresh,
            motion: Motion::new(Instant::ZERO),
            sample: ConnSample::default(),
            held: Held::default(),
            subflows: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Adds a subflow to a known connection. Returns `None` if the connection is unknown or the subflow known
    /// already.
    pub(crate) fn add(&mut self, new: NewSubflow) -> Option<SubflowId> {
        if self.by_ends.contains_key(&new.ends) {
            return None;
        }
        let conn = self.conns.get_mut(&new.conn)?;
        let id = SubflowId(self.next);
        self.next += 1;
        conn.subflows.push(id);
        self.by_ends.insert(new.ends, id);
        self.subflows.insert(id, new.named(id));
        Some(id)
    }

    /// Corrects the ends by which the kernel names a subflow.
    pub(crate) fn rebind(&mut self, id: SubflowId, ends: Ends) {
        if let Some(subflow) = self.subflows.get_mut(&id) {
            self.by_ends.remove(&subflow.ends);
            subflow.ends = ends;
            subflow.misses = 0;
            self.by_ends.insert(ends, id);
        }
    }

    /// Marks a subflow as ended. It is remembered for a while.
    pub(crate) fn end(&mut self, id: SubflowId, standing: Standing) {
        let Some(subflow) = self.subflows.get_mut(&id) else {
            return;
        };
        subflow.standing = standing;
        if self.by_ends.get(&subflow.ends) == Some(&id) {
            self.by_ends.remove(&subflow.ends);
        }
        let Some(conn) = self.conns.get_mut(&subflow.conn) else {
            return;
        };
        conn.subflows.retain(|other| *other != id);
        if !conn.ended.contains(&id) {
            conn.ended.push(id);
        }
        if conn.ended.len() > REMEMBERED {
            let forgotten = conn.ended.remove(0);
            self.subflows.remove(&forgotten);
        }
    }

    /// Removes a connection and everything about it.
    pub(crate) fn close(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.conns.remove(&id)?;
        for subflow in conn.subflows.iter().chain(&conn.ended) {
            if let Some(subflow) = self.subflows.remove(subflow) {
                self.by_ends.remove(&subflow.ends);
            }
        }
        Some(conn)
    }
}

/// A subflow that has no number yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSubflow {
    pub(crate) conn: ConnId,
    pub(crate) link: LinkId,
    pub(crate) ends: Ends,
    pub(crate) address_id: u8,
    pub(crate) initial: bool,
    pub(crate) backup: bool,
    pub(crate) standing: Standing,
}

impl NewSubflow {
    fn named(self, id: SubflowId) -> Subflow {
        let Self {
            conn,
            link,
            ends,
            address_id,
            initial,
            backup,
            standing,
        } = self;
        Subflow {
            id,
            conn,
            link,
            ends,
            address_id,
            initial,
            backup,
            standing,
            sample: SubflowSample::default(),
            counted: Bytes::ZERO,
            misses: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> Ends {
        Ends {
            local: ([10, 0, 0, 1], port).into(),
            remote: ([10, 0, 0, 2], 80).into(),
            ifindex: None,
        }
    }

    fn new(conn: u32, port: u16) -> NewSubflow {
        NewSubflow {
            conn: ConnId(conn),
            link: LinkId(0),
            ends: at(port),
            address_id: 0,
            initial: true,
            backup: false,
            standing: Standing::Proven,
        }
    }

    #[test]
    fn subflows_are_found_by_their_ends_while_they_live() {
        let mut flows = Flows::default();
        assert_eq!(flows.add(new(1, 1000)), None, "its connection is not known");
        flows.open(ConnId(1), at(0).remote);
        let id = flows.add(new(1, 1000)).unwrap();
        assert_eq!(flows.add(new(1, 1000)), None, "known already");
        assert_eq!(flows.find(&at(1000)), Some(id));
        flows.end(id, Standing::Destroyed);
        assert_eq!(flows.find(&at(1000)), None);
        assert_eq!(flows.subflow(id).unwrap().standing, Standing::Destroyed);
        assert_eq!(flows.subflows_of(ConnId(1)).count(), 0);
        assert_ne!(
            flows.add(new(1, 1000)).unwrap(),
            id,
            "a number is never used again"
        );
    }

    #[test]
    fn a_closed_connection_leaves_nothing() {
        let mut flows = Flows::default();
        flows.open(ConnId(1), at(0).remote);
        flows.open(ConnId(2), at(0).remote);
        let ended = flows.add(new(1, 1)).unwrap();
        flows.add(new(1, 2)).unwrap();
        let other = flows.add(new(2, 3)).unwrap();
        flows.end(ended, Standing::Closed);
        assert_eq!(flows.close(ConnId(1)).unwrap().ended, [ended]);
        assert_eq!(
            flows.living().map(|subflow| subflow.id).collect::<Vec<_>>(),
            [other]
        );
        assert!(flows.subflow(ended).is_none());
        assert!(flows.close(ConnId(1)).is_none());
    }

    #[test]
    fn only_the_latest_ended_subflows_are_remembered() {
        let mut flows = Flows::default();
        flows.open(ConnId(1), at(0).remote);
        let ids: Vec<_> = (0..100).map(|port| flows.add(new(1, port)).unwrap()).collect();
        ids.iter().for_each(|id| flows.end(*id, Standing::Closed));
        assert!(flows.subflow(ids[0]).is_none());
        assert_eq!(flows.conn(ConnId(1)).unwrap().ended, ids[100 - REMEMBERED..]);
    }

    #[test]
    fn the_earliest_unproven_subflow_sets_the_deadline() {
        let mut flows = Flows::default();
        flows.open(ConnId(1), at(0).remote);
        assert_eq!(flows.wake_at(), None);
        for (port, at) in [(1, 30), (2, 20), (3, 40)] {
            let standing = Standing::Unproven {
                until: Instant::from_millis(at),
            };
            flows.add(NewSubflow {
                standing,
                ..new(1, port)
            });
        }
        assert_eq!(flows.wake_at(), Some(Instant::from_millis(20)));
    }
}
