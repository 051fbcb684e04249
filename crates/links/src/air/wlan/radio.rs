//! A client's radio: slots on several channels, and sleep between beacons.
//!
//! # Sources
//! - Croitoru, Niculescu and Raiciu 2015, §7; Nicholson, Wolchok and Noble 2010 (Juggler), §3.3: before a
//!   client leaves a channel, it tells the access points there that it sleeps. On its return it tells them
//!   that it is awake.
//! - Linux `net/mac80211/mlme.c`, `ieee80211_dynamic_ps_enable_work`: queued frames go out before the frame
//!   that announces sleep. A later frame without that bit would say that the client is awake.
//! - IEEE 802.11-2020 §11.2.3.6 (a sleeping client wakes for beacons; if the map announces packets, it polls
//!   frame by frame).
//!
//! # Where we differ, and why
//! 1. A sleeping radio wakes for every beacon of the access point that it joined first.
//! 2. Clients that learn from one beacon that packets are buffered poll as soon as the medium is idle. Two of
//!    them collide at first. The standard has each wait for a random time.
//! 3. A packet that is being tried when a radio has to leave its channel is finished or given up, as when
//!    drivers flush their queues.

use alloc::vec::Vec;
use core::ops::Range;
use units::{Duration, Instant};

use super::super::io::{Input, StationId};
use super::elsewhere::Kept;
use super::message::Message;
use super::scan::Search;
use super::{AccessPoint, AirConfig, ClientConfig, Scan, Slot, Timer, Whom, Wlan, WlanOutput};

/// Longest wait for the acknowledgement of a null frame that announces sleep.
const FAREWELL: Duration = Duration::from_millis(10);
/// How long before a beacon a radio wakes.
const EARLY: Duration = Duration::from_millis(2);
/// How long after the beacon was due a radio goes back to sleep if none comes.
const LATE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) station: StationId,
    pub(super) interfaces: Range<usize>,
    pub(super) channel: u8,
    roams: bool,
    pub(super) switch: Duration,
    slots: Vec<Slot>,
    /// The access points that know it as awake while it is on their channel.
    whom: Whom,
    pub(super) state: State,
    /// When its current wait ends.
    until: Option<Instant>,
    /// Null frames announcing sleep that are not acknowledged yet.
    farewells: u32,
    pub(super) scan: Option<Scan>,
    pub(super) search: Search,
    /// Packets that wait until the radio is back on its channel.
    pub(super) kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Stays on a channel.
    Still,
    /// Is in a slot.
    Dwelling(usize),
    /// Announces sleep to the access points before it turns to the channel of a slot.
    Leaving(usize),
    /// Switches to the channel of a slot.
    Turning(usize),
    /// Announces sleep to the access points before it scans.
    Parting,
    /// Switches to a channel of its scan; after the last one, back to its own.
    Hopping(usize),
    /// Listens on the channel before it sends the probe request.
    Hushed(usize),
    /// Listens on the channel: until the minimum time, or until the full time if it `stays`.
    Searching { leg: usize, stays: bool },
    /// Announces to the access points that it will sleep.
    Yawning,
    /// Sleeps.
    Dozing,
    /// Listens for a beacon, or for packets that it has polled for.
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
            whom: Whom::All,
            state: State::Still,
            until: None,
            farewells: 0,
            scan: config.scan.clone(),
            search: Search::new(station.channel),
            kept: Kept::new(station.queue),
        }
    }

    /// The time for which it is deaf before a slot.
    fn cost_of(&self, slot: usize) -> Duration {
        let own = self.slots.get(slot).and_then(|slot| slot.switch);
        own.unwrap_or(self.switch)
    }

    /// Whether it can use that channel.
    pub(super) const fn reaches(&self, channel: u8) -> bool {
        self.roams || self.channel == channel
    }

    pub(super) const fn has_no_plan(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether it exchanges packets with that access point on its present channel.
    pub(super) fn meets(&self, ap: &AccessPoint) -> bool {
        ap.channel == self.channel && self.whom.includes(ap.station)
    }

    /// Whether it need not leave anybody for that slot.
    fn is_in(&self, slot: &Slot) -> bool {
        matches!(self.state, State::Still | State::Dwelling(_))
            && (self.channel, self.whom) == (slot.channel, slot.whom)
    }

    /// Whether it saves power: its frames say that it sleeps afterwards.
    pub(super) const fn dozes(&self) -> bool {
        matches!(self.state, State::Yawning | State::Dozing | State::Listening)
    }

    /// Whether it scans for access points.
    pub(super) const fn searches(&self) -> bool {
        matches!(
            self.state,
            State::Parting | State::Hopping(_) | State::Hushed(_) | State::Searching { .. }
        )
    }

    /// Whether it is switching to another channel, or is on one that is not its own.
    pub(super) const fn is_under_way(&self) -> bool {
        self.searches() || matches!(self.state, State::Leaving(_) | State::Turning(_))
    }

    /// Whether it is about to sleep once its queue is empty. The last frame announces it.
    pub(super) const fn is_going_to_sleep(&self) -> bool {
        matches!(self.state, State::Yawning)
    }
}

impl Wlan {
    /// Whether a radio misses the beacons on an interface's channel. A sleeping radio does not: it wakes for
    /// them.
    pub(super) fn is_away(&self, place: usize) -> bool {
        let of = &self.interfaces[place];
        let client = &self.clients[of.client];
        let here = of.ap.is_some_and(|ap| client.meets(&self.access_points[ap]));
        !here || client.is_under_way()
    }

