//! Connections and subflows of the client as its engine knows them, as in `linux`'s `daemon::flows`.
//!
//! A joined subflow is reported once the peer has confirmed it. Until then the peer may still refuse it.

use crate::mptcp::Path;
use policy::{ConnId, LinkId, SubflowId};
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Time for a join: SYNs leave at 0 and 1 s, and a peer that answers neither is unreachable. The same for the
/// confirmation of a join: both packets were lost then.
const PATIENCE: Duration = Duration::from_secs(3);
/// A connection in which nothing has moved for this long is idle.
const QUIET: Duration = Duration::from_secs(1);

/// A subflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subflow {
    pub(super) conn: ConnId,
    pub(super) path: Path,
    /// Whether it is the connection's first.
    pub(super) initial: bool,
    pub(super) backup: bool,
    pub(super) standing: Standing,
}

impl Subflow {
    pub(super) const fn link(&self) -> LinkId {
        LinkId(self.path.link.0)
    }
}

/// How far a subflow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Established, but not confirmed by the peer yet. It must be by this time.
    Unproven(Instant),
    /// Confirmed: the engine knows it.
    Proven,
    /// Over. Its address may still be withdrawn.
    Ended,
}

/// A join without an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Join {
    pub(super) conn: ConnId,
    pub(super) path: Path,
    pub(super) backup: bool,
    until: Instant,
}

impl Join {
    pub(super) const fn link(&self) -> LinkId {
        LinkId(self.path.link.0)
    }
}

/// When data last moved in a connection, and a number that changes whenever data moves.
#[derive(Debug, Clone, Copy)]
struct Motion {
    since: Instant,
    fingerprint: u64,
}

/// The connections and subflows of the client, and its joins.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// Initial subflows of connections that are not established yet.
    initials: BTreeMap<ConnId, (SubflowId, Path)>,
    conns: BTreeMap<ConnId, Motion>,
    subflows: BTreeMap<SubflowId, Subflow>,
    joins: Vec<Join>,
}

impl Book {
    pub(super) fn open(&mut self, now: Instant, conn: ConnId) {
        let motion = Motion {
            since: now,
            fingerprint: 0,
        };
        self.conns.insert(conn, motion);
    }

    /// Records the initial subflow of a connection that is not established yet.
    pub(super) fn begin(&mut self, conn: ConnId, id: SubflowId, path: Path) {
        self.initials.insert(conn, (id, path));
    }

    pub(super) fn take_initial(&mut self, conn: ConnId) -> Option<(SubflowId, Path)> {
        self.initials.remove(&conn)
    }

    /// Forgets a connection. Returns whether it was known.
    pub(super) fn close(&mut self, conn: ConnId) -> bool {
        self.initials.remove(&conn);
        self.subflows.retain(|_, subflow| subflow.conn != conn);
        self.joins.retain(|join| join.conn != conn);
        self.conns.remove(&conn).is_some()
    }

