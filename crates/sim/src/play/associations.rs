//! The exact medium of a scenario: every frame, including management frames between access points and radios,
//! and the backhaul wires.
//!
//! A radio that is in reach when the run begins is associated already, as if it had come before, unless the
//! scenario says otherwise. A radio that comes into reach joins by exchanging frames. A radio that leaves
//! finds out by missing beacons, or is told.
//!
//! # Sources
//! - Those of [`links::air::wlan`].
//! - Linux `net/mac80211/mlme.c`: a radio that stays on a channel detects access points by their beacons, and
//!   probes before it joins.
//!
//! # Where we differ, and why
//! 1. A radio tries to join whenever it hears a beacon of an access point that it wants. It waits for no
//!    scheduled scan.
//! 2. Datagrams of a saturated flow wait for its association. Others are lost while there is none.
//! 3. Uploads that the backhaul drops are not counted as lost: the sender never learns of them.
//! 4. A radio that saves power always does. Real drivers switch power saving off for some 100 ms when traffic
//!    comes.
//! 5. Broadcast probes are not buffered for a beacon with a DTIM. A sleeping radio misses them, and they do
//!    not pass the backhaul.
//!
//! # Checked by
//! `associations_tests`, `tests/joining.rs`, `tests/backhaul.rs`, and `tests/capture.rs`, where tshark sees
//! joins, sleep and polls.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use links::air::wlan::{
    AccessPointConfig, ClientConfig, InterfaceId, Load, Patience, Wlan, WlanConfig, WlanError, WlanInput,
    WlanOutput,
};
use links::air::{Counters, Destination, Fate, Input, Medium, Output, Overheard, Packet, Stamp, StationId};
use links::wifi::frame_loss;
use links::{Direction, DropReason, LinkState};
use scenario::{LinkKind, Plan, models};
use units::wifi::BEACON_INTERVAL;
use units::{Duration, Instant, Ratio};

use super::backhaul;
use super::cast::Cast;
use super::joins::Change;
use crate::traffic::{HEADERS, Pace, with_flow};

/// A radio and an access point that it is associated with whenever possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Association {
    /// The radio.
    pub radio: StationId,
    /// The access point.
    pub access_point: StationId,
    /// Owner of the radio: an index in [`Plan::walkers`].
    pub walker: usize,
    /// Link of the access point: an index in [`Plan::links`].
    pub link: usize,
    /// Whether the radio saves power.
    pub sleeps: bool,
    /// Whether the association may exist before the run begins.
    pub may_be_old: bool,
}

/// Length of the frame that decides whether an access point is in reach: that of its beacons.
const BEACON_BYTES: u32 = 250;

/// The air, with all associations.
#[derive(Debug)]
pub(super) struct Associations {
    wlan: Wlan,
    all: Vec<Association>,
    /// Per station: the associations of its radio.
    places: Vec<Range<usize>>,
    courses: Vec<Course>,
    /// Per association: the flows that wait for it.
    waiting: Vec<Vec<u32>>,
    /// Packets in flight by token.
    under_way: BTreeMap<u64, UnderWay>,
    changes: VecDeque<Change>,
    outputs: VecDeque<(Instant, Output)>,
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    sent: Instant,
    /// Whether its sender is done with it.
    is_done: bool,
}

/// Path of a flow's datagrams.
#[derive(Debug, Clone, Copy)]
struct Course {
    from: StationId,
    to: Destination,
    bytes: u32,
    /// `None`: broadcast, or over a wire beside the air.
    over: Option<(usize, Direction)>,
    /// Whether a datagram waits if it cannot be sent.
    waits: bool,
    packets: u64,
}

