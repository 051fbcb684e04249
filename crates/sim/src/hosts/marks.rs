//! Marks that the client's own data plane sets: on packets that arrive, before TCP sees them, and on packets
//! that leave, after TCP has sent them.

use crate::tcp::packet::{Ecn, Packet};
use links::LinkId;
use policy::mark::Diffusion;
use units::Ratio;

/// Rates of marks by link.
#[derive(Debug, Default)]
pub(super) struct Marks {
    links: Vec<(LinkId, Ratio, Diffusion)>,
}

impl Marks {
    pub(super) fn set(&mut self, link: LinkId, rate: Ratio) {
        match self.links.iter_mut().find(|(known, ..)| *known == link) {
            Some((_, known, _)) => *known = rate,
            None => self.links.push((link, rate, Diffusion::new())),
        }
    }

    /// Marks the packet, if it is ECN-capable and a mark is due.
    pub(super) fn apply(&mut self, link: LinkId, packet: &mut Packet) {
        if packet.ecn != Ecn::Ect {
            return;
        }
        let known = self.links.iter_mut().find(|(known, ..)| *known == link);
        if let Some((_, rate, diffusion)) = known
            && diffusion.due(*rate, 1) > 0
        {
            packet.ecn = Ecn::Ce;
        }
    }
}
