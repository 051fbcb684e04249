//! The medium: who receives which attempt of which frame, and who learns of it.
//!
//! It is given the time and does no I/O, as the media of `links`: call [`Air::hear`] with what the kernel
//! says, [`Air::run`] when [`Air::due`] has come, and send [`Air::requests`].
//!
//! # Where we differ, and why
//! 1. The client's radio hears every frame, as its monitor interface would. Others hear what is for them or
//!    for everybody: it costs the guest's processor less.
//! 2. Frames without QoS get their sequence numbers when they are first sent, as cards do that number them.
//!    The kernel numbers them when they enter the queue, and then beacons and frames to everybody overtake up
//!    to 180 numbers. A listener would count these as lost. CCMP does not protect the number.
//! 3. A radio is on the channel on which it last sent. One that only listens elsewhere still acknowledges.
//!
//! # Checked by
//! `tests`; `tests/wifi.rs` in the guest.

use std::collections::BTreeMap;
use std::io::Write;

use links::wifi::contention_window;
use serde_json::json;
use thiserror::Error;
use units::{Duration, Instant, MacAddr, Rng, SeqNum};
use wire::dot11::{Header, Kind};

use crate::channel::{Channel, Ended, Frame, Surroundings};
use crate::floor::{Floor, QUEUE};
use crate::hwsim::{self, Arrival, Event, Fate, Radio, Sent};
use crate::netlink::Requests;
use crate::rates;
use crate::truth::{Attempt, Truth, Way};

/// In the second octet of a frame.
const RETRY: u8 = 0x08;
/// Where the sequence control field is, and the bits of the fragment's number in it.
const SEQUENCE: usize = 22;
const FRAGMENT: u8 = 0x0f;
const FCS: u32 = 4;

/// What the medium cannot carry.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AirError {
    /// A rate of 802.11n or later.
    #[error(
        "radio {0} uses rates of 802.11n or later, which the medium has not; set ieee80211n=0 in hostapd's configuration"
    )]
    Rates(Radio),
    /// A radio that the scenario does not have.
    #[error("radio {0} is not in the scenario, which has one for the client and one for each access point")]
    Radio(Radio),
}

/// All channels of the box.
#[derive(Debug)]
pub struct Air<W: Write> {
    channels: BTreeMap<u32, Channel>,
    world: World<W>,
    seed: u64,
    /// When the scenario began.
    began: Option<Instant>,
}

/// Everything but the channels.
#[derive(Debug)]
struct World<W: Write> {
    family: u16,
    floor: Floor,
    /// The radio of each address, and how many interfaces have it: a monitor's may be a station's.
    owners: BTreeMap<MacAddr, (Radio, u32)>,
    /// The channel on which each radio last sent, in MHz.
    tuned: BTreeMap<Radio, u32>,
    /// The sequence number of each transmitter's next frame, and of each radio's frame on the air.
    next_number: BTreeMap<MacAddr, SeqNum>,
    number: BTreeMap<Radio, SeqNum>,
    rng: Rng,
    truth: Truth<W>,
    requests: Requests,
    /// A frame as it is delivered.
    scratch: Vec<u8>,
    frames: u64,
}

impl<W: Write> Air<W> {
    /// An idle medium. `family`: the kernel's number of [`hwsim::FAMILY`].
    pub fn new(family: u16, floor: Floor, seed: u64, truth: W, now: Instant) -> Self {
        let names = floor.aps.iter().map(|ap| ap.name.clone()).collect();
        Self {
            channels: BTreeMap::new(),
            seed,
            began: None,
            world: World {
                family,
                floor,
                owners: BTreeMap::new(),
                tuned: BTreeMap::new(),
                next_number: BTreeMap::new(),
                number: BTreeMap::new(),
                rng: Rng::named(seed, "losses"),
                truth: Truth::new(truth, names, now),
                requests: Requests::default(),
                scratch: Vec::new(),
                frames: 0,
            },
        }
    }

    /// Begins the scenario: until now, the client stood where its walk begins.
    pub fn begin(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        self.world.truth.event(now, "begun", &json!({}));
    }

    /// Takes in what the kernel says.
    pub fn hear(&mut self, now: Instant, event: Event<'_>) -> Result<(), AirError> {
        match event {
            Event::Frame(sent) => self.sent(now, &sent)?,
            Event::Address(radio, address) => {
                let owner = self.world.owners.entry(address).or_insert((radio, 0));
                *owner = (radio, owner.1 + 1);
            }
            Event::NoAddress(address) => {
                if let Some((_, interfaces)) = self.world.owners.get_mut(&address) {
                    *interfaces -= 1;
                }
                self.world.owners.retain(|_, (_, interfaces)| *interfaces > 0);
            }
        }
        Ok(())
    }

