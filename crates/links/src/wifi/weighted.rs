//! A channel whose access points' packets take fixed times, with a weighted fair queue that decides which is
//! next.
//!
//! # Sources
//! - nsdi15 §6.2.1: "different senders' (AP) packets take different time for transmission on the medium, and
//!   when multiple senders have packets ready, packets are chosen according to a weighted fair-queueing
//!   algorithm, with predefined weights". `queue::fair` has the order.
//!
//! # Where we differ, and why
//! 1. Only access points send on the medium, as in the paper. Packets of the client go to the wire at once,
//!    and beacons take no air.
//! 2. The medium has times, not frames, but a client learns a packet time from frames. So the monitor hears,
//!    for each packet, one frame of the slowest rate that needs no more than that time. Retry bits make up
//!    the rest: their share is the loss at which that rate takes the time on average. They are evenly spread,
//!    so the estimate has no noise. A time below that of the fastest rate cannot be shown.
//! 3. Signals follow the places of access points, not their packet times.
//!
//! # Checked by
//! `tests/weighted.rs`; `sim`'s `tests/coarse_hosts.rs`: the engine's estimate of each packet time.

use alloc::vec::Vec;
use units::wifi::{DATA_OVERHEAD_BYTES, Standard};
use units::{Bitrate, Duration, Instant, Ratio, SeqNum};

use super::airtime::per_delivered;
use super::bss::Bss;
use crate::config::WifiConfig;
use crate::io::side;
use crate::queue::Entry;
use crate::queue::exits::Exits;
use crate::queue::fair::Fair;
use crate::{Direction, DropReason, Heard};

/// Length of the packet that a configured packet time is for, in bytes.
const PACKET: u32 = 1_500;

/// The queue of one channel.
#[derive(Debug, Default)]
pub(super) struct Weighted {
    /// Its access points, by index in the air.
    members: Vec<usize>,
    senders: Vec<Sender>,
    fair: Fair,
    serving: Option<Serving>,
}

#[derive(Debug)]
struct Sender {
    time: Duration,
    looks: Looks,
    /// Whether it has a packet in its queue or in service.
    waits: bool,
    number: SeqNum,
}

#[derive(Debug, Clone, Copy)]
struct Serving {
    sender: usize,
    /// The packet. `None` if a fault has dropped it.
    entry: Option<Entry>,
    until: Instant,
}

/// How a monitor shows packets of a fixed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looks {
    rate: Bitrate,
    /// Share of frames with the retry bit.
    retries: Ratio,
    /// The share summed up over the frames, modulo 1.
    sum: u64,
}

impl Weighted {
    /// Adds an access point.
    pub(super) fn add(&mut self, config: &WifiConfig, bss: usize) {
        // A checked configuration has a turn.
        let (time, weight) = config
            .turn
            .map_or((Duration::from_millis(1), 1), |turn| (turn.packet, turn.weight));
        self.members.push(bss);
        self.fair.add(weight);
        self.senders.push(Sender {
            time,
            looks: Looks::of(config.standard, time),
            waits: false,
            number: SeqNum::default(),
        });
    }

    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    /// When [`Weighted::run`] is due: at the end of the packet in service. If there is none and a packet
    /// waits, at once.
    pub(super) fn due(&self) -> Option<Instant> {
        let waits = self.senders.iter().any(|sender| sender.waits);
        let end = self.serving.map(|serving| serving.until);
        end.or(waits.then_some(Instant::ZERO))
    }

    /// Handles a packet of this access point that was just queued.
    pub(super) fn notice(&mut self, bss: usize) {
        let Some(sender) = self.members.iter().position(|&member| member == bss) else {
            return;
        };
        if !core::mem::replace(&mut self.senders[sender].waits, true) {
            self.fair.begins(sender);
        }
    }

    /// Drops the packet in service if it is this access point's. The medium stays busy until its end.
    pub(super) fn purge(&mut self, now: Instant, bss: usize, reason: DropReason, exits: &mut Exits) {
        let members = &self.members;
        if let Some(serving) = &mut self.serving
            && members[serving.sender] == bss
            && let Some(entry) = serving.entry.take()
        {
            exits.drop(now, entry.packet, reason);
        }
    }

    /// The packet of this access point in service.
    pub(super) fn head(&self, bss: usize, direction: Direction) -> Option<Entry> {
        let serving = self.serving.filter(|_| direction == Direction::Down)?;
        serving.entry.filter(|_| self.members[serving.sender] == bss)
    }