    /// Makes a radio take turns on channels from now on.
    pub(super) fn plan(&mut self, now: Instant, station: StationId, slots: Vec<Slot>) {
        let Some(client) = self.client_at(station) else {
            return;
        };
        let of = &mut self.clients[client];
        of.slots = slots;
        match of.state {
            _ if of.slots.is_empty() => {
                of.whom = Whom::All;
                self.enter_state(client, State::Still, None);
            }
            State::Leaving(_) => of.state = State::Leaving(0),
            State::Turning(_) => of.state = State::Turning(0),
            _ => self.turn_to_slot(now, client, 0),
        }
    }

    /// Turns to a slot. The radio stays where it is if that suits the slot.
    fn turn_to_slot(&mut self, now: Instant, client: usize, slot: usize) {
        let of = &self.clients[client];
        let Some(next) = of.slots.get(slot) else { return };
        if of.is_in(next) {
            self.enter_state(client, State::Dwelling(slot), Some(now + next.time));
        } else {
            self.say_farewell(now, client, State::Leaving(slot));
        }
    }

    /// Makes a radio start or stop sleeping between beacons.
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

    /// Associations whose access points the radio meets on its channel.
    pub(super) fn members_here(&self, client: usize) -> Vec<usize> {
        let of = &self.clients[client];
        let here = |&place: &usize| {
            let interface = &self.interfaces[place];
            let ap = interface.ap.filter(|_| interface.is_associated());
            ap.is_some_and(|ap| of.meets(&self.access_points[ap]))
        };
        of.interfaces.clone().filter(here).collect()
    }

    /// The same without peers of ad hoc networks, which do not buffer.
    fn buffering_here(&self, client: usize) -> Vec<usize> {
        let mut members = self.members_here(client);
        members.retain(|&place| {
            let ap = self.interfaces[place].ap;
            ap.is_some_and(|ap| !self.access_points[ap].ad_hoc)
        });
        members
    }

    /// Tells all access points on the channel that the radio will sleep. The next step waits for their
    /// acknowledgements, at most for `FAREWELL`.
    pub(super) fn say_farewell(&mut self, now: Instant, client: usize, state: State) {
        let members = self.buffering_here(client);
        self.clients[client].farewells = members.len() as u32;
        self.enter_state(client, state, Some(now + FAREWELL));
        for place in &members {
            self.say_up(now, *place, Message::Null, true);
        }
        if members.is_empty() {
            self.go(now, client);
        }
    }

    /// Handles the fate of a null frame: perhaps the last one that announces sleep.
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

    /// Leaves the channel or falls asleep, after all access points were told.
    pub(super) fn go(&mut self, now: Instant, client: usize) {
        let of = &self.clients[client];
        let (state, until) = match of.state {
            State::Leaving(slot) => (State::Turning(slot), now + of.cost_of(slot)),
            State::Parting => return self.hop(now, client, 0),
            _ => (State::Dozing, self.next_beacon(now, client)),
        };
        self.tune(now, client, None);
        self.enter_state(client, state, Some(until));
        self.take_back(now, client);
    }

    /// When to wake for the next beacon.
    fn next_beacon(&self, now: Instant, client: usize) -> Instant {
        let mut interfaces = self.clients[client].interfaces.clone();
        let ap = interfaces.find_map(|place| self.interfaces[place].ap);
        let ap = ap.map(|ap| &self.access_points[ap]);
        let Some((ap, beacon)) = ap.and_then(|ap| Some((ap, ap.beacon?))) else {
            return now + units::wifi::BEACON_INTERVAL;
        };
        let mut next = ap.last_beacon;
        while next <= now + EARLY {
            next += beacon;
        }
        Instant::from_nanos(next.as_nanos() - EARLY.as_nanos() as u64)
    }

    /// Tells all access points on the channel that the radio is awake.
    pub(super) fn greet(&mut self, now: Instant, client: usize) {
        for place in self.buffering_here(client) {
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
                if next == 0 {
                    self.tell(now, WlanOutput::CycleEnded(of.station));
                }
                self.turn_to_slot(now, client, next);
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
        let Some(&Slot {
            channel, time, whom, ..
        }) = of.slots.get(slot)
        else {
            return;
        };
        let station = of.station;
        let before = core::mem::replace(&mut of.channel, channel);
        of.whom = whom;
        self.tune(now, client, Some(channel));
        if channel != before {
            let client = station;
            self.tell(now, WlanOutput::Turned { client, channel });
        }
        self.enter_state(client, State::Dwelling(slot), Some(now + time));
        self.greet(now, client);
        self.send_kept(now, client);
        self.end_waits_of_returned(now, client);
    }

    fn listen(&mut self, now: Instant, client: usize) {
        let channel = self.clients[client].channel;
        self.tune(now, client, Some(channel));
        self.enter_state(client, State::Listening, Some(now + EARLY + LATE));
    }

    /// Wakes a sleeping client that has something to send. It need not wait for a beacon.
    pub(super) fn wake_to_send(&mut self, now: Instant, client: usize) {
        if self.clients[client].state == State::Dozing {
            self.listen(now, client);
        }
    }

    /// Polls for the packets that a beacon announces.
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

    /// Handles the arrival of a packet that was polled for.
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
