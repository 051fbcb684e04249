//! Access points and the client on the exact medium, which models every frame and management exchange.
//!
//! The client has a radio on each channel with access points, and hears all channels at once. Or it has a
//! single radio, which takes turns on them. It has a separate association with each access point. Other hosts
//! have radios and associations of their own, at fixed places. As for every other link, the network models
//! the wired segment behind an access point.
//!
//! # Sources
//! - [`air`](crate::air) and [`wlan`](crate::air::wlan) name their sources.
//! - Linux mac80211, `net/mac80211/tx.c`: packets to different receivers wait in separate queues and take
//!   turns.
//!
//! # Where we differ, and why
//! 1. Shadowing and attenuation apply between an access point and the client. Among access points, only
//!    distance and walls count.
//! 2. The best rate follows the mean signal, as in `wifi`, so `auto` means the same on both media.
//! 3. A client's radio takes its standard and 802.11n capabilities from the first access point on its
//!    channel. All access points there must be alike.
//! 4. The client's retransmissions are counted by their retry bit. Those that do not set it are missed
//!    ([`no_retry_bit_on_rate_change`](crate::air::Rules::no_retry_bit_on_rate_change)).
//! 5. Fading parameters and implementation loss are the same for the whole place.
//!
//! # Checked by
//! `tests`; `lab`'s `monitor` and `tests/ecn.rs`; `cli`'s `tests/both_worlds.rs`: UDP carries as much in the
//! lab as in virtual time.

mod background;
mod carried;
mod cast;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use units::{Bitrate, Db, Dbm, Duration, Instant, Rng};

use crate::air::wlan::{InterfaceId, Load, Slot, Whom, Wlan, WlanError, WlanInput, WlanOutput};
use crate::air::{self, Overheard, RateControl, Stamp, StationId};
use crate::config::NetworkConfig;
use crate::io::side;
use crate::pipe::timers::earlier;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};
use crate::wifi::{Propagation, Radio, Signal, Wall, WifiConfig, moved_mm};
use crate::{
    ConfigError, Counters, Datagrams, Direction, DropReason, LinkId, LinkState, Output, Position,
    RadioReport, RadioSlot,
};
use background::Background;
use carried::Carried;
pub use cast::Stations;
pub(crate) use cast::access_points;
use cast::{Cast, Member};

#[derive(Debug)]
pub(crate) struct Exact {
    wlan: Wlan,
    /// Names of the stations, by number.
    names: Vec<String>,
    all: Vec<Bss>,
    /// Place and power of the client's radios, and of those of each other host.
    radio: Radio,
    hosts: Vec<Radio>,
    /// The stations with background traffic.
    others: Vec<OtherRadio>,
    walls: Vec<Wall>,
    propagation: Propagation,
    carried: Carried,
    /// Packets that came out of the air, until the network takes them.
    passed: VecDeque<Entry>,
    heard: VecDeque<Overheard>,
    /// Whether to report what the client's radios hear.
    /// Whether the client's radios sleep while they have an address.
    power_save: bool,
    /// The client's only radio, if it has one for all access points.
    single: Option<StationId>,
    background: Background,
    now: Instant,
}

/// An access point, and the association of the client, or of another host, with it.
#[derive(Debug)]
struct Bss {
    link: LinkId,
    config: WifiConfig,
    station: StationId,
    /// The radio on its channel of the host that is associated.
    radio: StationId,
    /// The other host that is associated: an index in [`Exact::hosts`]. `None`: the client.
    host: Option<u16>,
    interface: InterfaceId,
    signal: Signal,
    /// Attenuation on top of the path loss of its position.
    loss: Db,
    /// Data rates, by [`side`].
    rates: [Option<Bitrate>; 2],
}

/// A station with background traffic.
#[derive(Debug, Clone, Copy)]
struct OtherRadio {
    station: StationId,
    /// Its place and power.
    radio: Radio,
}

impl OtherRadio {
    /// All of them, in the order of the configuration.
    fn all(config: &NetworkConfig, cast: &Cast<'_>) -> impl Iterator<Item = Self> {
        let known = config.background.stations.iter().zip(&cast.others);
        known.map(|(other, &station)| Self {
            station,
            radio: Radio {
                position: other.position,
                power: other.power,
            },
        })
    }
}

