//! What an agent knows of each server: whether it can be reached directly with MPTCP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Servers that are remembered. The least recently used one is forgotten first.
const MOST: usize = 4_096;
/// How long a path that strips MPTCP is avoided.
const LEGACY: Duration = Duration::from_secs(24 * 3600);
/// How long the relay is avoided for a server that it did not really reach. A reply over the relay shows for
/// as long that it does reach it.
const AROUND: Duration = Duration::from_secs(60);

/// What is known of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nothing.
    Unknown,
    /// A byte of it came over the relay, lately.
    Replies,
    /// It speaks MPTCP.
    Direct,
    /// It speaks MPTCP, but the direct path strips it.
    Legacy,
    /// The relay confirmed a connection to it, which was reset before a byte came back.
    Around,
}

impl Way {
    /// How long this knowledge is valid.
    const fn validity(self) -> Option<Duration> {
        match self {
            Self::Unknown | Self::Direct => None,
            Self::Legacy => Some(LEGACY),
            Self::Replies | Self::Around => Some(AROUND),
        }
    }
}

/// What is known of all servers.
#[derive(Debug)]
pub struct Ways {
    most: usize,
    known: HashMap<SocketAddr, Known>,
}

#[derive(Debug)]
struct Known {
    way: Way,
    learnt: Instant,
    used: Instant,
}

impl Default for Ways {
    fn default() -> Self {
        Self::remembering(MOST)
    }
}

impl Ways {
    fn remembering(most: usize) -> Self {
        Self {
            most,
            known: HashMap::new(),
        }
    }

    /// What is known of `server`.
    pub fn way(&mut self, server: SocketAddr, now: Instant) -> Way {
        let Some(known) = self.known.get_mut(&server) else {
            return Way::Unknown;
        };
        known.used = now;
        let age = now.duration_since(known.learnt);
        let expired = known.way.validity().is_some_and(|validity| age >= validity);
        if expired { Way::Unknown } else { known.way }
    }

    /// Notes that a byte of `server` came over the relay.
    pub fn replies(&mut self, server: SocketAddr, now: Instant) {
        if matches!(self.way(server, now), Way::Unknown | Way::Replies | Way::Around) {
            self.learn(server, Way::Replies, now);
        }
    }

    /// Notes that a connection to `server` over the relay was reset before a byte of it came. A server that
    /// replies on other connections was reached: iperf3 ends an upload so.
    pub fn unanswered(&mut self, server: SocketAddr, now: Instant) {
        if self.way(server, now) != Way::Replies {
            self.learn(server, Way::Around, now);
        }
    }

    /// Remembers `way` for `server`.
    pub fn learn(&mut self, server: SocketAddr, way: Way, now: Instant) {
        if !self.known.contains_key(&server) && self.known.len() >= self.most {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.used);
            if let Some(oldest) = oldest.map(|(server, _)| *server) {
                self.known.remove(&oldest);
            }
        }
        let known = Known {
            way,
            learnt: now,
            used: now,
        };
        self.known.insert(server, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    #[test]
    fn what_may_change_is_tried_again() {
        let (mut ways, now) = (Ways::default(), Instant::now());
        assert_eq!(ways.way(server(1), now), Way::Unknown);
        ways.learn(server(1), Way::Direct, now);
        assert_eq!(ways.way(server(1), now + 2 * LEGACY), Way::Direct);
        ways.learn(server(1), Way::Legacy, now);
        let almost = LEGACY - Duration::from_secs(1);
        assert_eq!(ways.way(server(1), now + almost), Way::Legacy);
        assert_eq!(ways.way(server(1), now + LEGACY), Way::Unknown);
        ways.learn(server(1), Way::Around, now);
        assert_eq!(ways.way(server(1), now + AROUND / 2), Way::Around);
        assert_eq!(ways.way(server(1), now + AROUND), Way::Unknown);
    }

    #[test]
    fn a_server_that_replies_lately_was_reached() {
        let (mut ways, now) = (Ways::default(), Instant::now());
        ways.unanswered(server(1), now);
        assert_eq!(ways.way(server(1), now), Way::Around);
        ways.replies(server(1), now);
        ways.unanswered(server(1), now + AROUND / 2);
        assert_eq!(ways.way(server(1), now + AROUND / 2), Way::Replies);
        ways.unanswered(server(1), now + AROUND);
        assert_eq!(ways.way(server(1), now + AROUND), Way::Around);
    }

    #[test]
    fn a_reply_does_not_hide_that_a_server_speaks_mptcp() {
        let (mut ways, now) = (Ways::default(), Instant::now());
        for way in [Way::Direct, Way::Legacy] {
            ways.learn(server(1), way, now);
            ways.replies(server(1), now);
            assert_eq!(ways.way(server(1), now), way);
        }
    }

    #[test]
    fn the_least_recently_used_server_is_forgotten() {
        let (mut ways, start) = (Ways::remembering(2), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        ways.learn(server(1), Way::Direct, at(0));
        ways.learn(server(2), Way::Direct, at(1));
        ways.way(server(1), at(2));
        ways.learn(server(3), Way::Direct, at(3));
        let known = [1, 2, 3].map(|port| ways.way(server(port), at(4)));
        assert_eq!(known, [Way::Direct, Way::Unknown, Way::Direct]);
    }
}
