//! Access points and their clients on the exact medium: beacons, joining, power saving, radios that take
//! turns on several channels.
//!
//! [`Wlan`] keeps the contract of the whole crate: `handle` each input, `poll` until nothing is left, sleep
//! until `wake_at`, then `tick`. Every message between access points and clients is a frame on the air and
//! may be lost there.
//!
//! # Sources
//! - IEEE 802.11-2020 §11.1 (beacons, scanning), §11.3 (authentication, association, deauthentication, also
//!   of stations that send without being associated).
//! - IEEE 802.11-2020 §11.2.3 (power saving: the power-management bit, buffered frames, the traffic
//!   indication map, PS-Poll).
//! - RFC 2131 §3.1 (DHCP's four messages).
//! - Linux `net/mac80211/mlme.c`: after seven missed beacons the client probes with null frames, then
//!   deauthenticates (`join`).
//! - Linux `net/mac80211/status.c`, `ieee80211_lost_packet`, and hostapd's `disassoc_low_ack`: the access
//!   point deauthenticates a client that acknowledges nothing any more.
//!
//! # Where we differ, and why
//! 1. A client without a scan plan knows the channel of the access point that it is to join, and probes only
//!    there.
//! 2. The associations of one radio share its address. Each belongs to a different access point, which tells
//!    their frames apart.
//! 3. Broadcast frames are not buffered until a beacon announces them (§11.2.3.4): sleeping clients miss
//!    them.
//! 4. If all 2,007 identifiers are assigned, an access point does not answer further clients. The standard
//!    has a status code for it.
//!
//! # Checked by
//! `tests`, `scan_tests`, `held_tests`.
//!
//! | what | where |
//! |---|---|
//! | what a plan says | `config` |
//! | what frames mean | `message` |
//! | scanning, joining, losing | `join` |
//! | beacons, held packets | `access_point` |
//! | slots and sleep of a radio | `radio` |
//! | looking for access points on several channels | `scan` |
//! | what a client keeps while its radio is elsewhere | `elsewhere` |

mod access_point;
mod config;
mod elsewhere;
mod join;
mod message;
mod radio;
mod scan;

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use units::{Dbm, Instant};

pub use config::{
    AccessPointConfig, ClientConfig, InterfaceId, Load, Patience, Scan, ScanWay, Slot, Whom, WlanConfig,
    WlanError, WlanInput, WlanOutput,
};

use super::io::{Destination, Fate, Input, Output, Packet, StationId};
use super::{Aid, Air, AirConfig, FrameKind, Overheard, Says, Tim};
use crate::pipe::cables::Cables;
use crate::pipe::timers::earlier;
use crate::{Direction, DropReason, LinkState};
use access_point::AccessPoint;
use join::Interface;
use message::{Message, Tag};
use radio::Client;

/// Access points, clients, and the air between them.
#[derive(Debug)]
pub struct Wlan {
    air: Air,
    /// Wired segments behind the access points.
    wires: Cables,
    access_points: Vec<AccessPoint>,
    clients: Vec<Client>,
    interfaces: Vec<Interface>,
    /// Role of each station.
    roles: Vec<Role>,
    timers: BTreeSet<(Instant, Timer)>,
    outputs: VecDeque<(Instant, WlanOutput)>,
    overheard: VecDeque<Overheard>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Index among the access points.
    AccessPoint(usize),
    /// Index among the clients.
    Client(usize),
    Neither,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Beacon(u16),
    Answer(u16, Message),
    Interface(u16),
    Radio(u16),
}

impl Wlan {
    /// Builds everything at its start, [`Instant::ZERO`]. Nobody is associated yet. Each access point sends
    /// its first beacon at a random moment of its first interval.
    pub fn new(seed: u64, config: &WlanConfig) -> Result<Self, WlanError> {
        config.check()?;
        let mut air = config.air.clone();
        config.channels(&mut air);
        let mut wlan = Self {
            air: Air::new(seed, &air)?,
            wires: Cables::new(seed, config.wires())?,
            access_points: config.access_points(seed),
            clients: Vec::new(),
            interfaces: Vec::new(),
            roles: config.roles(),
            timers: BTreeSet::new(),
            outputs: VecDeque::new(),
            overheard: VecDeque::new(),
        };
        for (number, client) in config.clients.iter().enumerate() {
            let first = wlan.interfaces.len();
            let interface = || Interface::new(number, client.join);
            wlan.interfaces
                .extend(core::iter::repeat_with(interface).take(usize::from(client.interfaces)));
            wlan.clients
                .push(Client::new(client, &config.air, first..wlan.interfaces.len()));
        }
        wlan.start_beacons();
        Ok(wlan)
    }

