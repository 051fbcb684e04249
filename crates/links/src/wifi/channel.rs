//! The air of one channel: one exchange at a time, and the order of access.
//!
//! # Sources
//! - 802.11-2020 §10.3.4 for access (see `dcf`), §10.3.2.11 (the sequence number identifies duplicates),
//!   §11.1.3 (a beacon is the access point's next frame).
//! - Linux mac80211: a radio with several associations contends once, and its queues take turns.
//!
//! # Where we differ, and why
//! 1. All stations on a channel hear each other: no hidden terminals and no capture. Frames that begin
//!    together all fail.
//! 2. A packet is delivered at the end of its exchange, some 40 µs after its last bit.
//! 3. Stations of different standards on one channel keep their own slot times and use no protection frames.
//!
//! # Checked by
//! `tests/air.rs`.

use alloc::format;
use alloc::vec::Vec;
use units::wifi::{DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Duration, Instant, Rng, SeqNum};

use super::airtime::{ATTEMPTS, exchange};
use super::bss::{BEACON_BYTES, Bss};
use super::dcf::Dcf;
use crate::io::side;
use crate::queue::Entry;
use crate::queue::exits::Exits;
use crate::{Direction, DropReason, Heard, LinkId};

#[derive(Debug)]
pub(super) struct Channel {
    /// The access points, then the client's radio.
    stations: Vec<Station>,
    /// End of the exchange that is on the air.
    busy: Option<Instant>,
    /// The access point whose queue at the client has the next turn.
    turn: usize,
}

#[derive(Debug)]
struct Station {
    dcf: Dcf,
    /// The access points whose packets it sends, by index in the air. An access point sends its own, the
    /// client's radio those of the whole channel.
    serves: Vec<usize>,
    direction: Direction,
    head: Option<Head>,
    sending: Option<Sending>,
    /// Whether it had something to send when last checked.
    wants: bool,
    /// Sequence number of its last packet.
    number: SeqNum,
}

/// A packet whose attempts have begun.
#[derive(Debug, Clone, Copy)]
struct Head {
    bss: usize,
    entry: Entry,
    attempts: u32,
    /// Whether it got through without its acknowledgement. Retransmissions are then duplicates.
    received: bool,
    number: SeqNum,
}

/// A station's frame on the air.
#[derive(Debug, Clone, Copy)]
struct Sending {
    bss: usize,
    frame: Frame,
    time: Duration,
    /// Start of the frame.
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    Beacon,
    Data { rate: Bitrate, bytes: u32 },
}

impl Channel {
    /// A channel without access points yet, with the client's radio.
    pub(super) fn new(seed: u64, number: u8, standard: Standard) -> Self {
        let rng = Rng::named(seed, &format!("client/channel-{number}"));
        Self {
            stations: [Station::new(Direction::Up, Dcf::new(standard, rng))].into(),
            busy: None,
            turn: 0,
        }
    }

    /// Adds an access point.
    pub(super) fn add(&mut self, seed: u64, name: &str, standard: Standard, bss: usize) {
        let rng = Rng::named(seed, &format!("{name}/backoff"));
        let mut station = Station::new(Direction::Down, Dcf::new(standard, rng));
        station.serves.push(bss);
        let client = self.stations.len() - 1;
        self.stations[client].serves.push(bss);
        self.stations.insert(client, station);
    }

    /// Access points of the channel, by index in the air.
    pub(super) fn members(&self) -> &[usize] {
        self.stations.last().map_or(&[], |client| &client.serves)
    }

    /// The end of the exchange on the air, or the start of the next one.
    pub(super) fn due(&self) -> Option<Instant> {
        let wanting = self.stations.iter().filter(|station| station.wants);
        self.busy
            .or_else(|| wanting.map(|station| station.dcf.access()).min())
    }

    /// Handles a packet or a beacon of this access point that was just queued.
    pub(super) fn notice(&mut self, direction: Direction, bss: usize) {
        let busy = self.busy.is_some();
        let mut stations = self.stations.iter_mut();
        let station =
            stations.find(|station| station.direction == direction && station.serves.contains(&bss));
        if let Some(station) = station.filter(|station| !station.wants) {
            station.wants = true;
            station.dcf.wants(busy);
        }
    }