impl Exact {
    /// The initial state: no association.
    pub(crate) fn new(seed: u64, config: &NetworkConfig) -> Result<Self, ConfigError> {
        let cast = Cast::of(config)?;
        let propagation = cast.wlan.air.propagation;
        let mut wlan = Wlan::new(seed, &cast.wlan).map_err(refused)?;
        for member in cast.members.iter().filter(|member| !member.config.management) {
            wlan.admit(member.interface, member.station);
        }
        for &radio in cast.radios.iter().filter(|_| config.monitor) {
            wlan.monitor(radio);
        }
        let all = cast.members.iter().map(|member| Bss {
            link: member.link,
            config: member.config.clone(),
            station: member.station,
            radio: member.radio,
            host: member.host.map(|(index, _)| index),
            interface: member.interface,
            signal: signal(seed, member, config),
            loss: Db::default(),
            rates: [None; 2],
        });
        let stations = cast.wlan.air.stations.iter();
        let mut exact = Self {
            wlan,
            names: stations.map(|station| station.name.clone()).collect(),
            all: all.collect(),
            radio: config.radio,
            hosts: config.hosts.iter().map(|host| host.radio).collect(),
            others: OtherRadio::all(config, &cast).collect(),
            walls: config.walls.clone(),
            propagation,
            carried: Carried::default(),
            passed: VecDeque::new(),
            heard: VecDeque::new(),
            power_save: config.power_save,
            single: cast.radios.first().copied().filter(|_| config.single_radio),
            background: Background::new(config, &cast)?,
            now: Instant::ZERO,
        };
        (0..exact.all.len()).for_each(|bss| exact.follow(bss));
        (0..exact.others.len()).for_each(|other| exact.set_rates_of(other));
        Ok(exact)
    }

    /// Number of access points.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// When [`Exact::run`] is due.
    pub(crate) fn due(&mut self) -> Option<Instant> {
        if self.passed.is_empty() && self.wlan.is_settled() {
            earlier(self.wlan.due(), self.background.due())
        } else {
            Some(self.now)
        }
    }

    /// Runs what is due at `now`, and then what is due up to `limit`, until something comes out of the air.
    /// Returns when that was, and a packet, if one came out.
    pub(crate) fn run(
        &mut self,
        mut now: Instant,
        limit: Instant,
        exits: &mut Exits,
    ) -> (Instant, Option<Entry>) {
        loop {
            let entry = self.run_at(now, exits);
            if entry.is_some() || !exits.is_empty() || self.has_overheard() {
                return (now, entry);
            }
            let others = self.background.due().filter(|at| *at <= limit);
            match self.wlan.advance(others.unwrap_or(limit)).or(others) {
                Some(next) => now = next,
                None => return (now, None),
            }
        }
    }

    fn run_at(&mut self, now: Instant, exits: &mut Exits) -> Option<Entry> {
        self.now = now;
        while let Some((at, flow, count)) = self.background.next(now) {
            (0..count).for_each(|_| self.send_of_others(at, flow));
        }
        self.wlan.tick(now);
        while let Some((at, output)) = self.wlan.poll() {
            self.take(at, output, exits);
        }
        while let Some(frame) = self.wlan.poll_overheard() {
            self.heard.push_back(frame);
        }
        self.passed.pop_front()
    }

    /// The next frame that one of the client's radios heard or sent.
    pub(crate) fn overheard(&mut self) -> Option<Overheard> {
        self.heard.pop_front()
    }

    pub(crate) fn has_overheard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Sends a packet over the air: from the access point (arrived on its wire) or from the client.
    pub(crate) fn push(&mut self, now: Instant, bss: usize, entry: Entry, exits: &mut Exits) {
        let Entry { packet, .. } = entry;
        if self.state(bss) != LinkState::Up {
            return exits.drop(now, packet, DropReason::Detached);
        }
        let Bss {
            interface, config, ..
        } = &self.all[bss];
        let (interface, apart) = (*interface, config.fq_codel);
        let Ok(token) = self.carried.put(entry) else {
            return exits.drop(now, packet, DropReason::QueueFull);
        };
        let load = Load {
            bytes: packet.bytes,
            flow: if apart { packet.flow } else { 0 },
            token,
        };
        match packet.direction {
            Direction::Up => self.tell(now, WlanInput::Up(interface, load)),
            Direction::Down => self.tell(now, WlanInput::Down(interface, load)),
        }
    }

