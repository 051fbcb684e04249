//! The air where some radios save power: their access points hold packets for them, and beacons say so.
//!
//! # Where we differ, and why
//! 1. Associations are made in the first milliseconds, without DHCP: elsewhere in virtual time they are there from the beginning. Datagrams wait
//!    for them. One that is lost is asked for again.
//! 2. A radio that saves power always does; drivers switch it off for some 100 ms when traffic comes.
//! 3. Probes to everyone are not held for a beacon with a DTIM: who sleeps misses them.
//!
//! # Checked by
//! `asleep_tests`; `tests/capture.rs`, where tshark sees the power-management bit and the polls.

use std::collections::VecDeque;

use links::air::wlan::{
    AccessPointConfig, ClientConfig, InterfaceId, Load, Wlan, WlanConfig, WlanError, WlanInput, WlanOutput,
};
use links::air::{Counters, Destination, Fate, Input, Medium, Output, Overheard, Packet, StationId};
use links::wifi::Join;
use links::{Direction, DropReason, LinkState};
use units::{Duration, Instant};

use super::cast::Cast;
use crate::traffic::HEADERS;

/// One association of a radio that saves power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleeper {
    /// The radio.
    pub radio: StationId,
    /// Its access point.
    pub access_point: StationId,
}

impl Sleeper {
    const fn ends(self, direction: Direction) -> (StationId, StationId) {
        match direction {
            Direction::Down => (self.access_point, self.radio),
            Direction::Up => (self.radio, self.access_point),
        }
    }

    /// Which way a packet goes, if it goes over this association.
    fn way(self, from: StationId, to: Destination) -> Option<Direction> {
        let goes = |direction: &Direction| {
            let (sender, receiver) = self.ends(*direction);
            (from, to) == (sender, Destination::Station(receiver))
        };
        [Direction::Down, Direction::Up].into_iter().find(goes)
    }
}

/// The air, with access points that know who sleeps.
#[derive(Debug)]
pub(super) struct Dormitory {
    wlan: Wlan,
    sleepers: Vec<Sleeper>,
    /// What waits for each association.
    waiting: Vec<Vec<(Direction, Packet)>>,
    /// Sender and bytes of each flow's datagrams.
    datagrams: Vec<(StationId, u32)>,
    outputs: VecDeque<(Instant, Output)>,
}

impl Dormitory {
    pub(super) fn new(seed: u64, cast: &Cast) -> Result<Self, WlanError> {
        let stations = &cast.air.stations;
        let access_points = (0..).zip(&cast.access_points).filter(|(_, link)| link.is_some());
        let access_points = access_points.map(|(place, _)| {
            let name = &stations[place as usize].name;
            AccessPointConfig::new(StationId(place), name)
        });
        let client = |sleeper: &Sleeper| ClientConfig {
            join: Join {
                scan: Duration::from_millis(5),
                dhcp: Duration::ZERO,
                ..Join::default()
            },
            ..ClientConfig::new(sleeper.radio)
        };
        let config = WlanConfig {
            air: cast.air.clone(),
            access_points: access_points.collect(),
            clients: cast.sleepers.iter().map(client).collect(),
        };
        let datagram = |flow: &crate::Flow| (flow.from, flow.payload + HEADERS);
        let mut dormitory = Self {
            wlan: Wlan::new(seed, &config)?,
            sleepers: cast.sleepers.clone(),
            waiting: vec![Vec::new(); cast.sleepers.len()],
            datagrams: cast.flows.iter().map(datagram).collect(),
            outputs: VecDeque::new(),
        };
        for place in 0..dormitory.sleepers.len() {
            dormitory.associate(Instant::ZERO, place);
        }
        Ok(dormitory)
    }

    pub(super) fn monitor(&mut self, station: StationId) {
        self.wlan.monitor(station);
    }

    pub(super) fn overheard(&mut self) -> Option<Overheard> {
        self.wlan.poll_overheard()
    }

    pub(super) fn transmissions(&self) -> u64 {
        self.wlan.air().transmissions()
    }

    fn associate(&mut self, now: Instant, place: usize) {
        let Sleeper { radio, access_point } = self.sleepers[place];
        self.wlan.handle(now, WlanInput::PowerSave(radio, false));
        let associate = WlanInput::Associate(InterfaceId(place), access_point);
        self.wlan.handle(now, associate);
    }