    /// Ends the packet in service and begins the next one. Returns the packet that was delivered, if any.
    pub(super) fn run(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) -> Option<Entry> {
        let mut delivered = None;
        if let Some(serving) = self.serving.take_if(|serving| serving.until <= now) {
            delivered = self.finish(now, serving, all, exits);
        }
        while self.serving.is_none() && self.begin(now, all, exits) {}
        delivered
    }

    fn finish(&mut self, now: Instant, serving: Serving, all: &[Bss], exits: &mut Exits) -> Option<Entry> {
        let sender = &mut self.senders[serving.sender];
        let bss = &all[self.members[serving.sender]];
        sender.waits = !bss.queues[side(Direction::Down)].is_empty();
        if sender.waits {
            self.fair.continues(serving.sender);
        }
        let entry = serving.entry?;
        sender.number = sender.number.next();
        let (retry, rate) = sender.looks.next();
        exits.frame(bss.link, retry, false);
        let frame = Heard {
            number: sender.number,
            retry,
            rate,
            bytes: entry.packet.bytes + DATA_OVERHEAD_BYTES,
        };
        exits.heard(now, bss.link, frame);
        Some(entry)
    }

    /// Takes the next packet into service. Returns `false` if no sender has a packet.
    fn begin(&mut self, now: Instant, all: &mut [Bss], exits: &mut Exits) -> bool {
        let waiting = self.senders.iter().enumerate().filter(|(_, sender)| sender.waits);
        let Some(at) = self.fair.next(waiting.map(|(at, _)| at)) else {
            return false;
        };
        let (sender, bss) = (&mut self.senders[at], &mut all[self.members[at]]);
        let entry = bss.queues[side(Direction::Down)].pop(now, exits);
        if entry.is_some() {
            exits.airtime(bss.link, sender.time);
            self.serving = Some(Serving {
                sender: at,
                entry,
                until: now + sender.time,
            });
        } else {
            // A fault or queue management dropped all of them.
            sender.waits = false;
        }
        true
    }
}

impl Looks {
    /// The slowest rate that needs no more than `time` for a full packet, and the retries that make it take
    /// that time.
    fn of(standard: Standard, time: Duration) -> Self {
        let takes = |rate, loss| per_delivered(standard, rate, PACKET, loss).unwrap_or(Duration::MAX);
        let rates = standard.rates_kbps().iter();
        let rates = rates.map(|&kbps| Bitrate::from_kbps(kbps.into()));
        let fits = rates.clone().filter(|&rate| takes(rate, 0.0) <= time).min();
        let fastest = rates.max().unwrap_or(standard.basic_rate());
        let Some(rate) = fits else {
            return Self::new(fastest, 0.0);
        };
        // Airtime rises with the loss: halve the interval that contains it.
        let (mut least, mut most) = (0.0, 1.0);
        for _ in 0..32 {
            let middle = (least + most) / 2.0;
            match takes(rate, middle) <= time {
                true => least = middle,
                false => most = middle,
            }
        }
        Self::new(rate, least)
    }

    fn new(rate: Bitrate, loss: f64) -> Self {
        Self {
            rate,
            retries: Ratio::from_ppm((loss * 1e6) as u32),
            sum: 0,
        }
    }

    /// The retry bit and the rate of the next frame.
    fn next(&mut self) -> (bool, Bitrate) {
        self.sum += self.retries.as_raw();
        let retry = self.sum >= Ratio::ONE.as_raw();
        self.sum %= Ratio::ONE.as_raw();
        (retry, self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_retries_give_the_time() {
        for micros in [400, 500, 1_000, 2_000, 3_000, 6_000] {
            let time = Duration::from_micros(micros);
            let looks = Looks::of(Standard::G, time);
            let shown = per_delivered(Standard::G, looks.rate, PACKET, looks.retries.as_f64()).unwrap();
            let error = shown.as_secs_f64() / time.as_secs_f64() - 1.0;
            assert!(error.abs() < 1e-4, "{micros} µs: {looks:?} shows {shown:?}");
        }
        let too_fast = Looks::of(Standard::G, Duration::from_micros(50));
        assert_eq!(
            (too_fast.rate, too_fast.retries),
            (Bitrate::from_mbps(54), Ratio::ZERO)
        );
    }

    #[test]
    fn retry_bits_are_spread_evenly() {
        let mut looks = Looks::new(Bitrate::from_mbps(6), 0.3);
        let bits: Vec<bool> = (0..100).map(|_| looks.next().0).collect();
        let retries = |bits: &[bool]| bits.iter().filter(|&&retry| retry).count();
        assert!((29..=30).contains(&retries(&bits)), "{bits:?}");
        assert!(
            bits.windows(10).all(|ten| (2..=4).contains(&retries(ten))),
            "{bits:?}"
        );
    }
}
