//! A client's radio: slots on several channels, and sleep between beacons.
//!
//! # Sources
//! - Croitoru, Niculescu and Raiciu 2015, §7; Nicholson, Wolchok and Noble 2010 (Juggler), §3.3: before it turns away, a client tells the access
//!   points of the channel that it sleeps; on its return, that it is awake.
//! - Linux `net/mac80211/mlme.c`, `ieee80211_dynamic_ps_enable_work`: what is queued is sent before the frame that says that the client sleeps; a frame
//!   without that bit after it would say that it is awake.
//! - IEEE 802.11-2020 §11.2.3.6 (a client that sleeps wakes for beacons; if the map says so, it polls frame by frame).
//!
//! # Where we differ, and why
//! 1. A radio that sleeps wakes for every beacon of the access point that it joined first.
//! 2. Those who are told by one beacon that packets are held ask as soon as the medium is idle, so that two of them collide at first; the standard
//!    has each wait for a random time.
//! 3. A packet that is being tried when a radio has to turn away is finished or given up, as drivers' flushing of queues ends it.

use alloc::vec::Vec;
use core::ops::Range;
use units::{Duration, Instant};

use super::super::io::{Input, StationId};
use super::elsewhere::Kept;
use super::message::Message;
use super::scan::Search;
use super::{AirConfig, ClientConfig, Scan, Slot, Timer, Wlan};

/// A farewell that is not acknowledged by then is not waited for.
const FAREWELL: Duration = Duration::from_millis(10);
/// A radio wakes so long before a beacon.
const EARLY: Duration = Duration::from_millis(2);
/// A radio goes back to sleep if no beacon comes for so long.
const LATE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) station: StationId,
    pub(super) interfaces: Range<usize>,
    pub(super) channel: u8,
    roams: bool,
    pub(super) switch: Duration,
    slots: Vec<Slot>,
    pub(super) state: State,
    /// When its wait is over.
    until: Option<Instant>,
    /// Farewells that are not acknowledged yet.
    farewells: u32,
    pub(super) scan: Option<Scan>,
    pub(super) search: Search,
    /// What it would send if it were there.
    pub(super) kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It stays on a channel.
    Still,
    /// It is in a slot.
    Dwelling(usize),
    /// It tells access points that it will be away.
    Leaving(usize),
    /// It turns to the channel of a slot.
    Turning(usize),
    /// It tells access points that it will be away, to look for others.
    Parting,
    /// It turns to a channel of its scan; behind the last one, back to its own.
    Hopping(usize),
    /// It listens there before it asks who is there.
    Hushed(usize),
    /// It listens there, for the first time or for as long as it takes.
    Searching { leg: usize, stays: bool },
    /// It tells access points that it will sleep.
    Yawning,
    /// It sleeps.
    Dozing,
    /// It listens for a beacon, or for what it has asked for.
    Listening,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, air: &AirConfig, interfaces: Range<usize>) -> Self {
        let station = &air.stations[config.station.0 as usize];
        Self {
            station: config.station,
            interfaces,
            channel: station.channel,
            roams: config.roams,
            switch: config.switch,
            slots: Vec::new(),
            state: State::Still,
            until: None,
            farewells: 0,
            scan: config.scan.clone(),
            search: Search::new(station.channel),
            kept: Kept::new(station.queue),
        }
    }

    /// Whether it can be on that channel.
    pub(super) const fn reaches(&self, channel: u8) -> bool {
        self.roams || self.channel == channel
    }

    pub(super) const fn has_no_plan(&self) -> bool {
        self.slots.is_empty()
    }

    /// It saves power: what it sends says that it sleeps afterwards.
    pub(super) const fn dozes(&self) -> bool {
        matches!(self.state, State::Yawning | State::Dozing | State::Listening)
    }

    /// It looks for access points.
    pub(super) const fn searches(&self) -> bool {
        matches!(
            self.state,
            State::Parting | State::Hopping(_) | State::Hushed(_) | State::Searching { .. }
        )
    }

    /// It is on its way to another channel, or on one that is not its own.
    pub(super) const fn is_under_way(&self) -> bool {
        self.searches() || matches!(self.state, State::Leaving(_) | State::Turning(_))
    }

    /// It is about to sleep, when all that it has to send is sent: the last frame says so.
    pub(super) const fn is_going_to_sleep(&self) -> bool {
        matches!(self.state, State::Yawning)
    }
}