    pub(crate) fn state(&self, bss: usize) -> LinkState {
        self.wlan.state(self.all[bss].interface)
    }

    pub(crate) fn mean_signal(&self, bss: usize) -> Dbm {
        let Bss { config, signal, .. } = &self.all[bss];
        let propagation = &config.propagation;
        propagation.noise() + signal.mean(Direction::Down) + propagation.implementation_loss
    }

    pub(crate) fn mean_snr(&self, bss: usize, direction: Direction) -> Db {
        self.all[bss].signal.mean(direction)
    }

    /// The data rate. With rate control, the best rate for the mean signal.
    pub(crate) fn rate(&self, bss: usize, direction: Direction) -> Bitrate {
        let bss = &self.all[bss];
        bss.rates[side(direction)].unwrap_or_else(|| bss.signal.rate(direction))
    }

    /// The packets that wait for the air or are on it.
    pub(crate) fn depth(&self, bss: usize, direction: Direction) -> Depth {
        self.carried.depth(self.all[bss].link, direction)
    }

    pub(crate) fn associate(&mut self, now: Instant, bss: usize) {
        let Bss {
            interface, station, ..
        } = self.all[bss];
        self.sleep(now, bss, false);
        self.tell(now, WlanInput::Associate(interface, station));
    }

    pub(crate) fn leave(&mut self, now: Instant, bss: usize) {
        let interface = self.all[bss].interface;
        self.tell(now, WlanInput::Leave(interface));
    }

    /// Lets the client's single radio take turns. `places`: the access point of each slot.
    pub(crate) fn take_turns(&mut self, now: Instant, slots: &[RadioSlot], places: &[Option<usize>]) {
        let Some(radio) = self.single else { return };
        let slot = |(slot, place): (&RadioSlot, &Option<usize>)| Slot {
            channel: slot.channel,
            time: slot.stays,
            switch: Some(slot.switch),
            whom: place.map_or(Whom::Nobody, |bss| Whom::One(self.all[bss].station)),
        };
        let slots = slots.iter().zip(places).map(slot).collect();
        self.tell(now, WlanInput::Slots(radio, slots));
    }

    /// Switches an access point off or on.
    pub(crate) fn switch(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        let station = self.all[bss].station;
        if !on {
            self.purge_all(now, station, exits);
        }
        self.tell(now, WlanInput::Switch(station, on));
    }

    pub(crate) fn blackhole(&mut self, now: Instant, bss: usize, on: bool, exits: &mut Exits) {
        let station = self.all[bss].station;
        if on {
            self.purge_all(now, station, exits);
        }
        self.tell(now, WlanInput::Silence(station, on));
    }

    pub(crate) fn attenuate(&mut self, now: Instant, bss: usize, attenuation: Db) {
        self.now = now;
        self.all[bss].signal.attenuate(attenuation);
        self.follow(bss);
    }

    /// Place and power of the radios of the client (`None`), or of another host.
    fn radio(&mut self, host: Option<u16>) -> &mut Radio {
        match host {
            None => &mut self.radio,
            Some(host) => &mut self.hosts[usize::from(host)],
        }
    }

    /// Moves the radios of the client (`None`), or of another host.
    pub(crate) fn moved(&mut self, now: Instant, host: Option<u16>, position: Position) {
        let there = self.radio(host);
        let moved = moved_mm(there.position, position);
        there.position = position;
        let there = *there;
        let own = self.all.iter().filter(|bss| bss.host == host);
        let mut radios: Vec<StationId> = own.map(|bss| bss.radio).collect();
        radios.sort_unstable();
        radios.dedup();
        for radio in radios {
            self.tell(now, WlanInput::Move(radio, position));
        }
        for bss in 0..self.all.len() {
            let one = &mut self.all[bss];
            if one.host == host {
                one.signal.moved(moved, &one.config, there, &self.walls);
                self.follow(bss);
            }
        }
    }

