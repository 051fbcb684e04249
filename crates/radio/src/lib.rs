//! The client's links and radios in the modelled worlds: what the engine knows of a link, and the PHY of an
//! access point. For a single radio, its turns and which access points it serves.
//!
//! Both worlds ask [`SingleRadio`] what to do and carry out its [`Order`]s: `sim` on hosts in virtual time,
//! the lab on the real kernel.
//!
//! # Sources
//! - juggler §3.3: the radio visits its networks in turn, and joins a network the first time it visits it.
//! - juggler §3.4: the slice is a parameter that changes while the radio works.
//!
//! # Where we differ, and why
//! 1. A radio that serves no access point listens to all channels of the scenario's access points in turn.
//!    It joins what it has heard once it has listened to all of them.
//! 2. While it serves one, it finds others in its scanning slot, or on a channel that it visits anyway.
//! 3. An access point gets its slot when the engine wants to join it, and loses the slot with the
//!    association. After a join that failed it keeps the slot for a while, to be tried again.
//!
//! # Checked by
//! `tests`; in the two worlds, `tests/single_radio.rs` of `sim` and of the lab.

mod phy;
mod spec;
#[cfg(test)]
mod tests;

pub use phy::phy;
pub use spec::spec;

use links::{LinkState, RadioReport, RadioSlot};
use policy::estimate::energy::Radios;
use policy::slot::{self, Occupant, Rules, Slot};
use policy::{Division, Input, LinkEvent, LinkId, LinkKind, RadioEvent, RadioId};
use scenario::Plan;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Bytes, Duration, Instant};

/// The client has one.
const RADIO: RadioId = RadioId(0);
/// Time on a channel while it serves nobody: without a scanning slot the engine joins after three beacons,
/// which are 102.4 ms apart.
const DWELL: Duration = Duration::from_millis(320);
/// How long an access point keeps its slot after a failed join: the engine tries again after 2 s if it still
/// hears it.
const LINGER: Duration = Duration::from_secs(3);

/// What a world must do for the radio.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Tell the engine.
    Tell(Input),
    /// Let the radio take these turns from now on.
    TakeTurns(Vec<RadioSlot>),
    /// Associate with this access point.
    Associate(LinkId),
}

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
pub struct SingleRadio {
    config: scenario::SingleRadio,
    /// How long slices are from when on, apart from what `config` has already.
    slices: VecDeque<(Instant, Duration)>,
    /// The channel of each link that is an access point.
    channels: BTreeMap<LinkId, u8>,
    /// The links that are peers of ad hoc networks.
    peers: BTreeSet<LinkId>,
    served: BTreeMap<LinkId, Served>,
    /// Whether it listens to all channels, and serves none.
    searches: bool,
    /// What the engine wants to join once that is over.
    wanted: Vec<LinkId>,
    orders: VecDeque<Order>,
}

impl SingleRadio {
    /// The client's single radio. `None`: it has one on each channel.
    pub fn new(plan: &Plan) -> Option<Self> {
        let config = plan.walkers.first()?.radio.clone()?;
        let access_points = || plan.access_points().map(|(link, ap)| (LinkId(link as u16), ap));
        let slices = match &config.division {
            scenario::Division::Adaptive { .. } => VecDeque::new(),
            scenario::Division::Weighted { slices, .. } => slices
                .iter()
                .map(|&(at, slice)| (Instant::ZERO + at, slice))
                .collect(),
        };
        Some(Self {
            config,
            slices,
            channels: access_points().map(|(link, ap)| (link, ap.channel)).collect(),
            peers: access_points()
                .filter(|(_, ap)| ap.ad_hoc)
                .map(|(link, _)| link)
                .collect(),
            served: BTreeMap::new(),
            searches: false,
            wanted: Vec::new(),
            orders: VecDeque::new(),
        })
    }

    /// What the world must do next.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Reports the radio, and lets it search.
    pub fn begin(&mut self) {
        let scan = self.config.scan;
        self.tell(RadioEvent::Appeared(self.division()));
        if !scan.is_zero() {
            self.tell(RadioEvent::Scan(scan));
        }
        self.search();
    }

    /// Repeats the engine's cycle. A cycle that serves nobody makes it search, and any other ends a search:
    /// what waited for its end is joined.
    ///
    /// `arrived`: what the client has received so far, per link.
    pub fn take_turns(&mut self, slots: &[Slot], arrived: impl Fn(LinkId) -> Bytes) {
        let turns: Vec<RadioSlot> = slots.iter().map(turn).collect();
        if turns.iter().all(|turn| turn.serves.is_none()) {
            return self.search();
        }
        self.orders.push_back(Order::TakeTurns(turns));
        self.searches = false;
        self.join_wanted(arrived);
    }

    /// Joins an access point. The radio must visit it first, and finishes its search before.
    ///
    /// `arrived`: what the client has received over this link so far.
    pub fn associate(&mut self, link: LinkId, arrived: Bytes) {
        if self.searches {
            self.wanted.retain(|known| *known != link);
            return self.wanted.push(link);
        }
        let served = self.served.entry(link).or_insert(Served {
            arrived,
            joined: false,
            failed: None,
        });
        served.failed = None;
        let serves = self.serves(link);
        self.tell(serves);
        self.orders.push_back(Order::Associate(link));
    }

