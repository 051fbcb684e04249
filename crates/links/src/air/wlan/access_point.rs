//! An access point: its beacons, its answers to joining clients, and the packets that it buffers for sleeping
//! clients. A peer of an ad hoc network is one that neither answers nor buffers.
//!
//! # Sources
//! - IEEE 802.11-2020 §4.3.2 and §11.1.4: stations of an ad hoc network (IBSS) join without association.
//!
//! # Where we differ, and why
//! 1. A peer of an ad hoc network sends all beacons. In the standard all stations of the network take turns.
//! 2. Clients do not tell such a peer that they leave its channel. The standard's announcements (ATIM,
//!    §11.2.4) need a common beacon time, and Juggler has none either.
//!
//! # Checked by
//! `tests`, `held_tests`, `ad_hoc_tests`.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use units::{Duration, Instant, Rng};

use super::super::io::{Destination, Fate, Input, Packet, StationId};
use super::message::{Message, Tag};
use super::{
    AccessPointConfig, Aid, AirConfig, Frame, InterfaceId, Load, Patience, Tim, Timer, Wlan, WlanOutput,
    load_of,
};
use crate::wifi::Join;
use crate::{Direction, DropReason, LinkId};

/// Number of beacons missed in a row before a client probes.
const MISSED: u32 = 7;

#[derive(Debug)]
pub(super) struct AccessPoint {
    pub(super) station: StationId,
    pub(super) channel: u8,
    /// Time between two beacons, if it sends any.
    pub(super) beacon: Option<Duration>,
    /// When the latest beacon was due. Until the first one: when that is due.
    pub(super) last_beacon: Instant,
    /// Number of beacons so far.
    pub(super) beacons: u64,
    /// The wire behind it, if it has its own.
    pub(super) wire: Option<LinkId>,
    /// How long joining takes here. `None`: as the client says.
    pub(super) join: Option<Join>,
    /// True while it is switched on.
    alive: bool,
    /// True while its DHCP server does not answer.
    silent: bool,
    room: usize,
    /// Associated clients, by interface.
    members: BTreeMap<usize, Member>,
    patience: Option<Patience>,
    /// Whether it is a peer of an ad hoc network.
    pub(super) ad_hoc: bool,
    /// Numbers and maps of the beacons that are not over yet, and of the one before them.
    maps: VecDeque<(u64, Arc<Tim>)>,
}

#[derive(Debug)]
struct Member {
    aid: Aid,
    asleep: bool,
    /// Frames given up since the last acknowledgement; `answered` is when that came.
    lost: u32,
    answered: Instant,
    /// Packets that wait for it to wake, with the tokens of frames.
    held: VecDeque<Load>,
}

impl AccessPoint {
    pub(super) fn new(seed: u64, config: &AccessPointConfig, air: &AirConfig, wire: Option<LinkId>) -> Self {
        let station = &air.stations[config.station.0 as usize];
        let mut phase = Rng::named(seed, &format!("{}/beacons", station.name));
        Self {
            station: config.station,
            channel: station.channel,
            beacon: config.beacon,
            last_beacon: Instant::ZERO + phase.duration_up_to(config.beacon.unwrap_or_default()),
            beacons: 0,
            wire,
            join: config.join,
            alive: true,
            silent: false,
            room: config.held,
            members: BTreeMap::new(),
            patience: config.patience,
            ad_hoc: config.ad_hoc,
            maps: VecDeque::new(),
        }
    }

    /// Time from one beacon until a client has missed seven. `None`: it sends none.
    pub(super) fn silence(&self) -> Option<Duration> {
        self.beacon.map(|beacon| beacon * (MISSED + 1))
    }