    /// Processes one input that happens at `now`, after everything that was due until then.
    ///
    /// # Panics
    /// If there is no such interface or station. The same holds for all methods that take one.
    pub fn handle(&mut self, now: Instant, input: WlanInput) {
        self.tick(now);
        match input {
            WlanInput::Down(interface, load) => self.enter(now, interface, Direction::Down, load),
            WlanInput::Up(interface, load) => self.send_up(now, interface, load),
            WlanInput::Associate(interface, ap) => self.associate(now, interface, ap),
            WlanInput::Leave(interface) => self.leave(now, interface),
            WlanInput::Deauthenticate(interface) => self.deauthenticate(now, interface),
            WlanInput::Slots(client, slots) => self.plan(now, client, slots),
            WlanInput::Scan(client) => self.scan(now, client),
            WlanInput::PowerSave(client, on) => self.save_power(now, client, on),
            WlanInput::Move(station, position) => self.air.handle(now, Input::Move(station, position)),
            WlanInput::Attenuate(one, other, loss) => {
                self.air.handle(now, Input::Attenuate(one, other, loss));
            }
            WlanInput::Rate(from, to, rate) => self.air.handle(now, Input::Rate(from, to, rate)),
            WlanInput::Switch(ap, on) => self.switch(now, ap, on),
            WlanInput::Silence(ap, silent) => self.silence(ap, silent),
            WlanInput::Send(station, packet) => {
                let token = Tag::foreign(packet.token);
                self.air
                    .handle(now, Input::Send(station, Packet { token, ..packet }));
            }
        }
        self.settle(now);
    }

    /// Advances time up to and including `now`.
    pub fn tick(&mut self, now: Instant) {
        while let Some(at) = self.due().filter(|at| *at <= now) {
            self.air.tick(at);
            self.wires.tick(at);
            self.settle(at);
            while let Some(timer) = self.due_timer(at) {
                self.ring(at, timer);
                self.settle(at);
            }
        }
        self.air.tick(now);
        self.settle(now);
    }

    /// Next output, with its time.
    pub fn poll(&mut self) -> Option<(Instant, WlanOutput)> {
        self.outputs.pop_front()
    }

    /// Whether all outputs have been polled.
    pub fn is_settled(&self) -> bool {
        self.outputs.is_empty()
    }

    /// When to call [`Wlan::tick`] next, and what is due then.
    pub fn wake_at(&mut self) -> Option<(Instant, &'static str)> {
        let timer = self.timers.first().map(|&(at, timer)| (at, timer.reason()));
        let wakes = [self.air.wake_at(), self.wires.wake_at(), timer];
        wakes.into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// [`Wlan::wake_at`] without the reason.
    pub(crate) fn due(&mut self) -> Option<Instant> {
        let timer = self.timers.first().map(|&(at, _)| at);
        let others = earlier(timer, self.wires.due());
        earlier(self.air.due(), others)
    }

    /// Lets the air alone act up to `limit`, until it reports something or a timer is due. Returns when
    /// [`Wlan::tick`] has something to do, if that is not after `limit`.
    pub(crate) fn advance(&mut self, limit: Instant) -> Option<Instant> {
        let timer = self.timers.first().map(|&(at, _)| at);
        let others = earlier(timer, self.wires.due());
        self.air
            .advance_to_report(others.map_or(limit, |at| at.min(limit)));
        if self.air.has_reported_all() {
            others.filter(|at| *at <= limit)
        } else {
            Some(self.air.now())
        }
    }

    /// The air, for its counters.
    pub const fn air(&self) -> &Air {
        &self.air
    }

    /// Mean and current power at which one station receives another.
    pub fn signal(&mut self, from: StationId, to: StationId) -> (Dbm, Dbm) {
        self.air.signal(from, to)
    }

    /// Number of beacons that an access point has queued since the start.
    pub fn beacons(&self, ap: StationId) -> u64 {
        self.access_point_at(ap)
            .map_or(0, |ap| self.access_points[ap].beacons)
    }

    /// Makes [`Wlan::poll_overheard`] report from now on what a monitor interface of this station would show.
    pub fn monitor(&mut self, station: StationId) {
        self.air.monitor(station);
    }

    /// Next frame that a monitor has heard, with the caller's token of the packet in it, or [`Wlan::OURS`].
    pub fn poll_overheard(&mut self) -> Option<Overheard> {
        self.overheard.pop_front()
    }

    /// Token of frames that are not the caller's: the management frames of access points and clients.
    pub const OURS: u64 = u64::MAX;

    /// State of an association.
    pub fn state(&self, interface: InterfaceId) -> LinkState {
        self.interfaces[interface.0].state()
    }

    fn due_timer(&mut self, now: Instant) -> Option<Timer> {
        let first = *self.timers.first().filter(|(due, _)| *due <= now)?;
        self.timers.remove(&first);
        Some(first.1)
    }

    fn ring(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Beacon(ap) => self.send_beacon(now, usize::from(ap)),
            Timer::Answer(interface, message) => self.answer(now, usize::from(interface), message),
            Timer::Interface(interface) => self.wait_is_over(now, usize::from(interface)),
            Timer::Radio(client) => self.radio_wait_is_over(now, usize::from(client)),
        }
    }

