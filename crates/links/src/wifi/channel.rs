//! The air of one channel: one exchange at a time, and who gets the next.
//!
//! # Sources
//! - 802.11-2020 §10.3.4 for access (see `dcf`), §10.3.2.11 (a duplicate is recognised by its sequence number), §11.1.3 (a beacon is
//!   the access point's next frame).
//! - Linux mac80211: a radio with several associations has one contention, and its queues take turns.
//!
//! # Where we differ, and why
//! 1. Everybody on a channel hears everybody: no hidden terminals, no capture; frames that begin together all fail.
//! 2. A packet is handed over when its exchange is over, some 40 µs after its last bit.
//! 3. Stations of different standards on one channel keep their own slots and use no protection frames.
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
    /// Until when the exchange that is on the air lasts.
    busy: Option<Instant>,
    /// Whose queue at the client has the next turn.
    turn: usize,
}

#[derive(Debug)]
struct Station {
    dcf: Dcf,
    /// The access points whose packets it sends, by index in the air: its own, or for the client's radio all of the channel.
    serves: Vec<usize>,
    direction: Direction,
    head: Option<Head>,
    sending: Option<Sending>,
    /// It had something to send when last asked.
    wants: bool,
    /// The sequence number of its last packet.
    number: SeqNum,
}

/// A packet that has begun its attempts.
#[derive(Debug, Clone, Copy)]
struct Head {
    bss: usize,
    entry: Entry,
    attempts: u32,
    /// It got through, but no acknowledgement came back: whatever follows is a duplicate.
    received: bool,
    number: SeqNum,
}

/// What a station has on the air.
#[derive(Debug, Clone, Copy)]
struct Sending {
    bss: usize,
    frame: Frame,
    time: Duration,
    /// When it began.
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    Beacon,
    Data { rate: Bitrate, bytes: u32 },
}

impl Channel {
    /// A channel without access points yet, and the client's radio on it.
    pub(super) fn new(seed: u64, number: u8, standard: Standard) -> Self {
        let rng = Rng::named(seed, &format!("client/channel-{number}"));
        Self {
            stations: [Station::new(Direction::Up, Dcf::new(standard, rng))].into(),
            busy: None,
            turn: 0,
        }
    }

    /// One more access point.
    pub(super) fn add(&mut self, seed: u64, name: &str, standard: Standard, bss: usize) {
        let rng = Rng::named(seed, &format!("{name}/backoff"));
        let mut station = Station::new(Direction::Down, Dcf::new(standard, rng));
        station.serves.push(bss);
        let client = self.stations.len() - 1;
        self.stations[client].serves.push(bss);
        self.stations.insert(client, station);
    }

    /// Its access points.
    pub(super) fn members(&self) -> &[usize] {
        self.stations.last().map_or(&[], |client| &client.serves)
    }

    /// When the exchange on the air ends, or when the next one begins.
    pub(super) fn due(&self) -> Option<Instant> {
        let wanting = self.stations.iter().filter(|station| station.wants);
        self.busy
            .or_else(|| wanting.map(|station| station.dcf.access()).min())
    }

    /// A packet or a beacon of this access point has just begun to wait.
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

    /// What is left of the packets of an access point after its queues were emptied: those that have begun their attempts.
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

    /// Packets that have begun their attempts towards or from this access point.
    pub(super) fn heads(&self, bss: usize, direction: Direction) -> impl Iterator<Item = Entry> + '_ {
        let sending = self
            .stations
            .iter()
            .filter(move |station| station.direction == direction);
        let heads = sending.filter_map(move |station| station.head.filter(|head| head.bss == bss));
        heads.filter(|head| !head.received).map(|head| head.entry)
    }

    /// Ends the exchange on the air (the packet that it carried through, if any) or begins the next.
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
            // Queue management dropped all there was.
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

    /// Shares the exchange's air among those who have frames in it.
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

    /// Puts its next frame on the air, if there still is one.
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

    /// The head of the next queue that has one, by turns.
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

    /// What the client hears of an attempt of an access point's that reaches it.
    fn heard(&self, rate: Bitrate, bytes: u32) -> Option<Heard> {
        let head = self.head.filter(|_| self.is_access_point())?;
        Some(Heard {
            number: head.number,
            retry: head.attempts > 1,
            rate,
            bytes: bytes + DATA_OVERHEAD_BYTES,
        })
    }

    /// Draws the conclusions of one attempt. The packet if it got through for the first time.
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