    /// Admits a client and returns its association identifier. `None`: all are assigned.
    pub(super) fn admit(&mut self, now: Instant, interface: usize) -> Option<Aid> {
        let known = self.members.get(&interface).map(|member| member.aid);
        let aid = known.or_else(|| Aid::free(self.members.values().map(|member| member.aid).collect()))?;
        let member = self.members.entry(interface).or_insert(Member {
            aid,
            asleep: false,
            lost: 0,
            answered: now,
            held: VecDeque::new(),
        });
        (member.asleep, member.lost, member.answered) = (false, 0, now);
        Some(aid)
    }

    /// The clients that it buffers packets for now.
    fn map_of_now(&self) -> Tim {
        let waits = self.members.values().filter(|member| !member.held.is_empty());
        Tim::of(waits.map(|member| member.aid))
    }

    /// Traffic indication map of a beacon.
    pub(super) fn map(&self, beacon: u64) -> Option<&Arc<Tim>> {
        let map = self.maps.iter().find(|(number, _)| *number == beacon);
        map.map(|(_, map)| map)
    }

    /// Forgets the maps of earlier beacons at the end of a beacon. Its receivers read its map at that time.
    fn forget_maps_before(&mut self, beacon: u64) {
        self.maps.retain(|(number, _)| *number >= beacon);
    }
}

impl Wlan {
    /// Schedules the first beacons. Access points are not synchronised: each starts at its own moment.
    pub(super) fn start_beacons(&mut self) {
        let numbered = self.access_points.iter().enumerate();
        for (number, ap) in numbered.filter(|(_, ap)| ap.beacon.is_some()) {
            self.timers.insert((ap.last_beacon, Timer::Beacon(number as u16)));
        }
    }

    pub(super) fn send_beacon(&mut self, now: Instant, place: usize) {
        let ap = &mut self.access_points[place];
        ap.last_beacon = now;
        let station = ap.station;
        let next = ap
            .beacon
            .map(|beacon| (now + beacon, Timer::Beacon(place as u16)));
        self.timers.extend(next);
        if !ap.alive {
            return;
        }
        ap.beacons += 1;
        let (number, map) = (ap.beacons, ap.map_of_now());
        let frame = Frame {
            bytes: Message::Beacon.bytes() + map.more_bytes(),
            first: true,
            ..Frame::default()
        };
        ap.maps.push_back((number, Arc::new(map)));
        let tag = Tag::new(Message::Beacon, 0, number);
        self.say(now, station, Destination::Everyone, tag, frame);
    }

    /// Handles a frame that an access point has received.
    pub(super) fn ap_receives(&mut self, now: Instant, ap: usize, from: StationId, tag: Tag, packet: Packet) {
        let place = tag.interface;
        if !self.is_of(from, place) {
            return;
        }
        if tag.message == Message::ProbeRequest {
            return self.answer_probe(now, ap, from, place);
        }
        if self.interfaces[place].ap != Some(ap) {
            return;
        }
        if tag.message == Message::Authenticate {
            // It joins anew: packets held or queued for the old association are dropped.
            self.forget(now, place);
        }
        if !self.access_points[ap].ad_hoc {
            self.note_power(now, place, packet.asleep);
        }
        if self.member(place).is_none() && tag.message.needs_association() {
            self.say_down(now, place, Message::Deauthentication);
        }
        match tag.message {
            Message::Authenticate => self.answer_later(now, place, Message::Authenticated),
            Message::Associate if self.access_points[ap].admit(now, place).is_some() => {
                self.answer_later(now, place, Message::Associated);
            }
            Message::Deauthentication => self.forget(now, place),
            Message::PsPoll => self.give_one(now, place),
            Message::DhcpDiscover => self.answer_later(now, place, Message::DhcpOffer),
            Message::DhcpRequest => self.answer_later(now, place, Message::DhcpAck),
            Message::Data => {
                let load = Load {
                    token: tag.token,
                    ..load_of(&packet)
                };
                self.pass_on(now, place, load);
            }
            _ => {}
        }
    }