    /// Collects the frames that monitors have heard, while their contents are still known.
    fn overhear(&mut self) {
        while let Some(mut frame) = self.air.poll_overheard() {
            if let FrameKind::Data { token, .. } = &mut frame.kind {
                if let Some(tag) = Tag::read(*token) {
                    frame.says = self.says(frame.from, tag);
                }
                *token = Tag::worlds(*token).unwrap_or(Self::OURS);
            }
            self.overheard.push_back(frame);
        }
    }

    fn says(&self, from: StationId, tag: Tag) -> Says {
        match tag.message {
            Message::Beacon => {
                let ap = self.access_point_at(from).map(|ap| &self.access_points[ap]);
                let map = ap.and_then(|ap| ap.map(tag.token));
                map.map_or(Says::Nothing, |map| Says::Held(map.clone()))
            }
            Message::Associated | Message::PsPoll => {
                Aid::new(tag.token as u16).map_or(Says::Nothing, Says::Association)
            }
            _ => Says::Nothing,
        }
    }

    /// Processes the outputs of the air and the wires. Mostly there are none.
    #[inline]
    fn settle(&mut self, now: Instant) {
        if !(self.air.has_reported_all() && self.wires.has_reported_all()) {
            self.take_all(now);
        }
    }

    fn take_all(&mut self, now: Instant) {
        self.overhear();
        loop {
            if let Some((at, output)) = self.air.poll_due() {
                self.take(at.max(now), output);
            } else if let Some((_, output)) = self.wires.poll_due() {
                self.arrive(now, output);
            } else {
                self.overhear();
                return;
            }
        }
    }

    fn take(&mut self, now: Instant, output: Output) {
        match output {
            Output::Received {
                station,
                from,
                packet,
            } => match (Tag::read(packet.token), self.access_point_at(station)) {
                (None, _) => self.tell_of_another(now, output),
                (Some(tag), Some(ap)) => self.ap_receives(now, ap, from, tag, packet),
                (Some(tag), None) => self.client_receives(now, station, from, tag, packet),
            },
            Output::Done {
                station,
                packet,
                fate,
            } => match Tag::read(packet.token) {
                None => self.tell_of_another(now, output),
                Some(tag) => self.done(now, station, tag, packet, fate),
            },
        }
    }

    /// Reports an output about a packet that belongs to no access point or client.
    fn tell_of_another(&mut self, now: Instant, mut output: Output) {
        let (Output::Received { packet, .. } | Output::Done { packet, .. }) = &mut output;
        packet.token = Tag::worlds(packet.token).unwrap_or(Self::OURS);
        self.tell(now, WlanOutput::Air(output));
    }

    /// Handles the fate of one of our frames.
    fn done(&mut self, now: Instant, station: StationId, tag: Tag, packet: Packet, fate: Fate) {
        let lost = !matches!(fate, Fate::Acknowledged | Fate::Unknown);
        let ap = self.access_point_at(station);
        if let Some(ap) = ap {
            self.note_answer(now, ap, tag, fate);
        } else if fate == Fate::Acknowledged {
            self.keep(now, tag.interface);
        }
        match tag.message {
            Message::Data | Message::DhcpOffer | Message::DhcpAck
                if fate == Fate::Withdrawn && ap.is_some() =>
            {
                self.send_down(now, tag.interface, load_of(&packet));
            }
            _ if fate == Fate::Withdrawn && self.is_elsewhere(tag.interface) && tag.message.is_data() => {
                self.keep_up(now, tag, load_of(&packet));
            }
            Message::Data if lost => self.lose(now, tag, reason(fate)),
            Message::Null => self.null_is_done(now, tag.interface, packet.asleep, fate),
            _ => {}
        }
    }

    fn lose(&mut self, now: Instant, tag: Tag, reason: DropReason) {
        if tag.message != Message::Data {
            return;
        }
        let (interface, token) = (InterfaceId(tag.interface), tag.token);
        let dropped = WlanOutput::Dropped {
            interface,
            token,
            reason,
        };
        self.tell(now, dropped);
    }

