//! Requested joins for which the kernel has sent no event yet.

use crate::daemon::flows::names::canonical;
use crate::diag::Ends;
use policy::{ConnId, LinkId};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use units::Instant;

/// SYNs leave at 0 and 1 s, and in older kernels at 3 s. A peer that answers neither of the first two is
/// unreachable.
const PATIENCE: Duration = Duration::from_secs(3);

/// A requested join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) conn: ConnId,
    pub(crate) link: LinkId,
    pub(crate) local: IpAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) address_id: u8,
    pub(crate) backup: bool,
}

/// All requested joins.
#[derive(Debug, Default)]
pub(crate) struct Joins {
    waiting: Vec<(Join, Instant)>,
}

impl Joins {
    pub(crate) fn add(&mut self, now: Instant, join: Join) {
        self.waiting.push((join, now + PATIENCE));
    }

    /// Removes the oldest join of this connection between these addresses, when the kernel reports such a
    /// subflow.
    pub(crate) fn take(&mut self, conn: ConnId, ends: &Ends) -> Option<Join> {
        let (local, remote) = (ends.local.ip().to_canonical(), canonical(ends.remote));
        let is_it = |join: &Join| (join.conn, join.local, join.remote) == (conn, local, remote);
        let at = self.waiting.iter().position(|(join, _)| is_it(join))?;
        Some(self.waiting.remove(at).0)
    }

    /// Removes a join of this connection over this link.
    pub(crate) fn take_over(&mut self, conn: ConnId, link: LinkId) -> Option<Join> {
        let is_it = |join: &Join| (join.conn, join.link) == (conn, link);
        let at = self.waiting.iter().position(|(join, _)| is_it(join))?;
        Some(self.waiting.remove(at).0)
    }

    /// Whether a join of this connection with this address identifier is pending.
    pub(crate) fn has_id(&self, conn: ConnId, address_id: u8) -> bool {
        self.waiting
            .iter()
            .any(|(join, _)| (join.conn, join.address_id) == (conn, address_id))
    }

    /// Removes a join whose time is over.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Join> {
        let at = self.waiting.iter().position(|(_, until)| *until <= now)?;
        Some(self.waiting.remove(at).0)
    }

    /// Removes all joins of a closed connection.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        self.waiting.retain(|(join, _)| join.conn != conn);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.waiting.iter().map(|(_, until)| *until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(conn: u32, local: u8) -> Join {
        Join {
            conn: ConnId(conn),
            link: LinkId(1),
            local: [10, 0, 0, local].into(),
            remote: ([10, 0, 0, 9], 80).into(),
            address_id: 1,
            backup: false,
        }
    }

    fn ends(join: &Join) -> Ends {
        Ends {
            local: (join.local, 1_000).into(),
            remote: join.remote,
            ifindex: None,
        }
    }

    #[test]
    fn an_event_takes_the_oldest_matching_join() {
        let mut joins = Joins::default();
        let oldest = Join {
            address_id: 9,
            ..join(1, 1)
        };
        for join in [oldest, join(1, 1), join(2, 1)] {
            joins.add(Instant::ZERO, join);
        }
        let elsewhere = Ends {
            remote: "[fd00::9]:80".parse().unwrap(),
            ..ends(&oldest)
        };
        assert_eq!(joins.take(ConnId(1), &elsewhere), None);
        assert_eq!(joins.take(ConnId(1), &ends(&oldest)), Some(oldest));
        assert!(joins.has_id(ConnId(1), 1) && !joins.has_id(ConnId(1), 9));
        assert_eq!(joins.take(ConnId(3), &ends(&oldest)), None);
        joins.forget(ConnId(1));
        assert!(!joins.has_id(ConnId(1), 1));
        assert_eq!(joins.take_over(ConnId(2), LinkId(2)), None);
        assert_eq!(joins.take_over(ConnId(2), LinkId(1)), Some(join(2, 1)));
    }

    #[test]
    fn a_join_without_an_event_expires() {
        let mut joins = Joins::default();
        joins.add(Instant::from_secs(1), join(1, 1));
        joins.add(Instant::from_secs(2), join(1, 2));
        assert_eq!(joins.wake_at(), Some(Instant::from_secs(4)));
        assert_eq!(joins.expired(Instant::from_secs(3)), None);
        assert_eq!(joins.expired(Instant::from_secs(4)), Some(join(1, 1)));
        assert_eq!(joins.expired(Instant::from_secs(4)), None);
    }
}