    /// Answers a broadcast probe request, whether the client will join or not.
    fn answer_probe(&mut self, now: Instant, ap: usize, from: StationId, place: usize) {
        let frame = Frame {
            bytes: Message::ProbeResponse.bytes(),
            first: true,
            ..Frame::default()
        };
        let station = self.access_points[ap].station;
        let tag = Tag::new(Message::ProbeResponse, place, 0);
        self.say(now, station, Destination::Station(from), tag, frame);
    }

    /// Handles the fate of an access point's frame. Throws the client out if it has not acknowledged for too
    /// long.
    pub(super) fn note_answer(&mut self, now: Instant, ap: usize, tag: Tag, fate: Fate) {
        if tag.message == Message::Beacon {
            return self.access_points[ap].forget_maps_before(tag.token);
        }
        let AccessPoint {
            members, patience, ..
        } = &mut self.access_points[ap];
        let Some(member) = members.get_mut(&tag.interface) else {
            return;
        };
        match fate {
            Fate::Acknowledged => (member.lost, member.answered) = (0, now),
            Fate::GivenUp => member.lost += 1,
            Fate::Unknown | Fate::QueueFull | Fate::Dropped | Fate::Withdrawn => return,
        }
        let of = InterfaceId(tag.interface);
        let is_here = self.interfaces[tag.interface].ap == Some(ap);
        if is_here
            && patience.is_some_and(|most| member.lost >= most.frames && now >= member.answered + most.time)
        {
            self.deauthenticate(now, of);
        }
    }

    /// Whether an interface belongs to that radio.
    fn is_of(&self, station: StationId, place: usize) -> bool {
        let client = self.interfaces.get(place).map(|of| &self.clients[of.client]);
        client.is_some_and(|client| client.station == station)
    }

    fn member(&mut self, place: usize) -> Option<&mut Member> {
        let ap = self.interfaces[place].ap?;
        self.access_points[ap].members.get_mut(&place)
    }

    fn pass_on(&mut self, now: Instant, place: usize, load: Load) {
        if self.member(place).is_some() {
            let (interface, token) = (InterfaceId(place), load.token);
            self.tell(now, WlanOutput::Passed { interface, token });
            self.enter(now, interface, Direction::Up, load);
        } else {
            let tag = Tag::new(Message::Data, place, load.token);
            self.lose(now, tag, DropReason::Detached);
        }
    }

    /// Notes from a frame of a client whether the client sleeps after it.
    fn note_power(&mut self, now: Instant, place: usize, asleep: bool) {
        let Some(member) = self.member(place) else {
            return;
        };
        if core::mem::replace(&mut member.asleep, asleep) == asleep {
            return;
        }
        if asleep {
            let (station, client) = self.ends(place);
            self.air.handle(now, Input::Withdraw(station, client));
        } else {
            let held = core::mem::take(&mut member.held);
            for load in held {
                self.send_data(now, place, load, false);
            }
        }
    }

    /// Stations of the access point and of the client.
    fn ends(&self, place: usize) -> (StationId, StationId) {
        let of = &self.interfaces[place];
        let client = self.clients[of.client].station;
        (of.ap.map_or(client, |ap| self.access_points[ap].station), client)
    }

    /// Sends a packet that has left the wire to its client.
    pub(super) fn send_down(&mut self, now: Instant, place: usize, load: Load) {
        match self.member(place) {
            None => {
                if let Some(tag) = Tag::read(load.token) {
                    self.lose(now, tag, DropReason::Detached);
                }
            }
            Some(member) if member.asleep => self.keep_for_later(now, place, load),
            Some(_) => self.send_data(now, place, load, false),
        }
    }

    /// Buffers a packet for a sleeping client.
    pub(super) fn keep_for_later(&mut self, now: Instant, place: usize, load: Load) {
        let room = self.interfaces[place]
            .ap
            .map_or(0, |ap| self.access_points[ap].room);
        let reason = match self.member(place) {
            Some(member) if member.held.len() < room => {
                member.held.push_back(load);
                return;
            }
            Some(_) => DropReason::QueueFull,
            None => DropReason::Detached,
        };
        if let Some(tag) = Tag::read(load.token) {
            self.lose(now, tag, reason);
        }
    }

