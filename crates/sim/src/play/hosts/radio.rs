//! The client's single radio: which access points it serves, and its turns.
//!
//! # Sources
//! - juggler §3.3: the radio visits its networks in turn, and joins a network the first time it visits it.
//!
//! # Where we differ, and why
//! 1. A radio that serves no access point listens to all channels of the scenario's access points in turn.
//!    It joins what it has heard once it has listened to all of them.
//! 2. While it serves one, it finds others in its scanning slot, or on a channel that it visits anyway.
//! 3. An access point gets its slot when the engine wants to join it, and loses the slot with the
//!    association. After a join that failed it keeps the slot for a while, to be tried again.
//!
//! # Checked by
//! `tests/single_radio.rs`.

use super::world::World;
use links::{Input as Order, LinkState, RadioReport, RadioSlot};
use policy::estimate::energy::Radios;
use policy::slot::{self, Occupant, Rules, Slot};
use policy::{Division, Input, LinkEvent, LinkId, LinkKind, RadioEvent, RadioId};
use scenario::Plan;
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Duration, Instant};

/// The client has one.
const RADIO: RadioId = RadioId(0);
/// Time on a channel while it serves nobody: without a scanning slot the engine joins after three beacons,
/// which are 102.4 ms apart.
const DWELL: Duration = Duration::from_millis(320);
/// How long an access point keeps its slot after a failed join: the engine tries again after 2 s if it still
/// hears it.
const LINGER: Duration = Duration::from_secs(3);

/// A link that has a slot, or is about to have one.
#[derive(Debug)]
struct Served {
    /// The bytes that had arrived when the present cycle began.
    arrived: Bytes,
    /// Whether it was up since it was asked for.
    joined: bool,
    /// When the last attempt to join it failed.
    failed: Option<Instant>,
}

/// The radio, and what it is doing.
#[derive(Debug)]
pub(super) struct SingleRadio {
    config: scenario::SingleRadio,
    /// The channels of the scenario's access points.
    channels: Vec<u8>,
    /// The links that are peers of ad hoc networks.
    peers: BTreeSet<LinkId>,
    served: BTreeMap<LinkId, Served>,
    /// Whether it listens to all channels, and serves none.
    searches: bool,
    /// What the engine wants to join once that is over.
    wanted: Vec<LinkId>,
}

impl SingleRadio {
    /// The client's single radio. `None`: it has one on each channel.
    pub(super) fn new(plan: &Plan) -> Option<Self> {
        let config = plan.client().radio.clone()?;
        let mut channels: Vec<u8> = plan.access_points().map(|(_, ap)| ap.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        let peers = plan.access_points().filter(|(_, ap)| ap.ad_hoc);
        let peers = peers.map(|(link, _)| LinkId(link as u16)).collect();
        Some(Self {
            config,
            channels,
            peers,
            served: BTreeMap::new(),
            searches: false,
            wanted: Vec::new(),
        })
    }

    /// How its time is divided, in the engine's terms.
    fn division(&self) -> Division {
        let radio = |least| slot::Radio {
            switch: self.config.switch,
            same_channel: self.config.same_channel,
            least,
        };
        match self.config.division {
            scenario::Division::Adaptive { cycle, alpha, least } => Division::Adaptive(Rules {
                cycle,
                alpha,
                radio: radio(least),
            }),
            scenario::Division::Weighted { slice, .. } => Division::Weighted {
                radio: radio(Duration::ZERO),
                slice,
            },
        }
    }

    /// That it serves this link. Peers get as much time as their slices have, or else the shortest slot.
    fn serves(&self, link: LinkId) -> Input {
        let weight = self.config.weight(usize::from(link.0));
        let event = if self.peers.contains(&link) {
            let stays = match self.config.division {
                scenario::Division::Adaptive { least, .. } => least,
                scenario::Division::Weighted { slice, .. } => slice * weight,
            };
            RadioEvent::AdHoc { link, stays }
        } else {
            RadioEvent::Serves { link, weight }
        };
        Input::Radio(RADIO, event)
    }

    /// A turn on each channel of the scenario.
    fn search(&self) -> Vec<RadioSlot> {
        let turn = |&channel| RadioSlot {
            channel,
            serves: None,
            switch: self.config.switch,
            stays: DWELL,
        };
        self.channels.iter().map(turn).collect()
    }
}

/// A slot of the engine's plan as the links' models take it. Channel numbers of WiFi have 8 bits.
fn turn(slot: &Slot) -> RadioSlot {
    RadioSlot {
        channel: slot.channel as u8,
        serves: match slot.occupant {
            Occupant::Network(link) | Occupant::AdHoc(link) => Some(links::LinkId(link.0)),
            Occupant::Scan => None,
        },
        switch: slot.switch,
        stays: slot.stays,
    }
}

/// The client's radios that draw power: one for each channel with access points, unless it has only one.
pub(super) fn powered(plan: &Plan) -> Radios {
    let client = plan.client();
    let only = plan.access_points().next().map(|(_, ap)| u16::from(ap.channel));
    let radio = |link: &scenario::Link| {
        let kind: LinkKind = link.kind.word().into();
        let single = client.radio.is_some() && kind == LinkKind::Wifi;
        (kind, if single { only } else { link.kind.channel() })
    };
    Radios::of(plan.links.iter().map(radio), client.power_save)
}

impl World<'_> {
    /// Reports the radio, and lets it search.
    pub(super) fn begin_turns(&mut self) {
        let Some(radio) = &self.single else { return };
        let (division, scan) = (radio.division(), radio.config.scan);
        self.tell(Input::Radio(RADIO, RadioEvent::Appeared(division)));
        if !scan.is_zero() {
            self.tell(Input::Radio(RADIO, RadioEvent::Scan(scan)));
        }
        self.search();
    }

