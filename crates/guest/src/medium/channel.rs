//! The stations of one channel: their queues, their contention, and one exchange at a time on the air.
//!
//! # Sources
//! - `links::wifi`: contention (`Dcf`), and the order of access in its coarse medium.
//! - IEEE 802.11-2020 §9.2.4.1.5: the Retry bit of every attempt after the first.
//!
//! # Where we differ, and why
//! 1. The queues are our own, and neither of the media of `links`: those choose rates and count attempts by
//!    themselves. Here, the kernel gives the rates of each attempt and learns what became of them.
//! 2. All stations of a channel hear each other, and frames that begin together all fail.
//!
//! # Checked by
//! `tests`, `medium::tests`; `tests/wifi.rs` in the guest.

use std::collections::VecDeque;

use links::wifi::Dcf;
use units::{Duration, Instant, MacAddr, Rng};

use crate::hwsim::{RATES, Radio, Tries};
use crate::rates::{self, Mode};

/// A frame of the kernel that waits for the air.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its number in the kernel.
    pub cookie: u64,
    /// Its octets, without check sequence.
    pub content: Vec<u8>,
    /// Its receiver.
    pub to: MacAddr,
    /// Whether its receiver acknowledges it.
    pub acknowledged: bool,
    /// Whether it carries data.
    pub data: bool,
    /// Whether its sequence number is of the counter that all frames without QoS share.
    pub numbered: bool,
    /// Whether it goes ahead of all others: beacons.
    pub urgent: bool,
    /// Rates in their order.
    pub rates: [Tries; RATES],
}

/// An attempt that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'f> {
    /// Who sent it.
    pub radio: Radio,
    /// The frame.
    pub frame: &'f Frame,
    /// Its number, 0 for the first one.
    pub number: u32,
    /// Its rate.
    pub mode: Mode,
    /// Busy air.
    pub air: Duration,
    /// Whether another frame began in the same slot.
    pub collided: bool,
    /// Whether the series has no further one.
    pub last: bool,
}

/// Decides about frames, and hears what happens.
pub trait Surroundings {
    /// Whether an attempt was acknowledged. Delivers the frame to whoever received it.
    fn end(&mut self, ended: &Ended<'_>) -> bool;
    /// A frame is done after these attempts.
    fn done(&mut self, radio: Radio, frame: &Frame, attempts: u32, acknowledged: bool);
    /// There is no room for a frame.
    fn drop(&mut self, radio: Radio, frame: &Frame);
    /// The channel was busy for this long.
    fn busy(&mut self, mhz: u32, time: Duration);
}

/// One channel.
#[derive(Debug)]
pub struct Channel {
    mhz: u32,
    seed: u64,
    stations: Vec<Station>,
    /// End of the exchange that is on the air.
    busy: Option<Instant>,
    /// Since when the air is idle.
    idle: Instant,
}

#[derive(Debug)]
struct Station {
    radio: Radio,
    dcf: Dcf,
    urgent: VecDeque<Frame>,
    /// A queue for each receiver. They take turns.
    queues: Vec<(MacAddr, VecDeque<Frame>)>,
    turn: usize,
    /// The frame whose attempts have begun, and their number.
    head: Option<(Frame, u32)>,
    /// The attempt on the air.
    sending: Option<(Mode, Duration)>,
    /// Since when it has something to send, if it has.
    wants: Option<Instant>,
}

impl Channel {
    /// A channel on which nobody has sent yet.
    pub fn new(mhz: u32, seed: u64, now: Instant) -> Self {
        Self {
            mhz,
            seed,
            stations: Vec::new(),
            busy: None,
            idle: now,
        }
    }

    /// Queues a frame of a radio. `room`: frames that may wait for one receiver, and at the radio.
    pub fn push(
        &mut self,
        now: Instant,
        (radio, frame): (Radio, Frame),
        room: (usize, usize),
        around: &mut impl Surroundings,
    ) {
        let place = self.place_of(radio);
        let busy = self.busy.is_some();
        let station = &mut self.stations[place];
        if !station.has_room(&frame, room) {
            around.drop(radio, &frame);
            return;
        }
        station.push(frame);
        if station.wants.is_none() {
            station.wants = Some(now);
            station.dcf.wants(busy);
        }
    }

    fn place_of(&mut self, radio: Radio) -> usize {
        let known = self.stations.iter().position(|station| station.radio == radio);
        known.unwrap_or_else(|| {
            let rng = Rng::named(self.seed, &format!("{}/{radio}/backoff", self.mhz));
            let mut dcf = Dcf::new(rates::standard(self.mhz), rng);
            dcf.resume(self.idle);
            self.stations.push(Station::new(radio, dcf));
            self.stations.len() - 1
        })
    }