    fn send_data(&mut self, now: Instant, place: usize, load: Load, more: bool) {
        let (station, client) = self.ends(place);
        let Some(tag) = Tag::read(load.token) else {
            return;
        };
        let frame = Frame {
            bytes: load.bytes,
            flow: load.flow,
            more,
            ..Frame::default()
        };
        self.say(now, station, Destination::Station(client), tag, frame);
    }

    /// Sends one buffered packet to a sleeping client that has polled for it.
    fn give_one(&mut self, now: Instant, place: usize) {
        let Some(member) = self.member(place) else {
            return;
        };
        if let Some(load) = member.held.pop_front() {
            let more = !member.held.is_empty();
            self.send_data(now, place, load, more);
        }
    }

    fn say_down(&mut self, now: Instant, place: usize, message: Message) {
        let (station, client) = self.ends(place);
        // Management goes before data (mac80211: access category VO).
        let frame = Frame {
            bytes: message.bytes(),
            first: true,
            ..Frame::default()
        };
        let says = match message {
            Message::Associated => self.member(place).map_or(0, |member| member.aid.get()),
            _ => 0,
        };
        let tag = Tag::new(message, place, says.into());
        self.say(now, station, Destination::Station(client), tag, frame);
    }

    /// Schedules an answer. Joining has two exchanges with the access point and two with the DHCP server
    /// behind it. Each exchange takes half of their time.
    fn answer_later(&mut self, now: Instant, place: usize, message: Message) {
        let join = &self.interfaces[place].join;
        let time = match message {
            Message::DhcpOffer | Message::DhcpAck => join.dhcp / 2,
            _ => join.associate / 2,
        };
        self.timers
            .insert((now + time, Timer::Answer(place as u16, message)));
    }

    pub(super) fn answer(&mut self, now: Instant, place: usize, message: Message) {
        let Some(ap) = self.interfaces[place].ap else {
            return;
        };
        if !self.access_points[ap].alive {
            return;
        }
        if !matches!(message, Message::DhcpOffer | Message::DhcpAck) {
            self.say_down(now, place, message);
        } else if !self.access_points[ap].silent {
            let tag = Tag::new(message, place, 0);
            self.send_down(now, place, Load::new(message.bytes(), tag.write()));
        }
    }

    /// Switches an access point on or off.
    pub(super) fn switch(&mut self, now: Instant, station: StationId, on: bool) {
        let Some(place) = self.access_point_at(station) else {
            return;
        };
        let ap = &mut self.access_points[place];
        ap.alive = on;
        let channel = on.then_some(ap.channel);
        self.air.handle(now, Input::Tune(station, channel));
        if on {
            return;
        }
        for interface in 0..self.interfaces.len() {
            if self.interfaces[interface].ap == Some(place) {
                self.forget(now, interface);
                self.lose_association(now, interface);
            }
        }
    }

    pub(super) fn silence(&mut self, station: StationId, silent: bool) {
        if let Some(place) = self.access_point_at(station) {
            self.access_points[place].silent = silent;
        }
    }

    pub(super) fn deauthenticate(&mut self, now: Instant, interface: InterfaceId) {
        if self.member(interface.0).is_some() {
            self.forget(now, interface.0);
            self.say_down(now, interface.0, Message::Deauthentication);
        }
    }

    /// Removes a client: the packets held and queued for it are lost.
    fn forget(&mut self, now: Instant, place: usize) {
        let (station, client) = self.ends(place);
        let Some(ap) = self.interfaces[place].ap else {
            return;
        };
        if let Some(member) = self.access_points[ap].members.remove(&place) {
            let tags = member.held.iter().filter_map(|load| Tag::read(load.token));
            tags.for_each(|tag| self.lose(now, tag, DropReason::Detached));
        }
        self.air.handle(now, Input::Withdraw(station, client));
    }
}