    fn sent(&mut self, now: Instant, sent: &Sent<'_>) -> Result<(), AirError> {
        let radio = sent.radio;
        if sent.has_later_rates {
            return Err(AirError::Rates(radio));
        }
        if !self.world.floor.radios().contains(&radio) {
            return Err(AirError::Radio(radio));
        }
        let Some(header) = Header::parse(sent.content) else {
            return Ok(());
        };
        self.world.tuned.insert(radio, sent.mhz);
        self.world.frames += 1;
        let frame = Frame {
            cookie: sent.cookie,
            content: sent.content.to_vec(),
            to: header.receiver,
            acknowledged: !sent.no_ack && !header.receiver.is_group(),
            data: matches!(header.kind, Kind::Data(_)),
            numbered: header.kind.is_numbered() && !header.kind.has_qos(),
            urgent: header.kind == Kind::BEACON,
            rates: sent.rates,
        };
        let channel = self.channels.entry(sent.mhz);
        let channel = channel.or_insert_with(|| Channel::new(sent.mhz, self.seed, now));
        let room = (self.world.floor.queue(radio), QUEUE);
        channel.push(now, (radio, frame), room, &mut self.world.at(sent.mhz));
        Ok(())
    }

    /// Runs all that is due.
    pub fn run(&mut self, now: Instant) {
        while let Some((at, place)) = self.next().filter(|(at, _)| *at <= now) {
            self.world.truth.late(now.since(at));
            self.settle(at);
            let Some(mhz) = place else { continue };
            if let Some(channel) = self.channels.get_mut(&mhz) {
                channel.run(at, &mut self.world.at(mhz));
            }
        }
    }

    /// Moves the client, and ends bins of the truth.
    fn settle(&mut self, at: Instant) {
        let floor = &mut self.world.floor;
        if let Some(began) = self.began {
            floor.advance(at.since(began));
        }
        let floor = &self.world.floor;
        let signal = |ap: usize| floor.signal(ap as Radio + 1, 0);
        self.world.truth.advance(at, signal);
    }

    /// When [`Self::run`] is due next.
    pub fn due(&self) -> Instant {
        let bin = self.world.truth.due();
        self.next().map_or(bin, |(at, _)| at)
    }

    /// The next event, with its channel; none for the end of a bin.
    fn next(&self) -> Option<(Instant, Option<u32>)> {
        let channels = self.channels.iter();
        let channels = channels.filter_map(|(&mhz, channel)| Some((channel.due()?, Some(mhz))));
        channels
            .chain([(self.world.truth.due(), None)])
            .min_by_key(|(at, _)| *at)
    }

    /// What the kernel is to be told.
    pub const fn requests(&mut self) -> &mut Requests {
        &mut self.world.requests
    }

    /// Ends the truth. `refused`: requests that the kernel has refused.
    pub fn finish(&mut self, now: Instant, refused: u64) -> std::io::Result<()> {
        self.run(now);
        let figures = json!({"frames": self.world.frames, "refused": refused});
        self.world.truth.event(now, "ended", &figures);
        self.world.truth.failed().map_or(Ok(()), Err)
    }
}

impl<W: Write> World<W> {
    const fn at(&mut self, mhz: u32) -> Here<'_, W> {
        Here { world: self, mhz }
    }

    /// Writes the frame of an attempt as it is delivered.
    fn write(&mut self, ended: &Ended<'_>) {
        let frame = &mut self.scratch;
        frame.clear();
        frame.extend_from_slice(&ended.frame.content);
        if ended.number > 0
            && let Some(flags) = frame.get_mut(1)
        {
            *flags |= RETRY;
        }
        let (Some(from), true) = (frame.get(10..16), ended.frame.numbered) else {
            return;
        };
        if ended.number == 0 {
            let from = MacAddr::new(std::array::from_fn(|place| from[place]));
            let next = self.next_number.entry(from).or_default();
            self.number.insert(ended.radio, *next);
            *next = next.next();
        }
        let number = self.number.get(&ended.radio).copied().unwrap_or_default();
        if let Some([low, high]) = frame.get_mut(SEQUENCE..SEQUENCE + 2) {
            [*low, *high] = (number.get() << 4 | u16::from(*low & FRAGMENT)).to_le_bytes();
        }
    }

    fn owner(&self, address: MacAddr) -> Option<Radio> {
        self.owners.get(&address).map(|(radio, _)| *radio)
    }

    /// The access point of a pair of radios, and the direction.
    fn link(&self, from: Radio, to: Radio) -> Option<(usize, Way)> {
        let ap = |radio: Radio| usize::from(radio).checked_sub(1);
        match (ap(from), ap(to)) {
            (Some(ap), None) => Some((ap, Way::Down)),
            (None, Some(ap)) => Some((ap, Way::Up)),
            _ => None,
        }
    }
}

