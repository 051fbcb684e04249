//! Links as the client's kernel shows them: carrier, address, and the beacons that a listener hears.

use links::LinkState;
use policy::estimate::energy::Radio;
use policy::estimate::phy::Phy;
use policy::{Input, LinkEvent, LinkId, LinkKind, LinkSpec, Role};
use scenario::Plan;
use std::collections::VecDeque;
use units::Dbm;

use super::families::Versions;

/// All links of the client.
#[derive(Debug)]
pub(super) struct Plugs(Vec<Known>);

#[derive(Debug)]
struct Known {
    spec: LinkSpec,
    /// Its access point's PHY. `None` if it has none.
    phy: Option<Phy>,
    /// Power that its radio draws. `None` if the link has no radio.
    draws: Option<Radio>,
    appeared: bool,
    carrier: bool,
    usable: bool,
}

impl Plugs {
    /// Links of which the engine knows nothing yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let radios = radio::powered(plan);
        let known = |(number, link)| Known {
            spec: ::radio::spec(link),
            phy: ::radio::phy(link),
            draws: radios.of_link(number),
            appeared: false,
            carrier: false,
            usable: false,
        };
        Self(plan.links.iter().enumerate().map(known).collect())
    }

    /// Whether a link has an address.
    pub(super) fn is_usable(&self, link: LinkId) -> bool {
        self.0[usize::from(link.0)].usable
    }

    /// Reports that a link's addresses are replaced by others, if it has any.
    pub(super) fn renew(&self, link: LinkId, versions: &Versions, facts: &mut VecDeque<Input>) {
        if self.is_usable(link) {
            facts.push_back(Input::Link(link, LinkEvent::Usable(false)));
            versions.addresses(link, facts);
            facts.push_back(Input::Link(link, LinkEvent::Usable(true)));
        }
    }

    /// Whether a link has a carrier.
    pub(super) fn has_carrier(&self, link: LinkId) -> bool {
        self.0[usize::from(link.0)].carrier
    }

    /// Reports the interfaces that exist at the start. An access point appears with its first beacon.
    pub(super) fn begin(&mut self, facts: &mut VecDeque<Input>) {
        for link in 0..self.0.len() {
            if self.0[link].spec.kind != LinkKind::Wifi {
                self.appear(link, facts);
            }
        }
    }

    fn appear(&mut self, link: usize, facts: &mut VecDeque<Input>) {
        let known = &mut self.0[link];
        if !std::mem::replace(&mut known.appeared, true) {
            let appeared = LinkEvent::Appeared(known.spec.clone());
            let further = [known.phy.map(LinkEvent::Phy), known.draws.map(LinkEvent::Draws)];
            let all = std::iter::once(appeared).chain(further.into_iter().flatten());
            facts.extend(all.map(|event| Input::Link(LinkId(link as u16), event)));
        }
    }

    /// Reports a beacon.
    pub(super) fn beacon(&mut self, link: usize, signal: Dbm, facts: &mut VecDeque<Input>) {
        self.appear(link, facts);
        facts.push_back(Input::Link(LinkId(link as u16), LinkEvent::Beacon(signal)));
    }

    /// Reports what a link's state changes for the kernel. A link that must not be used gets no address.
    pub(super) fn state(
        &mut self,
        link: usize,
        state: LinkState,
        versions: &Versions,
        facts: &mut VecDeque<Input>,
    ) {
        if self.0[link].spec.role == Role::Never {
            return;
        }
        let (carrier, usable) = match state {
            LinkState::Down | LinkState::Joining => (false, false),
            LinkState::Carrier => (true, false),
            LinkState::Up => (true, true),
        };
        if carrier {
            self.appear(link, facts);
        }
        let known = &mut self.0[link];
        let id = LinkId(link as u16);
        // What is lost is reported from the address down, what is gained from the carrier up.
        if known.usable && !usable {
            facts.push_back(Input::Link(id, LinkEvent::Usable(false)));
        }
        if known.carrier != carrier {
            facts.push_back(Input::Link(id, LinkEvent::Carrier(carrier)));
        }
        if usable && !known.usable {
            versions.addresses(id, facts);
            facts.push_back(Input::Link(id, LinkEvent::Usable(true)));
        }
        (known.carrier, known.usable) = (carrier, usable);
    }
}