    /// Moves a station with background traffic.
    pub(crate) fn moved_station(&mut self, now: Instant, other: usize, position: Position) {
        self.others[other].radio.position = position;
        self.tell(now, WlanInput::Move(self.others[other].station, position));
        self.set_rates_of(other);
    }

    /// Moves the access point of an association. Those of other hosts with it move with theirs.
    pub(crate) fn carried(&mut self, now: Instant, bss: usize, position: Position) {
        let station = self.all[bss].station;
        self.tell(now, WlanInput::Move(station, position));
        let radio = *self.radio(self.all[bss].host);
        let Bss { config, signal, .. } = &mut self.all[bss];
        let moved = moved_mm(config.position, position);
        config.position = position;
        signal.moved(moved, config, radio, &self.walls);
        self.follow(bss);
        (0..self.others.len()).for_each(|other| self.set_rates_of(other));
    }

    /// Adds what the link's access point and its clients sent over the air.
    pub(crate) fn counted(&self, bss: usize, known: Counters) -> Counters {
        let station = self.all[bss].station;
        let sent = self.wlan.air().counters(station);
        Counters {
            frames: sent.frames().saturating_sub(self.wlan.beacons(station)),
            retries: sent.own.repeats + sent.others.repeats,
            collisions: sent.own.collisions + sent.others.collisions,
            airtime: sent.occupied,
            ..known
        }
    }

    /// What each station has done, by its name.
    pub(crate) fn stations(&self) -> impl Iterator<Item = (&str, air::Counters)> {
        let numbered = (0..).map(StationId).zip(&self.names);
        numbered.map(|(station, name)| (&**name, self.wlan.air().counters(station)))
    }

    /// Each channel, and for how long there were frames on it.
    pub(crate) fn channels(&self) -> impl Iterator<Item = (u8, Duration)> {
        self.wlan.air().channels()
    }

    /// Datagrams of a flow of the background traffic since the start.
    pub(crate) fn background(&self, flow: u32) -> Datagrams {
        self.background.datagrams(flow)
    }

    fn tell(&mut self, now: Instant, input: WlanInput) {
        self.now = now;
        self.wlan.handle(now, input);
    }

    /// Starts or ends the radio's sleep between beacons, if power save is configured.
    fn sleep(&mut self, now: Instant, bss: usize, on: bool) {
        let Bss { radio, host, .. } = self.all[bss];
        if self.power_save && host.is_none() {
            self.tell(now.max(self.now), WlanInput::PowerSave(radio, on));
        }
    }

    /// Drops all packets at an access point because of a fault.
    fn purge_all(&mut self, now: Instant, station: StationId, exits: &mut Exits) {
        for bss in 0..self.all.len() {
            if self.all[bss].station == station {
                self.purge(now, bss, DropReason::Fault, exits);
            }
        }
    }

    fn purge(&mut self, now: Instant, bss: usize, reason: DropReason, exits: &mut Exits) {
        let link = self.all[bss].link;
        self.carried
            .take_all(link, |entry| exits.drop(now, entry.packet, reason));
    }

    fn take(&mut self, at: Instant, output: WlanOutput, exits: &mut Exits) {
        match output {
            WlanOutput::Delivered { token, .. } => self.passed.extend(self.carried.take(token)),
            WlanOutput::Dropped { token, reason, .. } => {
                if let Some(entry) = self.carried.take(token) {
                    exits.drop(at, entry.packet, reason);
                }
            }
            WlanOutput::State(interface, state) => {
                let place = self.all.iter().position(|bss| bss.interface == interface);
                let Some(bss) = place else { return };
                if state == LinkState::Down {
                    self.purge(at, bss, DropReason::Detached, exits);
                }
                exits.state(at, self.all[bss].link, state);
                if state == LinkState::Up {
                    self.sleep(at, bss, true);
                }
            }
            WlanOutput::Beacon { client, from } => {
                let (_, signal) = self.wlan.signal(from, client);
                let link = self
                    .all
                    .iter()
                    .find(|bss| (bss.station, bss.radio) == (from, client))
                    .map(|bss| bss.link);
                if let Some(link) = link {
                    exits.push(at, Output::Beacon { link, signal });
                }
            }
            WlanOutput::Turned { client, channel } if self.single == Some(client) => {
                exits.push(at, Output::Radio(RadioReport::Turned { channel }));
            }
            WlanOutput::CycleEnded(client) if self.single == Some(client) => {
                exits.push(at, Output::Radio(RadioReport::CycleEnded));
            }
            WlanOutput::Turned { .. } | WlanOutput::CycleEnded(_) => {}
            WlanOutput::Air(output) => self.take_of_others(at, output, exits),
            WlanOutput::Passed { .. } | WlanOutput::Found { .. } | WlanOutput::Scanned(_) => {}
        }
    }