    /// Drops the remaining packets of an access point after its queues were emptied: those whose attempts
    /// have begun.
    pub(super) fn purge(&mut self, now: Instant, bss: usize, reason: DropReason, exits: &mut Exits) {
        for station in &mut self.stations {
            if let Some(head) = station
                .head
                .take_if(|head| head.bss == bss)
                .filter(|head| !head.received)
            {
                exits.drop(now, head.entry.packet, reason);
            }
        }
    }

    /// The packet towards or from this access point whose attempts have begun.
    pub(super) fn head(&self, bss: usize, direction: Direction) -> Option<Entry> {
        let mut sending = self
            .stations
            .iter()
            .filter(|station| station.direction == direction);
        let head = sending.find_map(|station| station.head.filter(|head| head.bss == bss))?;
        (!head.received).then_some(head.entry)
    }

    /// Ends the exchange on the air and returns the packet it delivered, if any. If the air is idle, begins
    /// the next exchange.
    pub(super) fn run(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) -> Option<Entry> {
        if self.busy.take_if(|until| *until <= now).is_some() {
            return self.finish(now, all, exits);
        }
        if self.busy.is_none() {
            self.begin(now, all, exits);
        }
        None
    }

    fn begin(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) {
        let (mut longest, mut count) = (Duration::ZERO, 0);
        for station in &mut self.stations {
            if station.wants && station.dcf.access() <= now {
                station.begin(now, &mut self.turn, all, exits);
            }
            if let Some(sending) = station.sending {
                longest = longest.max(sending.time);
                count += 1;
            }
        }
        if count == 0 {
            // Queue management dropped all packets.
            return;
        }
        self.charge(longest, count, all, exits);
        self.busy = Some(now + longest);
        for station in self
            .stations
            .iter_mut()
            .filter(|station| station.sending.is_none())
        {
            station.dcf.freeze(now);
        }
    }

    /// Divides the exchange's airtime among the links with frames in it.
    fn charge(&self, longest: Duration, count: u32, all: &[Bss], exits: &mut Exits) {
        for sending in self.stations.iter().filter_map(|station| station.sending) {
            exits.airtime(all[sending.bss].link, longest / count);
        }
    }

    fn finish(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) -> Option<Entry> {
        let collided = self
            .stations
            .iter()
            .filter(|station| station.sending.is_some())
            .count()
            > 1;
        let mut delivered = None;
        for station in &mut self.stations {
            if let Some(sending) = station.sending.take() {
                delivered = delivered.or(station.finish(now, sending, collided, all, exits));
                station.wants = station.has_work(all);
            }
            station.dcf.resume(now);
        }
        delivered
    }
}

impl Station {
    fn new(direction: Direction, dcf: Dcf) -> Self {
        Self {
            dcf,
            serves: Vec::new(),
            direction,
            head: None,
            sending: None,
            wants: false,
            number: SeqNum::default(),
        }
    }

    fn is_access_point(&self) -> bool {
        self.direction == Direction::Down
    }

    fn has_work(&self, all: &[Bss]) -> bool {
        let mut served = self.serves.iter().map(|&bss| &all[bss]);
        self.head.is_some()
            || served.any(|bss| {
                !bss.queues[side(self.direction)].is_empty() || self.is_access_point() && bss.beacon
            })
    }

    /// Puts its next frame on the air, if it has one.
    fn begin(&mut self, now: Instant, turn: &mut usize, all: &mut [Bss], exits: &mut Exits) {
        self.sending = self.beacon(now, all).or_else(|| self.data(now, turn, all, exits));
        if self.sending.is_none() {
            self.wants = false;
        }
    }

