//! One of the connections that a flow has at a time, and those that it had in the same place before.

use super::others::Openers;
use crate::mptcp::Connection;
use links::LinkId;
use policy::flow::{FlowId, PeerId};
use units::{Duration, Instant};

/// Time-out of an attempt to connect.
pub(super) const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// The place of a connection in its flow.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The link that it is bound to. `None`: MPTCP over what the policy chooses, or the engine has not
    /// assigned one.
    pub(super) over: Option<LinkId>,
    /// The peer at its other end, if the engine assigns its link.
    pub(super) peer: Option<Peer>,
    /// The present connection, and when it was opened.
    attempt: Option<(u32, Instant)>,
    /// The latest connection.
    pub(super) latest: Option<u32>,
    /// Bytes read by earlier connections.
    base: u64,
    /// Bytes read by all of them.
    total: u64,
}

/// A peer whose link the engine assigns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub(super) id: PeerId,
    /// What the engine calls the flow to it. `None`: the engine has not heard of it.
    pub(super) flow: Option<FlowId>,
}

impl Lane {
    /// A lane whose link the engine assigns.
    pub(super) fn to(id: PeerId) -> Self {
        Self {
            peer: Some(Peer { id, flow: None }),
            ..Self::default()
        }
    }

    /// Where its next connection starts, if it can. `route`: where the host's connections start by
    /// themselves.
    pub(super) fn starts(&self, route: Option<LinkId>) -> Option<LinkId> {
        match self.peer {
            Some(_) => self.over,
            None => self.over.or(route),
        }
    }

    pub(super) fn over(over: Option<LinkId>) -> Self {
        Self {
            over,
            ..Self::default()
        }
    }

    /// The present connection.
    pub(super) fn conn(&self) -> Option<u32> {
        self.attempt.map(|(conn, _)| conn)
    }

    /// Begins with this connection.
    pub(super) fn begin(&mut self, now: Instant, conn: u32) {
        self.attempt = Some((conn, now));
        self.latest = Some(conn);
    }

    /// Leaves the present connection.
    pub(super) fn leave(&mut self) {
        self.attempt = None;
        self.base = self.total;
    }

    /// Takes what the present connection has read in total. Returns the bytes that are new.
    pub(super) fn read(&mut self, read: u64) -> u64 {
        let total = (self.base + read).max(self.total);
        total - std::mem::replace(&mut self.total, total)
    }

    /// The present connection, if it should be left now. `awaits_link`: only while its link is usable.
    /// `silent_at`: when it has been silent for too long.
    pub(super) fn left(
        &self,
        now: Instant,
        openers: Openers<'_>,
        host: usize,
        awaits_link: bool,
        silent_at: impl Fn(&Connection) -> Option<Instant>,
    ) -> Option<u32> {
        let (conn, since) = self.attempt?;
        let connection = openers.host(host).connection(conn)?;
        let silent = |link| {
            let may_leave = !awaits_link || openers.is_usable(host, link);
            may_leave && silent_at(connection).is_some_and(|at| at <= now)
        };
        let leaves = match connection.is_open() {
            false => connection.is_closed() || now - since >= CONNECT_PATIENCE,
            true => self.over.is_some_and(silent),
        };
        leaves.then_some(conn)
    }

    /// When the present connection next has to be checked. `silent_at`: when it has been silent for too long.
    pub(super) fn wake_at(
        &self,
        openers: Openers<'_>,
        host: usize,
        silent_at: impl Fn(&Connection) -> Option<Instant>,
    ) -> Option<Instant> {
        let (conn, since) = self.attempt?;
        let connection = openers.host(host).connection(conn)?;
        match connection.is_open() {
            false => Some(since + CONNECT_PATIENCE),
            true if self.over.is_some() => silent_at(connection),
            true => None,
        }
    }
}
