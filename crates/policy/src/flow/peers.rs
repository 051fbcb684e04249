//! Spreads the peers of a swarm evenly over links, each peer over one link.
//!
//! # Sources
//! - juggler §6.2.3: data is striped by assigning peers to access points evenly.
//!
//! # Where we differ, and why
//! 1. When a link goes, its peers are spread over the others. When one comes, only new peers use it: a peer's
//!    connection does not survive a change of address, and breaking it costs more than the imbalance.
//!
//! # Checked by
//! `flow::tests`.

use crate::io::{LinkId, PeerId};
use alloc::vec::Vec;

/// Peers and their links.
#[derive(Debug, Clone, Default)]
pub struct Peers {
    links: Vec<LinkId>,
    assigned: Vec<(PeerId, Option<LinkId>)>,
}

impl Peers {
    /// No peers yet, over these links.
    pub fn over(links: &[LinkId]) -> Self {
        let mut links = links.to_vec();
        links.sort_unstable();
        links.dedup();
        Self {
            links,
            assigned: Vec::new(),
        }
    }

    /// The link of this peer. A new peer gets the link with the fewest peers, and the first among equals.
    /// `None` while there is no link.
    pub fn link(&mut self, peer: PeerId) -> Option<LinkId> {
        let known = self.assigned.iter().position(|(known, _)| *known == peer);
        let at = known.unwrap_or_else(|| {
            self.assigned.push((peer, None));
            self.assigned.len() - 1
        });
        if self.assigned[at].1.is_none() {
            self.assigned[at].1 = self.emptiest();
        }
        self.assigned[at].1
    }

    fn emptiest(&self) -> Option<LinkId> {
        self.links.iter().copied().min_by_key(|&link| self.count(link))
    }

    /// The number of peers on a link.
    pub fn count(&self, link: LinkId) -> usize {
        self.assigned
            .iter()
            .filter(|(_, assigned)| *assigned == Some(link))
            .count()
    }

    /// Removes a peer.
    pub fn left(&mut self, peer: PeerId) {
        self.assigned.retain(|(known, _)| *known != peer);
    }

    /// Adds a link.
    pub fn came(&mut self, link: LinkId) {
        if let Err(at) = self.links.binary_search(&link) {
            self.links.insert(at, link);
        }
    }

    /// Removes a link, and spreads its peers over the others.
    pub fn went(&mut self, link: LinkId) {
        self.links.retain(|known| *known != link);
        for at in 0..self.assigned.len() {
            if self.assigned[at].1 == Some(link) {
                self.assigned[at].1 = None;
                self.assigned[at].1 = self.emptiest();
            }
        }
    }
}