    /// Handles a packet that leaves the wire, at the access point or at the far end.
    fn arrive(&mut self, now: Instant, output: crate::Output) {
        match output {
            crate::Output::Delivered { packet, .. } => {
                let Some(tag) = Tag::read(packet.token) else {
                    return;
                };
                match packet.direction {
                    Direction::Down => {
                        let load = Load {
                            bytes: packet.bytes,
                            flow: packet.flow,
                            token: packet.token,
                        };
                        self.send_down(now, tag.interface, load);
                    }
                    Direction::Up => self.deliver(now, tag, Direction::Up),
                }
            }
            crate::Output::Dropped { packet, reason } => {
                if let Some(tag) = Tag::read(packet.token) {
                    self.lose(now, tag, reason);
                }
            }
            crate::Output::Beacon { .. }
            | crate::Output::Heard { .. }
            | crate::Output::Background { .. }
            | crate::Output::Radio(_)
            | crate::Output::State { .. } => {}
        }
    }

    /// Puts a packet into the wire of the interface's access point.
    fn enter(&mut self, now: Instant, interface: InterfaceId, direction: Direction, load: Load) {
        let tag = Tag::new(Message::Data, interface.0, load.token);
        let load = Load {
            token: tag.write(),
            ..load
        };
        let Some(ap) = self.interfaces[interface.0].ap else {
            self.lose(now, tag, DropReason::Detached);
            return;
        };
        match (self.access_points[ap].wire, direction) {
            (Some(link), _) => {
                let packet = crate::Packet {
                    link,
                    direction,
                    bytes: load.bytes,
                    ect: false,
                    token: load.token,
                    flow: load.flow,
                };
                self.wires.enter(now, packet);
            }
            (None, Direction::Down) => self.send_down(now, interface.0, load),
            (None, Direction::Up) => self.deliver(now, tag, Direction::Up),
        }
    }

    fn deliver(&mut self, now: Instant, tag: Tag, direction: Direction) {
        let delivered = WlanOutput::Delivered {
            interface: InterfaceId(tag.interface),
            direction,
            token: tag.token,
        };
        self.tell(now, delivered);
    }

    /// Puts one frame into a station's queue.
    fn say(&mut self, now: Instant, from: StationId, to: Destination, tag: Tag, frame: Frame) {
        let packet = Packet {
            subtype: tag.message.subtype(),
            asleep: frame.asleep,
            more: frame.more,
            flow: frame.flow,
            ..Packet::new(to, frame.bytes, tag.write())
        };
        let input = if frame.first {
            Input::SendFirst(from, packet)
        } else {
            Input::Send(from, packet)
        };
        self.air.handle(now, input);
    }

    fn access_point_at(&self, station: StationId) -> Option<usize> {
        match self.roles[station.0 as usize] {
            Role::AccessPoint(place) => Some(place),
            Role::Client(_) | Role::Neither => None,
        }
    }

    fn client_at(&self, station: StationId) -> Option<usize> {
        match self.roles[station.0 as usize] {
            Role::Client(place) => Some(place),
            Role::AccessPoint(_) | Role::Neither => None,
        }
    }

    fn tell(&mut self, now: Instant, output: WlanOutput) {
        self.outputs.push_back((now, output));
    }
}

/// A frame about to be queued.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    bytes: u32,
    flow: u32,
    first: bool,
    asleep: bool,
    more: bool,
}

impl Timer {
    const fn reason(self) -> &'static str {
        match self {
            Self::Beacon(_) => "beacon",
            Self::Answer(..) => "answer of an access point or its DHCP server",
            Self::Interface(_) => "an answer is overdue, or beacons are missed",
            Self::Radio(_) => "end of a slot, a switch, a sleep or a step of a scan",
        }
    }
}

/// Payload of one of our packets, with the token that it had on the air.
const fn load_of(packet: &Packet) -> Load {
    Load {
        bytes: packet.bytes,
        flow: packet.flow,
        token: packet.token,
    }
}

const fn reason(fate: Fate) -> DropReason {
    match fate {
        Fate::QueueFull => DropReason::QueueFull,
        Fate::Dropped => DropReason::Aqm,
        Fate::Withdrawn => DropReason::Detached,
        Fate::Acknowledged | Fate::Unknown | Fate::GivenUp => DropReason::Retries,
    }
}

#[cfg(test)]
mod ad_hoc_tests;
#[cfg(test)]
mod held_tests;
#[cfg(test)]
mod scan_tests;
#[cfg(test)]
mod tests;