    fn search(&mut self) {
        if let Some(radio) = self.single.as_mut().filter(|radio| !radio.searches) {
            radio.searches = true;
            let turns = radio.search();
            self.carrier.take_turns(self.now, &turns);
        }
    }

    /// Lets the radio repeat the engine's cycle. A cycle that serves nobody makes it search.
    pub(super) fn take_turns(&mut self, slots: &[Slot]) {
        let turns: Vec<RadioSlot> = slots.iter().map(turn).collect();
        if turns.iter().all(|turn| turn.serves.is_none()) {
            return self.search();
        }
        if let Some(radio) = &mut self.single {
            radio.searches = false;
            self.carrier.take_turns(self.now, &turns);
        }
    }

    /// Joins an access point. A single radio must visit it first, and finishes its search before.
    pub(super) fn associate(&mut self, link: LinkId) {
        if let Some(radio) = &mut self.single {
            if radio.searches {
                radio.wanted.retain(|known| *known != link);
                radio.wanted.push(link);
                return;
            }
            self.serve(link);
        }
        let link = links::LinkId(link.0);
        self.carrier.handle(self.now, Order::Associate(link));
    }

    fn serve(&mut self, link: LinkId) {
        let arrived = self.carrier.carried()[usize::from(link.0)].down;
        if let Some(radio) = &mut self.single {
            let served = radio.served.entry(link).or_insert(Served {
                arrived,
                joined: false,
                failed: None,
            });
            served.failed = None;
            let serves = radio.serves(link);
            self.tell(serves);
        }
    }

    /// Handles the state of an association.
    pub(super) fn served_is(&mut self, link: LinkId, state: LinkState) {
        let now = self.now;
        let radio = self.single.as_mut();
        let Some(served) = radio.and_then(|radio| radio.served.get_mut(&link)) else {
            return;
        };
        match state {
            LinkState::Up => served.joined = true,
            LinkState::Down if served.joined => self.stop_serving(link),
            LinkState::Down => served.failed = Some(now),
            LinkState::Joining | LinkState::Carrier => {}
        }
    }

    /// The radio need not visit this access point any longer.
    pub(super) fn stop_serving(&mut self, link: LinkId) {
        let Some(radio) = &mut self.single else { return };
        radio.wanted.retain(|known| *known != link);
        if radio.served.remove(&link).is_some() {
            self.tell(Input::Radio(RADIO, RadioEvent::Leaves(link)));
        }
    }

    /// Handles a report of the radio.
    pub(super) fn radio_reports(&mut self, report: RadioReport) {
        match report {
            RadioReport::Turned { channel } => self.returned_to(channel),
            RadioReport::CycleEnded => self.cycle_ended(),
        }
    }

    /// Frames that were sent on the channel before count as unheard, not as lost.
    fn returned_to(&mut self, channel: u8) {
        let Some(radio) = &self.single else { return };
        let here = |link: &LinkId| {
            let kind = &self.what.plan.links[usize::from(link.0)].kind;
            kind.channel() == Some(channel.into())
        };
        let back: Vec<LinkId> = radio.served.keys().copied().filter(here).collect();
        for link in back {
            self.tell(Input::Link(link, LinkEvent::Away));
        }
    }

    fn cycle_ended(&mut self) {
        let Some(radio) = &mut self.single else { return };
        if radio.searches {
            let wanted = std::mem::take(&mut radio.wanted);
            radio.searches = wanted.is_empty();
            wanted.into_iter().for_each(|link| self.associate(link));
            return;
        }
        let mut given_up = Vec::new();
        for (&link, served) in &mut radio.served {
            let now = self.carrier.carried()[usize::from(link.0)].down;
            let brought = now.saturating_sub(std::mem::replace(&mut served.arrived, now));
            let brought = RadioEvent::Brought(link, brought);
            self.facts.push_back(Input::Radio(RADIO, brought));
            if served.failed.is_some_and(|failed| self.now - failed >= LINGER) {
                given_up.push(link);
            }
        }
        given_up.into_iter().for_each(|link| self.stop_serving(link));
        self.tell(Input::Radio(RADIO, RadioEvent::CycleEnded));
    }
}