    fn send_of_others(&mut self, at: Instant, flow: u32) {
        let (from, packet) = self.background.datagram(at, flow);
        self.wlan.handle(at, WlanInput::Send(from, packet));
    }

    /// Handles the outcome of a background datagram.
    fn take_of_others(&mut self, at: Instant, output: air::Output, exits: &mut Exits) {
        match output {
            air::Output::Received { packet, .. } => {
                let stamp = Stamp::read(packet.token);
                let received = Output::Background {
                    flow: stamp.flow(),
                    bytes: packet.bytes,
                    delay: stamp.age(at),
                };
                exits.push(at, received);
            }
            air::Output::Done { packet, fate, .. } => {
                let flow = Stamp::read(packet.token).flow();
                if self.background.is_done(at, flow, fate) {
                    self.send_of_others(at.max(self.now), flow);
                }
            }
        }
    }

    /// Sets the rates between another station and the access points, except under rate control. They suit the
    /// mean signal.
    fn set_rates_of(&mut self, other: usize) {
        let OtherRadio { station: own, radio } = self.others[other];
        for bss in 0..self.all.len() {
            let Bss {
                config: ap, station, ..
            } = &self.all[bss];
            let station = *station;
            if ap.ht.is_some() || ap.control != RateControl::Fixed {
                continue;
            }
            let mut ap = ap.clone();
            ap.propagation.shadowing = None;
            let signal = Signal::new(0, &ap, radio, &self.walls);
            let (up, down) = (signal.rate(Direction::Up), signal.rate(Direction::Down));
            let now = self.now;
            self.tell(now, WlanInput::Rate(own, station, up));
            self.tell(now, WlanInput::Rate(station, own, down));
        }
    }

    /// Updates the air's attenuation between an access point and the client, and their best rates.
    fn follow(&mut self, bss: usize) {
        let (position, now) = (self.radio(self.all[bss].host).position, self.now);
        let received = self.mean_signal(bss);
        let Bss {
            config,
            station,
            radio,
            ..
        } = &self.all[bss];
        let (station, radio) = (*station, *radio);
        let alone = config.power - self.propagation.loss(config.position, position, &self.walls);
        let controlled = config.ht.is_some() || config.control != RateControl::Fixed;
        let loss = alone - received;
        if core::mem::replace(&mut self.all[bss].loss, loss) != loss {
            self.tell(now, WlanInput::Attenuate(radio, station, loss));
        }
        if controlled {
            return;
        }
        for (direction, from, to) in [(Direction::Up, radio, station), (Direction::Down, station, radio)] {
            let bss = &mut self.all[bss];
            let rate = bss.signal.rate(direction);
            if bss.rates[side(direction)].replace(rate) != Some(rate) {
                self.tell(now, WlanInput::Rate(from, to, rate));
            }
        }
    }
}

/// The signal between an access point and a host. Each host has shadows and fading of its own.
fn signal(seed: u64, member: &Member<'_>, config: &NetworkConfig) -> Signal {
    match member.host {
        None => Signal::new(seed, member.config, config.radio, &config.walls),
        Some((_, host)) => {
            let own = Rng::named(seed, &format!("{}/signal", host.name)).next_u64();
            Signal::new(own, member.config, host.radio, &config.walls)
        }
    }
}

/// Roles, intervals and wires are correct by construction. Only errors of the configuration remain.
fn refused(error: WlanError) -> ConfigError {
    match error {
        WlanError::Air(error) => ConfigError::Air(error),
        WlanError::Wire(error) => error,
        WlanError::Role(_)
        | WlanError::NoInterface(_)
        | WlanError::NoAccessPoint(_)
        | WlanError::Scan(_)
        | WlanError::Beacon(_) => {
            unreachable!("{error}")
        }
    }
}

#[cfg(test)]
mod tests;