    /// The end of the exchange on the air, or the start of the next one.
    pub fn due(&self) -> Option<Instant> {
        let access = |station: &Station| station.access();
        self.busy
            .or_else(|| self.stations.iter().filter_map(access).min())
    }

    /// Ends the exchange on the air, or begins the next one.
    pub fn run(&mut self, now: Instant, around: &mut impl Surroundings) {
        if self.busy.take_if(|until| *until <= now).is_some() {
            self.finish(now, around);
        } else if self.busy.is_none() {
            self.begin(now, around);
        }
    }

    fn begin(&mut self, now: Instant, around: &mut impl Surroundings) {
        let mhz = self.mhz;
        let mut longest = Duration::ZERO;
        for station in &mut self.stations {
            if station.access().is_some_and(|access| access <= now) {
                station.begin(mhz);
            }
            longest = longest.max(station.sending.map_or(Duration::ZERO, |(_, air)| air));
        }
        if longest.is_zero() {
            return;
        }
        around.busy(mhz, longest);
        self.busy = Some(now + longest);
        for station in &mut self.stations {
            if station.sending.is_none() {
                station.dcf.freeze(now);
            }
        }
    }

    fn finish(&mut self, now: Instant, around: &mut impl Surroundings) {
        self.idle = now;
        let sending = self.stations.iter().filter(|station| station.sending.is_some());
        let collided = sending.count() > 1;
        for station in &mut self.stations {
            station.finish(collided, around);
            station.dcf.resume(now);
        }
    }
}

impl Station {
    fn new(radio: Radio, dcf: Dcf) -> Self {
        Self {
            radio,
            dcf,
            urgent: VecDeque::new(),
            queues: Vec::new(),
            turn: 0,
            head: None,
            sending: None,
            wants: None,
        }
    }

    /// When it may transmit if the medium stays idle: not before its frame was there.
    fn access(&self) -> Option<Instant> {
        self.wants.map(|since| since.max(self.dcf.access()))
    }

    fn has_room(&self, frame: &Frame, (for_one, in_all): (usize, usize)) -> bool {
        let waiting = |(_, queue): &(MacAddr, VecDeque<Frame>)| queue.len();
        let all: usize = self.queues.iter().map(waiting).sum();
        let same = self.queues.iter().find(|(to, _)| *to == frame.to);
        frame.urgent || same.map_or(0, waiting) < for_one && all < in_all
    }

    fn push(&mut self, frame: Frame) {
        if frame.urgent {
            self.urgent.push_back(frame);
        } else if let Some((_, queue)) = self.queues.iter_mut().find(|(to, _)| *to == frame.to) {
            queue.push_back(frame);
        } else {
            self.queues.push((frame.to, [frame].into()));
        }
    }

    /// The next frame: an urgent one, or that of the next queue which has one.
    fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        let count = self.queues.len();
        let places = (0..count).map(|step| (self.turn + step) % count);
        let place = { places }.find(|&place| !self.queues[place].1.is_empty())?;
        self.turn = (place + 1) % count;
        let frame = self.queues[place].1.pop_front();
        if self.queues[place].1.is_empty() {
            // Stations come and go with addresses of their own.
            self.queues.remove(place);
        }
        frame
    }

    /// Puts its next attempt on the air, if it has one.
    fn begin(&mut self, mhz: u32) {
        if self.head.is_none() {
            self.head = self.next().map(|frame| (frame, 0));
        }
        self.sending = self.head.as_ref().map(|(frame, attempts)| {
            let index = rates::index_of(&frame.rates, *attempts);
            let named = index.and_then(|index| Mode::of(mhz, index));
            let mode = named.unwrap_or(Mode::slowest(mhz));
            let air = mode.attempt(mhz, frame.content.len() as u32, frame.acknowledged);
            (mode, air)
        });
    }

    fn finish(&mut self, collided: bool, around: &mut impl Surroundings) {
        let Some(((mode, air), (frame, number))) = self.sending.take().zip(self.head.as_mut()) else {
            return;
        };
        let radio = self.radio;
        let last = !frame.acknowledged || rates::index_of(&frame.rates, *number + 1).is_none();
        let ended = Ended {
            radio,
            frame,
            number: *number,
            mode,
            air,
            collided,
            last,
        };
        let acknowledged = around.end(&ended);
        *number += 1;
        if !acknowledged && !last {
            self.dcf.failed();
            return;
        }
        if let Some((frame, attempts)) = self.head.take() {
            around.done(radio, &frame, attempts, acknowledged);
        }
        self.dcf.settled();
        if self.urgent.is_empty() && self.queues.is_empty() {
            self.wants = None;
        }
    }
}
