//! Marks that the client's own data plane sets: on packets that arrive, before TCP sees them, and on packets
//! that leave, after TCP has sent them.

use crate::tcp::packet::{Ecn, Packet};
use links::LinkId;
use policy::mark::Diffusion;
use units::Ratio;

/// Rates of marks by link.
#[derive(Debug, Default)]
pub(super) struct Marks {
    links: Vec<(LinkId, Ratio, Diffusion, MarkCounts)>,
}

/// Packets of a link, and marks set on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkCounts {
    /// Packets that could be marked.
    pub ect: u64,
    /// Packets that could not.
    pub not_ect: u64,
    /// Marks that were set.
    pub made: u64,
}

impl Marks {
    pub(super) fn set(&mut self, link: LinkId, rate: Ratio) {
        match self.links.iter_mut().find(|(known, ..)| *known == link) {
            Some((_, known, ..)) => *known = rate,
            None => self
                .links
                .push((link, rate, Diffusion::new(), MarkCounts::default())),
        }
    }

    /// Marks the packet, if it is ECN-capable and a mark is due.
    pub(super) fn apply(&mut self, link: LinkId, packet: &mut Packet) {
        let known = self.links.iter_mut().find(|(known, ..)| *known == link);
        let Some((_, rate, diffusion, counts)) = known else {
            return;
        };
        if packet.ecn != Ecn::Ect {
            counts.not_ect += u64::from(packet.ecn == Ecn::NotEct);
            return;
        }
        counts.ect += 1;
        if diffusion.due(*rate, 1) > 0 {
            packet.ecn = Ecn::Ce;
            counts.made += 1;
        }
    }

    /// Counts of this link's packets and marks since marks were first requested for it.
    pub(super) fn counts(&self, link: LinkId) -> Option<MarkCounts> {
        let mut links = self.links.iter();
        links
            .find(|(known, ..)| *known == link)
            .map(|(.., counts)| *counts)
    }
}