    pub(super) fn is_open(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn)
    }

    pub(super) fn conns(&self) -> impl Iterator<Item = ConnId> {
        self.conns.keys().copied()
    }

    /// Takes a number that changes whenever data has moved.
    pub(super) fn moved(&mut self, now: Instant, conn: ConnId, fingerprint: u64) {
        if let Some(motion) = self.conns.get_mut(&conn)
            && std::mem::replace(&mut motion.fingerprint, fingerprint) != fingerprint
        {
            motion.since = now;
        }
    }

    pub(super) fn is_busy(&self, now: Instant, conn: ConnId) -> bool {
        let motion = self.conns.get(&conn);
        motion.is_some_and(|motion| now - motion.since < QUIET)
    }

    /// Adds a subflow: an initial one is proven, a joined one is not.
    pub(super) fn add(
        &mut self,
        now: Instant,
        id: SubflowId,
        of: (ConnId, Path),
        initial: bool,
        backup: bool,
    ) {
        let (conn, path) = of;
        let standing = match initial {
            true => Standing::Proven,
            false => Standing::Unproven(now + PATIENCE),
        };
        let subflow = Subflow {
            conn,
            path,
            initial,
            backup,
            standing,
        };
        self.subflows.insert(id, subflow);
    }

    /// A subflow, dead or alive.
    pub(super) fn subflow(&self, id: SubflowId) -> Option<Subflow> {
        self.subflows.get(&id).copied()
    }

    /// A subflow that is not over.
    pub(super) fn living(&self, id: SubflowId) -> Option<Subflow> {
        self.subflow(id)
            .filter(|subflow| subflow.standing != Standing::Ended)
    }

    /// The subflows of a connection that are not over.
    pub(super) fn of(&self, conn: ConnId) -> impl Iterator<Item = (SubflowId, Subflow)> {
        let all = self.subflows.iter().map(|(id, subflow)| (*id, *subflow));
        all.filter(move |(_, subflow)| subflow.conn == conn && subflow.standing != Standing::Ended)
    }

    pub(super) fn stand(&mut self, id: SubflowId, standing: Standing) {
        if let Some(subflow) = self.subflows.get_mut(&id) {
            subflow.standing = standing;
        }
    }

    pub(super) fn set_backup(&mut self, id: SubflowId, backup: bool) {
        if let Some(subflow) = self.subflows.get_mut(&id) {
            subflow.backup = backup;
        }
    }

    pub(super) fn join(&mut self, now: Instant, conn: ConnId, path: Path, backup: bool) {
        let until = now + PATIENCE;
        self.joins.push(Join {
            conn,
            path,
            backup,
            until,
        });
    }

    /// Whether another subflow of its connection has, or will have, the address of this one.
    pub(super) fn has_again(&self, id: SubflowId, subflow: &Subflow) -> bool {
        let of = (subflow.conn, subflow.path.client);
        let mut others = self.of(subflow.conn);
        let mut joins = self.joins.iter();
        others.any(|(other, known)| other != id && known.path.client == of.1)
            || joins.any(|join| (join.conn, join.path.client) == of)
    }

    /// Whether a connection waits for the answer to a join over this link.
    pub(super) fn is_joining(&self, conn: ConnId, link: LinkId) -> bool {
        self.joins
            .iter()
            .any(|join| (join.conn, join.link()) == (conn, link))
    }

    /// Removes the oldest join of a connection over this link: it was answered, or has failed.
    pub(super) fn take_join(&mut self, conn: ConnId, link: LinkId) -> Option<Join> {
        let mut joins = self.joins.iter();
        let at = joins.position(|join| (join.conn, join.link()) == (conn, link))?;
        Some(self.joins.remove(at))
    }

    /// Removes a join whose time is over.
    pub(super) fn expired_join(&mut self, now: Instant) -> Option<Join> {
        let at = self.joins.iter().position(|join| join.until <= now)?;
        Some(self.joins.remove(at))
    }

    /// A subflow that was not confirmed in time.
    pub(super) fn unproven_too_long(&self, now: Instant) -> Option<(SubflowId, Subflow)> {
        let late = |subflow: &Subflow| matches!(subflow.standing, Standing::Unproven(until) if until <= now);
        let mut all = self.subflows.iter();
        let found = all.find(|(_, subflow)| late(subflow));
        found.map(|(id, subflow)| (*id, *subflow))
    }

    /// Whether a subflow waits for its confirmation.
    pub(super) fn has_unproven(&self) -> bool {
        self.deadlines().next().is_some()
    }

    fn deadlines(&self) -> impl Iterator<Item = Instant> {
        self.subflows
            .values()
            .filter_map(|subflow| match subflow.standing {
                Standing::Unproven(until) => Some(until),
                Standing::Proven | Standing::Ended => None,
            })
    }

    /// When the next join or confirmation is too late.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let joins = self.joins.iter().map(|join| join.until);
        joins.chain(self.deadlines()).min()
    }
}