    /// Handles the state of an association.
    pub fn state(&mut self, now: Instant, link: LinkId, state: LinkState) {
        let Some(served) = self.served.get_mut(&link) else {
            return;
        };
        match state {
            // A loss of the association before, which was reported late, is over.
            LinkState::Up => (served.joined, served.failed) = (true, None),
            LinkState::Down if served.joined => self.stop_serving(link),
            LinkState::Down => served.failed = Some(now),
            LinkState::Joining | LinkState::Carrier => {}
        }
    }

    /// The radio need not visit this access point any longer.
    pub fn stop_serving(&mut self, link: LinkId) {
        self.wanted.retain(|known| *known != link);
        if self.served.remove(&link).is_some() {
            self.tell(RadioEvent::Leaves(link));
        }
    }

    /// Handles a report of the radio.
    ///
    /// `arrived`: what the client has received so far, per link.
    pub fn reports(&mut self, now: Instant, report: RadioReport, arrived: impl Fn(LinkId) -> Bytes) {
        if report == RadioReport::CycleEnded {
            self.change_slice(now);
        }
        match report {
            RadioReport::Turned { channel } => self.returned_to(channel),
            RadioReport::CycleEnded if self.searches => self.search_is_over(arrived),
            RadioReport::CycleEnded => self.cycle_ended(now, arrived),
        }
    }

    /// Frames that were sent on the channel before count as unheard, not as lost.
    fn returned_to(&mut self, channel: u8) {
        let here = self
            .served
            .keys()
            .filter(|link| self.channels.get(link) == Some(&channel));
        let away = here.map(|&link| Order::Tell(Input::Link(link, LinkEvent::Away)));
        self.orders.extend(away);
    }

    /// Changes the slice if that is due. The time of peers is a number of slices.
    fn change_slice(&mut self, now: Instant) {
        let mut changed = None;
        while let Some((_, slice)) = self.slices.pop_front_if(|(at, _)| *at <= now) {
            changed = Some(slice);
        }
        let Some(to) = changed else { return };
        if let scenario::Division::Weighted { slice, .. } = &mut self.config.division {
            *slice = to;
        }
        self.tell(RadioEvent::Slice(to));
        let peers = self.served.keys().filter(|link| self.peers.contains(link));
        let told: Vec<RadioEvent> = peers.map(|&link| self.serves(link)).collect();
        told.into_iter().for_each(|event| self.tell(event));
    }

    fn search_is_over(&mut self, arrived: impl Fn(LinkId) -> Bytes) {
        self.searches = self.wanted.is_empty();
        self.join_wanted(arrived);
    }

    fn join_wanted(&mut self, arrived: impl Fn(LinkId) -> Bytes) {
        for link in std::mem::take(&mut self.wanted) {
            self.associate(link, arrived(link));
        }
    }

    fn cycle_ended(&mut self, now: Instant, arrived: impl Fn(LinkId) -> Bytes) {
        let mut given_up = Vec::new();
        for (&link, served) in &mut self.served {
            let before = std::mem::replace(&mut served.arrived, arrived(link));
            let brought = RadioEvent::Brought(link, served.arrived.saturating_sub(before));
            self.orders.push_back(Order::Tell(Input::Radio(RADIO, brought)));
            if served.failed.is_some_and(|failed| now - failed >= LINGER) {
                given_up.push(link);
            }
        }
        given_up.into_iter().for_each(|link| self.stop_serving(link));
        self.tell(RadioEvent::CycleEnded);
    }

    fn tell(&mut self, event: RadioEvent) {
        self.orders.push_back(Order::Tell(Input::Radio(RADIO, event)));
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
    fn serves(&self, link: LinkId) -> RadioEvent {
        let weight = self.config.weight(usize::from(link.0));
        if !self.peers.contains(&link) {
            return RadioEvent::Serves { link, weight };
        }
        let stays = match self.config.division {
            scenario::Division::Adaptive { least, .. } => least,
            scenario::Division::Weighted { slice, .. } => slice * weight,
        };
        RadioEvent::AdHoc { link, stays }
    }

    /// Takes a turn on each channel of the scenario.
    fn search(&mut self) {
        if std::mem::replace(&mut self.searches, true) {
            return;
        }
        let channels: BTreeSet<u8> = self.channels.values().copied().collect();
        let turn = |channel| RadioSlot {
            channel,
            serves: None,
            switch: self.config.switch,
            stays: DWELL,
        };
        let turns = channels.into_iter().map(turn).collect();
        self.orders.push_back(Order::TakeTurns(turns));
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

/// What `optimal_mbps` means for a client with a single radio.
pub fn caveat(plan: &Plan) -> Option<&'static str> {
    let is_single = plan.walkers.first().is_some_and(|client| client.radio.is_some());
    is_single.then_some(
        "the upper limit (`optimal_mbps`) counts every access point as if it had a radio of its own",
    )
}

/// The client's radios that draw power: one for each channel with access points, unless it has only one.
pub fn powered(plan: &Plan) -> Radios {
    let client = plan.walkers.first();
    let only = plan.access_points().next().map(|(_, ap)| u16::from(ap.channel));
    let radio = |link: &scenario::Link| {
        let kind: LinkKind = link.kind.word().into();
        let single = client.is_some_and(|client| client.radio.is_some()) && kind == LinkKind::Wifi;
        (kind, if single { only } else { link.kind.channel() })
    };
    Radios::of(
        plan.links.iter().map(radio),
        client.is_some_and(|client| client.power_save),
    )
}