    fn beacon(&self, now: Instant, all: &mut [Bss]) -> Option<Sending> {
        let &bss = self.serves.first().filter(|_| self.is_access_point())?;
        let standard = all[bss].standard();
        core::mem::take(&mut all[bss].beacon).then(|| Sending {
            bss,
            frame: Frame::Beacon,
            time: standard.frame_time(BEACON_BYTES, standard.basic_rate()),
            since: now,
        })
    }

    fn data(
        &mut self,
        now: Instant,
        turn: &mut usize,
        all: &mut [Bss],
        exits: &mut Exits,
    ) -> Option<Sending> {
        if self.head.is_none() {
            self.head = self.next_packet(now, turn, all, exits);
            self.number = self.number.next();
        }
        let head = self.head.as_mut()?;
        head.attempts += 1;
        let bss = &all[head.bss];
        let (rate, bytes) = (bss.signal.rate(self.direction), head.entry.packet.bytes);
        Some(Sending {
            bss: head.bss,
            frame: Frame::Data { rate, bytes },
            time: exchange(bss.standard(), rate, bytes),
            since: now,
        })
    }

    /// The head of the next non-empty queue, round robin.
    fn next_packet(
        &self,
        now: Instant,
        turn: &mut usize,
        all: &mut [Bss],
        exits: &mut Exits,
    ) -> Option<Head> {
        let count = self.serves.len();
        let start = if self.is_access_point() { 0 } else { *turn };
        for step in 0..count {
            let place = (start + step) % count;
            let bss = self.serves[place];
            if let Some(entry) = all[bss].queues[side(self.direction)].pop(now, exits) {
                if !self.is_access_point() {
                    *turn = (place + 1) % count;
                }
                return Some(Head {
                    bss,
                    entry,
                    attempts: 0,
                    received: false,
                    number: self.number.next(),
                });
            }
        }
        None
    }

    fn finish(
        &mut self,
        now: Instant,
        sending: Sending,
        collided: bool,
        all: &mut [Bss],
        exits: &mut Exits,
    ) -> Option<Entry> {
        let bss = &mut all[sending.bss];
        match sending.frame {
            Frame::Beacon => {
                bss.beacon_sent(now, collided, exits);
                self.dcf.settled();
                None
            }
            Frame::Data { rate, bytes } => {
                let outcome = bss.transmit(sending.since, self.direction, rate, bytes);
                let (received, acknowledged) = if collided { (false, false) } else { outcome };
                let link = bss.link;
                if let Some(frame) = self.heard(rate, bytes).filter(|_| received) {
                    exits.heard(now, link, frame);
                }
                let outcome = Outcome {
                    received,
                    acknowledged,
                    collided,
                };
                self.settle(now, link, outcome, exits)
            }
        }
    }

    /// What the client's monitor interface shows of this attempt. `None` for the client's own.
    fn heard(&self, rate: Bitrate, bytes: u32) -> Option<Heard> {
        let head = self.head.filter(|_| self.is_access_point())?;
        Some(Heard {
            number: head.number,
            retry: head.attempts > 1,
            rate,
            bytes: bytes + DATA_OVERHEAD_BYTES,
        })
    }

    /// Handles the outcome of one attempt. Returns the packet if it got through for the first time.
    fn settle(&mut self, now: Instant, link: LinkId, outcome: Outcome, exits: &mut Exits) -> Option<Entry> {
        let Some(head) = &mut self.head else {
            // A fault took the packet while its frame was on the air.
            exits.frame(link, false, outcome.collided);
            self.dcf.settled();
            return None;
        };
        exits.frame(link, head.attempts > 1, outcome.collided);
        let delivered = (outcome.received && !head.received).then_some(head.entry);
        head.received |= outcome.received;
        let given_up = head.attempts >= ATTEMPTS;
        if !outcome.acknowledged && !given_up {
            self.dcf.failed();
            return delivered;
        }
        if !head.received {
            exits.drop(now, head.entry.packet, DropReason::Retries);
        }
        self.head = None;
        self.dcf.settled();
        delivered
    }
}

#[derive(Debug, Clone, Copy)]
struct Outcome {
    received: bool,
    acknowledged: bool,
    collided: bool,
}
