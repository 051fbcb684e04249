//! The addresses of a connection's peer: which of them a join takes.
//!
//! A join goes from an address of a link to an address of the peer, and both have one family. A connection
//! that began over IPv4 can continue over IPv6, and the other way round. The peer announces its further
//! addresses (ADD_ADDR). Whether they can be reached is unknown until it accepts a join there.
//!
//! # Sources
//! - RFC 8684 §3.4.1 (ADD_ADDR), §3.4.2 (REMOVE_ADDR).
//! - mobiarch11 §2: connections that use IPv4 and IPv6 at the same time.
//! - imc13 §2.2.1: paths are pairs of a client's link and a server's address.
//!
//! # Where we differ, and why
//! 1. From imc13, which joins every pair: a link gets one subflow. Two over one link share its queue, and a
//!    stock server accepts two joins in all.
//! 2. From Linux, whose path manager tries an announced address once: it is tried again as the first address
//!    is.
//!
//! # Checked by
//! `tests::families`.

use super::tuning::MOST_REMOTES;
use crate::io::{Family, LinkId, RemoteId};
use alloc::vec::Vec;
use units::Instant;

/// The peer's addresses.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    known: Vec<(RemoteId, Family)>,
    /// Where the peer last accepted a join over each link.
    accepted: Vec<(LinkId, RemoteId)>,
}

/// The address for the next join over a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) remote: RemoteId,
    /// Whether the link has an address of its family, as far as known.
    pub(crate) has_way: bool,
}

impl Remotes {
    pub(crate) fn learn(&mut self, remote: RemoteId, family: Family) {
        self.known.retain(|(known, _)| *known != remote);
        if self.known.len() < MOST_REMOTES {
            self.known.push((remote, family));
        }
    }

    pub(crate) fn forget(&mut self, remote: RemoteId) {
        self.known.retain(|(known, _)| *known != remote);
        self.accepted.retain(|(_, accepted)| *accepted != remote);
    }

    /// The peer has accepted a join over this link at this address.
    pub(crate) fn accepted(&mut self, link: LinkId, remote: RemoteId) {
        self.accepted.retain(|(over, _)| *over != link);
        self.accepted.push((link, remote));
    }

    /// Whether the peer is known to accept joins there: the connection runs to the first address.
    pub(crate) fn is_proven(&self, remote: RemoteId) -> bool {
        remote == RemoteId::FIRST || self.accepted.iter().any(|(_, accepted)| *accepted == remote)
    }

    /// The address for the next join over a link with these families: one that has not failed over it, or
    /// failed longest ago. Of several, the one that the peer accepted last over this link, else the first.
    pub(crate) fn target(
        &self,
        link: LinkId,
        families: [bool; 2],
        failed_at: impl Fn(RemoteId) -> Option<Instant>,
    ) -> Target {
        let reachable = self.known.iter().filter(|(_, family)| families[*family as usize]);
        let worked = |remote| self.accepted.contains(&(link, remote));
        let best = reachable
            .map(|(remote, _)| *remote)
            .min_by_key(|&remote| (failed_at(remote), !worked(remote), remote));
        let is_unknown = self.known.is_empty() || families == [false; 2];
        Target {
            remote: best.unwrap_or(RemoteId::FIRST),
            has_way: best.is_some() || is_unknown,
        }
    }
}