impl Associations {
    pub(super) fn new(seed: u64, plan: &Plan, cast: &Cast) -> Result<Self, WlanError> {
        let all = cast.associations.clone();
        let config = WlanConfig {
            air: cast.air.clone(),
            access_points: access_points(plan, cast),
            clients: clients(&all),
        };
        let mut places = vec![0..0; cast.air.stations.len()];
        for (place, association) in all.iter().enumerate() {
            let of = &mut places[association.radio.0 as usize];
            let first = if of.end == 0 { place } else { of.start };
            *of = first..place + 1;
        }
        let stations = cast.air.stations.len();
        let is_on_the_air = |flow: &crate::Flow| (flow.from.0 as usize) < stations;
        let course = |flow: &crate::Flow| Course {
            from: flow.from,
            to: flow.to,
            bytes: flow.payload + HEADERS,
            over: is_on_the_air(flow).then(|| over(&all, flow)).flatten(),
            waits: flow.pace == Pace::Saturated,
            packets: 0,
        };
        let mut associations = Self {
            wlan: Wlan::new(seed, &config)?,
            places,
            courses: cast.flows.iter().map(course).collect(),
            waiting: vec![Vec::new(); all.len()],
            under_way: BTreeMap::new(),
            changes: VecDeque::new(),
            outputs: VecDeque::new(),
            all,
        };
        associations.begin(plan, cast);
        Ok(associations)
    }

    /// Associates every radio in reach at the start, and those of access points without management frames.
    fn begin(&mut self, plan: &Plan, cast: &Cast) {
        for place in 0..self.all.len() {
            let Association {
                radio,
                access_point,
                link,
                sleeps,
                may_be_old,
                ..
            } = self.all[place];
            let is_old =
                may_be_old && self.hears(cast, radio, access_point) && self.hears(cast, access_point, radio);
            if is_old || !has_management(plan, link) {
                self.wlan.admit(InterfaceId(place), access_point);
                self.wlan
                    .handle(Instant::ZERO, WlanInput::PowerSave(radio, sleeps));
            }
        }
        self.settle(Instant::ZERO);
    }

    /// Whether `to` detects a beacon of `from` at the mean signal, and receives it with a probability above
    /// one half.
    fn hears(&mut self, cast: &Cast, to: StationId, from: StationId) -> bool {
        let station = &cast.air.stations[to.0 as usize];
        let (mean, _) = self.wlan.signal(from, to);
        let snr = cast.air.propagation.snr(mean);
        let lost = frame_loss(station.standard, station.standard.basic_rate(), snr, BEACON_BYTES);
        mean >= station.carrier_sense && lost < Ratio::from_fraction(1, 2)
    }

    pub(super) fn monitor(&mut self, station: StationId) {
        self.wlan.monitor(station);
    }

    /// Next frame that a monitor has heard. The token of its packet is the number of its flow.
    pub(super) fn overheard(&mut self) -> Option<Overheard> {
        self.wlan.poll_overheard().map(with_flow)
    }

    pub(super) fn transmissions(&self) -> u64 {
        self.wlan.air().transmissions()
    }