impl Wlan {
    /// Whether a radio misses the beacons on the channel of an interface: for those it wakes when it sleeps.
    pub(super) fn is_away(&self, place: usize) -> bool {
        let of = &self.interfaces[place];
        let client = &self.clients[of.client];
        let here = of
            .ap
            .is_some_and(|ap| self.access_points[ap].channel == client.channel);
        !here || client.is_under_way()
    }

    /// A radio takes turns on channels from now on.
    pub(super) fn plan(&mut self, now: Instant, station: StationId, slots: Vec<Slot>) {
        let Some(client) = self.client_at(station) else {
            return;
        };
        self.clients[client].slots = slots;
        match self.clients[client].slots.len() {
            0 => self.enter_state(client, State::Still, None),
            _ => self.say_farewell(now, client, State::Leaving(0)),
        }
    }

    /// A radio sleeps between beacons, or no longer.
    pub(super) fn save_power(&mut self, now: Instant, station: StationId, on: bool) {
        let Some(client) = self.client_at(station) else {
            return;
        };
        let state = self.clients[client].state;
        match (state, on) {
            (State::Still, true) => self.say_farewell(now, client, State::Yawning),
            (State::Yawning | State::Dozing | State::Listening, false) => {
                self.enter_state(client, State::Still, None);
                self.tune(now, client, Some(self.clients[client].channel));
                self.greet(now, client);
            }
            _ if self.clients[client].searches() => self.clients[client].search.sleeps = on,
            _ => {}
        }
    }

    pub(super) fn enter_state(&mut self, client: usize, state: State, until: Option<Instant>) {
        let of = &mut self.clients[client];
        (of.state, of.until) = (state, until);
        if let Some(until) = until {
            self.timers.insert((until, Timer::Radio(client as u16)));
        }
    }

    pub(super) fn tune(&mut self, now: Instant, client: usize, channel: Option<u8>) {
        let station = self.clients[client].station;
        self.air.handle(now, Input::Tune(station, channel));
    }

    /// The associations whose access points are on the radio's channel.
    pub(super) fn members_here(&self, client: usize) -> Vec<usize> {
        let of = &self.clients[client];
        let here = |&place: &usize| {
            let interface = &self.interfaces[place];
            let ap = interface.ap.filter(|_| interface.is_associated());
            ap.is_some_and(|ap| self.access_points[ap].channel == of.channel)
        };
        of.interfaces.clone().filter(here).collect()
    }

    /// Tells all access points of the channel that the radio will sleep; what follows waits for their acknowledgements, but not for ever.
    pub(super) fn say_farewell(&mut self, now: Instant, client: usize, state: State) {
        let members = self.members_here(client);
        self.clients[client].farewells = members.len() as u32;
        self.enter_state(client, state, Some(now + FAREWELL));
        for place in &members {
            self.say_up(now, *place, Message::Null, true);
        }
        if members.is_empty() {
            self.go(now, client);
        }
    }

    /// A frame without contents is done with: perhaps the last farewell.
    pub(super) fn farewell_is_said(&mut self, now: Instant, client: usize, asleep: bool) {
        let of = &mut self.clients[client];
        if !asleep || !matches!(of.state, State::Leaving(_) | State::Parting | State::Yawning) {
            return;
        }
        of.farewells = of.farewells.saturating_sub(1);
        if of.farewells == 0 {
            self.go(now, client);
        }
    }

    /// All farewells are said: turns away, or falls asleep.
    pub(super) fn go(&mut self, now: Instant, client: usize) {
        let of = &self.clients[client];
        let (state, until) = match of.state {
            State::Leaving(slot) => (State::Turning(slot), now + of.switch),
            State::Parting => return self.hop(now, client, 0),
            _ => (State::Dozing, self.next_beacon(now, client)),
        };
        self.tune(now, client, None);
        self.enter_state(client, state, Some(until));
        self.take_back(now, client);
    }