/// The surroundings of one channel.
struct Here<'w, W: Write> {
    world: &'w mut World<W>,
    mhz: u32,
}

impl<W: Write> Here<'_, W> {
    /// Delivers an attempt to a radio, if it gets through. Returns whether the radio received it, and whether
    /// an acknowledgement would get back.
    fn try_deliver(&mut self, ended: &Ended<'_>, to: Radio) -> (bool, bool) {
        let Self { world, mhz } = self;
        let mode = ended.mode;
        let bytes = ended.frame.content.len() as u32 + FCS;
        let odds = world
            .floor
            .odds(ended.radio, to, (mode.phy, mode.rate), bytes, ended.frame.data);
        // Both are always drawn: a change of one place leaves the others' draws alone.
        let (lost, ack_lost) = (world.rng.chance(odds.frame), world.rng.chance(odds.ack));
        let received = !ended.collided && !lost;
        if received {
            let arrival = Arrival {
                radio: to,
                content: &world.scratch,
                rate: mode.index,
                signal: world.floor.signal(ended.radio, to),
                mhz: *mhz,
            };
            hwsim::deliver(&mut world.requests, world.family, &arrival);
        }
        (received, received && !ack_lost)
    }

    fn record(&mut self, ended: &Ended<'_>, to: Radio, acknowledged: bool) {
        let standard = rates::standard(self.mhz);
        let window = contention_window(standard, ended.number);
        let attempt = Attempt {
            number: ended.number,
            acknowledged,
            collided: ended.collided,
            last: ended.last,
            rate: ended.mode.rate,
            bytes: ended.frame.content.len() as u32,
            air: ended.air,
            with_contention: ended.air + standard.difs() + standard.slot() * window / 2,
        };
        if let Some((ap, way)) = self.world.link(ended.radio, to) {
            self.world.truth.attempt(ap, way, &attempt);
        }
    }
}

impl<W: Write> Surroundings for Here<'_, W> {
    fn end(&mut self, ended: &Ended<'_>) -> bool {
        let world = &mut *self.world;
        world.write(ended);
        let owner = world.owner(ended.frame.to);
        let owner = owner.filter(|owner| world.tuned.get(owner) == Some(&self.mhz));
        let everybody = ended.frame.to.is_group();
        let mut acknowledged = false;
        for radio in self.world.floor.radios() {
            let is_owner = owner == Some(radio);
            if radio != ended.radio && (everybody || is_owner || radio == 0) {
                let (_, back) = self.try_deliver(ended, radio);
                acknowledged |= is_owner && back && ended.frame.acknowledged;
            }
        }
        if let Some(owner) = owner.filter(|_| ended.frame.data) {
            self.record(ended, owner, acknowledged);
        }
        acknowledged
    }

    fn done(&mut self, radio: Radio, frame: &Frame, attempts: u32, acknowledged: bool) {
        let world = &mut *self.world;
        let fate = match (frame.acknowledged, acknowledged) {
            (false, _) => Fate::Unknown,
            (true, true) => Fate::Acknowledged,
            (true, false) => Fate::Lost,
        };
        let peer = world.owner(frame.to).unwrap_or(radio);
        let signal = world.floor.signal(peer, radio);
        let tries = rates::made(&frame.rates, attempts);
        let whose = (radio, frame.cookie);
        hwsim::report(&mut world.requests, world.family, whose, fate, &tries, signal);
    }

    fn drop(&mut self, radio: Radio, frame: &Frame) {
        let world = &mut *self.world;
        let peer = world.owner(frame.to);
        if let Some((ap, way)) = peer.and_then(|peer| world.link(radio, peer)) {
            world.truth.dropped(ap, way);
        }
        // As a driver whose queue is full: no attempt, and no failure of the receiver.
        let tries = rates::made(&frame.rates, 0);
        let signal = world.floor.signal(radio, radio);
        let whose = (radio, frame.cookie);
        hwsim::report(
            &mut world.requests,
            world.family,
            whose,
            Fate::Unknown,
            &tries,
            signal,
        );
    }

    fn busy(&mut self, mhz: u32, time: Duration) {
        self.world.truth.busy(mhz, time);
    }
}

#[cfg(test)]
#[path = "air_tests.rs"]
mod tests;