    /// Each channel, and for how long there were frames on it.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        self.wlan.air().channels()
    }

    pub(super) fn beacons(&self, station: StationId) -> u64 {
        self.wlan.beacons(station)
    }

    /// State of an association.
    pub(super) fn state(&self, place: usize) -> LinkState {
        self.wlan.state(InterfaceId(place))
    }

    /// Next change of an association.
    pub(super) fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    fn send(&mut self, now: Instant, from: StationId, packet: Packet) {
        let flow = flow_of(packet.token);
        let Course { over, waits, .. } = self.courses[flow as usize];
        let Some((place, way)) = over else {
            return self.wlan.handle(now, WlanInput::Send(from, packet));
        };
        match (self.state(place), way) {
            (LinkState::Up, _) => self.pass(now, flow, place, way),
            _ if waits => self.waiting[place].push(flow),
            // The access point may not have noticed yet.
            (LinkState::Down, Direction::Down) => self.pass(now, flow, place, way),
            _ => self.done(now, flow, Fate::Withdrawn),
        }
    }

    fn pass(&mut self, now: Instant, flow: u32, place: usize, way: Direction) {
        let course = &mut self.courses[flow as usize];
        // Not its stamp: tokens have 40 bits here, and must differ.
        let name = (course.packets << Stamp::FLOW_BITS & ((1 << 40) - 1)) | u64::from(flow);
        course.packets += 1;
        let packet = UnderWay {
            sent: now,
            is_done: false,
        };
        self.under_way.insert(name, packet);
        let interface = InterfaceId(place);
        let load = Load {
            bytes: course.bytes,
            flow,
            token: name,
        };
        self.wlan.handle(
            now,
            match way {
                Direction::Down => WlanInput::Down(interface, load),
                Direction::Up => WlanInput::Up(interface, load),
            },
        );
    }

    /// Processes all outputs of the WLAN.
    fn settle(&mut self, now: Instant) {
        while let Some((at, output)) = self.wlan.poll() {
            match output {
                WlanOutput::Delivered { token, .. } => self.deliver(now, token),
                WlanOutput::Dropped { token, reason, .. } => self.lose(now, token, reason),
                WlanOutput::Passed { token, .. } => self.leave_the_air(now, token),
                WlanOutput::State(interface, state) => {
                    self.changes.push_back(Change {
                        at,
                        association: interface.0,
                        state,
                    });
                    self.apply_state(now, interface.0, state);
                }
                WlanOutput::Beacon { client, from } => self.notice(now, client, from),
                WlanOutput::Air(output) => self.outputs.push_back((now, output)),
                WlanOutput::Found { .. }
                | WlanOutput::Scanned(_)
                | WlanOutput::Turned { .. }
                | WlanOutput::CycleEnded(_) => {}
            }
        }
    }

    /// An upload has reached its access point, so its radio may send the next one.
    fn leave_the_air(&mut self, now: Instant, name: u64) {
        if let Some(packet) = self.under_way.get_mut(&name)
            && !std::mem::replace(&mut packet.is_done, true)
        {
            self.done(now, flow_of(name), Fate::Acknowledged);
        }
    }

    fn deliver(&mut self, now: Instant, name: u64) {
        let Some(UnderWay { sent, is_done }) = self.under_way.remove(&name) else {
            return;
        };
        let flow = flow_of(name);
        let Course { from, to, .. } = self.courses[flow as usize];
        if let Destination::Station(station) = to {
            let packet = self.packet(flow, sent);
            self.outputs.push_back((
                now,
                Output::Received {
                    station,
                    from,
                    packet,
                },
            ));
        }
        if !is_done {
            self.done(now, flow, Fate::Acknowledged);
        }
    }

    /// A packet is lost, or its sender believes so.
    fn lose(&mut self, now: Instant, name: u64, reason: DropReason) {
        let fate = match reason {
            DropReason::QueueFull => Fate::QueueFull,
            DropReason::Aqm => Fate::Dropped,
            DropReason::Detached => Fate::Withdrawn,
            DropReason::Retries | DropReason::Loss | DropReason::Fault => Fate::GivenUp,
        };
        match self.under_way.get(&name).map(|packet| packet.is_done) {
            // The access point has the packet, but its ACK was lost.
            Some(true) if reason == DropReason::Retries => {}
            Some(true) => drop(self.under_way.remove(&name)),
            Some(false) => {
                self.under_way.remove(&name);
                self.done(now, flow_of(name), fate);
            }
            None => {}
        }
    }

    fn packet(&self, flow: u32, sent: Instant) -> Packet {
        let Course { to, bytes, .. } = self.courses[flow as usize];
        Packet::new(to, bytes, Stamp::new(flow, sent).token())
    }

    fn done(&mut self, now: Instant, flow: u32, fate: Fate) {
        let done = Output::Done {
            station: self.courses[flow as usize].from,
            packet: self.packet(flow, now),
            fate,
        };
        self.outputs.push_back((now, done));
    }

    /// A radio has heard an access point that it is not associated with: starts to associate.
    fn notice(&mut self, now: Instant, radio: StationId, from: StationId) {
        for place in self.places[radio.0 as usize].clone() {
            if self.all[place].access_point == from && self.state(place) == LinkState::Down {
                let associate = WlanInput::Associate(InterfaceId(place), from);
                self.wlan.handle(now, associate);
            }
        }
    }

    /// The state of an association has changed. When it is up, sends the waiting flows and applies power
    /// saving. When it is down, wakes the radio.
    fn apply_state(&mut self, now: Instant, place: usize, state: LinkState) {
        let Association { radio, sleeps, .. } = self.all[place];
        match state {
            LinkState::Up => {
                for flow in std::mem::take(&mut self.waiting[place]) {
                    if let Some((_, way)) = self.courses[flow as usize].over {
                        self.pass(now, flow, place, way);
                    }
                }
                self.wlan.handle(now, WlanInput::PowerSave(radio, sleeps));
            }
            LinkState::Down => self.wlan.handle(now, WlanInput::PowerSave(radio, false)),
            LinkState::Joining | LinkState::Carrier => {}
        }
    }
}