    /// When to listen for the next beacon.
    fn next_beacon(&self, now: Instant, client: usize) -> Instant {
        let mut interfaces = self.clients[client].interfaces.clone();
        let ap = interfaces.find_map(|place| self.interfaces[place].ap);
        let Some(ap) = ap.map(|ap| &self.access_points[ap]) else {
            return now + units::wifi::BEACON_INTERVAL;
        };
        let mut next = ap.last_beacon;
        while next <= now + EARLY {
            next += ap.beacon;
        }
        Instant::from_nanos(next.as_nanos() - EARLY.as_nanos() as u64)
    }

    /// Tells all access points of the channel that the radio is awake.
    pub(super) fn greet(&mut self, now: Instant, client: usize) {
        for place in self.members_here(client) {
            self.say_up(now, place, Message::Null, false);
        }
    }

    pub(super) fn radio_wait_is_over(&mut self, now: Instant, client: usize) {
        let of = &self.clients[client];
        if of.until.is_none_or(|until| until > now) {
            return;
        }
        match of.state {
            State::Still => {}
            State::Dwelling(slot) => {
                let next = (slot + 1) % of.slots.len().max(1);
                self.say_farewell(now, client, State::Leaving(next));
            }
            State::Leaving(_) | State::Parting | State::Yawning => self.go(now, client),
            State::Hopping(leg) => self.land(now, client, leg),
            State::Hushed(leg) => self.ask_around(now, client, leg),
            State::Searching { leg, stays } => self.search_is_over(now, client, leg, stays),
            State::Turning(slot) => self.arrive_in_slot(now, client, slot),
            State::Dozing => self.listen(now, client),
            // No beacon, or no answer: back to sleep.
            State::Listening => {
                self.enter_state(client, State::Yawning, None);
                self.go(now, client);
            }
        }
    }

    fn arrive_in_slot(&mut self, now: Instant, client: usize, slot: usize) {
        let of = &mut self.clients[client];
        let Some(&Slot { channel, time }) = of.slots.get(slot) else {
            return;
        };
        of.channel = channel;
        self.tune(now, client, Some(channel));
        self.enter_state(client, State::Dwelling(slot), Some(now + time));
        self.greet(now, client);
        self.send_kept(now, client);
    }

    fn listen(&mut self, now: Instant, client: usize) {
        let channel = self.clients[client].channel;
        self.tune(now, client, Some(channel));
        self.enter_state(client, State::Listening, Some(now + EARLY + LATE));
    }

    /// A client that sleeps has something to send: it need not wait for a beacon.
    pub(super) fn wake_to_send(&mut self, now: Instant, client: usize) {
        if self.clients[client].state == State::Dozing {
            self.listen(now, client);
        }
    }

    /// A beacon has arrived: what it says is held is asked for.
    pub(super) fn wake_for_traffic(&mut self, now: Instant, client: usize, ap: Option<usize>, beacon: u64) {
        if self.clients[client].state != State::Listening {
            return;
        }
        let map = ap.and_then(|ap| self.access_points[ap].map(beacon));
        let holds = |place: &usize| {
            let of = &self.interfaces[*place];
            let held = map.zip(of.aid).is_some_and(|(map, aid)| map.holds(aid));
            of.ap == ap && held
        };
        let asked: Vec<usize> = self.clients[client].interfaces.clone().filter(holds).collect();
        if asked.is_empty() {
            self.go(now, client);
        }
        for place in asked {
            self.poll_one(now, client, place);
        }
    }

    fn poll_one(&mut self, now: Instant, client: usize, place: usize) {
        self.enter_state(client, State::Listening, Some(now + LATE));
        self.say_up(now, place, Message::PsPoll, true);
    }

    /// A packet that was asked for has arrived.
    pub(super) fn polled(&mut self, now: Instant, place: usize, more: bool) {
        let client = self.interfaces[place].client;
        if self.clients[client].state != State::Listening {
            return;
        }
        if more {
            self.poll_one(now, client, place);
        } else {
            self.enter_state(client, State::Listening, Some(now + EARLY));
        }
    }
}