    fn send(&mut self, now: Instant, from: StationId, packet: Packet) {
        let over = self.sleepers.iter().enumerate();
        let mut over = over.filter_map(|(place, sleeper)| Some((place, sleeper.way(from, packet.to)?)));
        match over.next() {
            None => self.wlan.handle(now, WlanInput::Send(from, packet)),
            Some((place, way)) if self.wlan.state(InterfaceId(place)) != LinkState::Up => {
                self.waiting[place].push((way, packet));
            }
            Some((place, way)) => self.pass(now, place, way, packet),
        }
    }

    fn pass(&mut self, now: Instant, place: usize, way: Direction, packet: Packet) {
        let interface = InterfaceId(place);
        let load = Load {
            bytes: packet.bytes,
            flow: packet.flow,
            token: packet.token,
        };
        self.wlan.handle(
            now,
            match way {
                Direction::Down => WlanInput::Down(interface, load),
                Direction::Up => WlanInput::Up(interface, load),
            },
        );
    }

    /// Takes in what has happened.
    fn settle(&mut self, now: Instant) {
        while let Some((_, output)) = self.wlan.poll() {
            match output {
                WlanOutput::Delivered {
                    interface,
                    direction,
                    token,
                } => self.deliver(now, interface, direction, token),
                WlanOutput::Dropped { token, reason, .. } => self.lose(now, token, reason),
                WlanOutput::State(interface, state) => self.turn(now, interface.0, state),
                WlanOutput::Beacon { .. }
                | WlanOutput::Passed { .. }
                | WlanOutput::Found { .. }
                | WlanOutput::Scanned(_) => {}
                WlanOutput::Air(output) => self.outputs.push_back((now, output)),
            }
        }
    }

    fn deliver(&mut self, now: Instant, interface: InterfaceId, way: Direction, token: u64) {
        let (from, to) = self.sleepers[interface.0].ends(way);
        let (_, bytes) = self.datagrams[token as usize];
        let packet = Packet::new(Destination::Station(to), bytes, token);
        let received = Output::Received {
            station: to,
            from,
            packet,
        };
        self.outputs.push_back((now, received));
        self.done(now, from, packet, Fate::Acknowledged);
    }

    fn lose(&mut self, now: Instant, token: u64, reason: DropReason) {
        let (from, bytes) = self.datagrams[token as usize];
        let fate = match reason {
            DropReason::QueueFull => Fate::QueueFull,
            DropReason::Aqm => Fate::Dropped,
            DropReason::Detached => Fate::Withdrawn,
            DropReason::Retries | DropReason::Loss | DropReason::Fault => Fate::GivenUp,
        };
        self.done(now, from, Packet::new(Destination::Everyone, bytes, token), fate);
    }

    fn done(&mut self, now: Instant, station: StationId, packet: Packet, fate: Fate) {
        let done = Output::Done {
            station,
            packet,
            fate,
        };
        self.outputs.push_back((now, done));
    }

    /// An association has changed: who has one goes to sleep, who has lost it asks for another.
    fn turn(&mut self, now: Instant, place: usize, state: LinkState) {
        match state {
            LinkState::Up => {
                for (way, packet) in std::mem::take(&mut self.waiting[place]) {
                    self.pass(now, place, way, packet);
                }
                let radio = self.sleepers[place].radio;
                self.wlan.handle(now, WlanInput::PowerSave(radio, true));
            }
            LinkState::Down => self.associate(now, place),
            LinkState::Joining | LinkState::Carrier => {}
        }
    }
}

impl Medium for Dormitory {
    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Send(from, packet) => self.send(now, from, packet),
            Input::Move(station, position) => self.wlan.handle(now, WlanInput::Move(station, position)),
            Input::Attenuate(one, other, loss) => {
                self.wlan.handle(now, WlanInput::Attenuate(one, other, loss));
            }
            Input::Rate(from, to, rate) => self.wlan.handle(now, WlanInput::Rate(from, to, rate)),
            // What access points and radios do to manage themselves: nobody else does it here.
            Input::SendFirst(..) | Input::Withdraw(..) | Input::Tune(..) => {}
        }
        self.settle(now);
    }

    fn advance(&mut self, limit: Instant) -> Instant {
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
#[path = "asleep_tests.rs"]
mod tests;