/// Whether the access point of this link sends management frames.
fn has_management(plan: &Plan, link: usize) -> bool {
    matches!(&plan.links[link].kind, LinkKind::Wifi(ap) if ap.management)
}

/// The flow of a packet with this token.
const fn flow_of(token: u64) -> u32 {
    Stamp::read(token).flow()
}

fn access_points(plan: &Plan, cast: &Cast) -> Vec<AccessPointConfig> {
    let links = (0..).zip(&cast.access_points);
    let all = links.filter_map(|(station, link)| {
        let link = &plan.links[(*link)?];
        let LinkKind::Wifi(ap) = &link.kind else {
            return None;
        };
        Some(AccessPointConfig {
            wire: Some(backhaul::cable(&link.name, ap)),
            join: Some(models::join(ap.join)),
            patience: (ap.management && !ap.ad_hoc).then(Patience::default),
            ad_hoc: ap.ad_hoc,
            beacon: ap.management.then_some(BEACON_INTERVAL),
            ..AccessPointConfig::new(StationId(station), &link.name)
        })
    });
    all.collect()
}

/// One client per radio, with one interface per association. The associations are sorted by radio.
fn clients(all: &[Association]) -> Vec<ClientConfig> {
    let radios = all.chunk_by(|one, next| one.radio == next.radio);
    let client = |of: &[Association]| ClientConfig {
        interfaces: of.len() as u16,
        roams: false,
        ..ClientConfig::new(of[0].radio)
    };
    radios.map(client).collect()
}

/// Association that a flow uses, and its direction.
fn over(all: &[Association], flow: &crate::Flow) -> Option<(usize, Direction)> {
    let Destination::Station(to) = flow.to else {
        return None;
    };
    let ways = all.iter().enumerate().find_map(|(place, of)| {
        if (of.access_point, of.radio) == (flow.from, to) {
            Some((place, Direction::Down))
        } else if (of.radio, of.access_point) == (flow.from, to) {
            Some((place, Direction::Up))
        } else {
            None
        }
    });
    ways.or_else(|| unreachable!("every radio is associated with the access points that its flows need"))
}

impl Medium for Associations {
    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Send(from, packet) => self.send(now, from, packet),
            Input::Move(station, position) => self.wlan.handle(now, WlanInput::Move(station, position)),
            Input::Attenuate(one, other, loss) => {
                self.wlan.handle(now, WlanInput::Attenuate(one, other, loss));
            }
            Input::Rate(from, to, rate) => self.wlan.handle(now, WlanInput::Rate(from, to, rate)),
            // Only access points and radios use these inputs, to manage themselves.
            Input::SendFirst(..) | Input::Withdraw(..) | Input::Tune(..) => {}
        }
        self.settle(now);
    }

    fn advance(&mut self, limit: Instant) -> Instant {
        // Another model with its own deadlines may not have taken our outputs yet.
        if let Some(&(now, _)) = self.outputs.back() {
            return now;
        }
        loop {
            let due = self.wlan.wake_at().map(|(at, _)| at).filter(|at| *at <= limit);
            let now = due.unwrap_or(limit);
            self.wlan.tick(now);
            self.settle(now);
            if due.is_none() || !self.outputs.is_empty() {
                return now;
            }
        }
    }

    fn poll_due(&mut self) -> Option<(Instant, Output)> {
        self.outputs.pop_front()
    }

    fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        self.wlan.wake_at()
    }

    fn counters(&self, station: StationId) -> Counters {
        self.wlan.air().counters(station)
    }
}

#[cfg(test)]
#[path = "associations_tests.rs"]
mod tests;
