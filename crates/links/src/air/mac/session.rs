//! What a station sends to one receiver in one traffic class: sequence numbers, and the window of frames not
//! all of which are acknowledged.
//!
//! Without 802.11n the window holds at most one frame. With it, the window is that of a block-ack agreement.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.14 (sequence numbers: QoS data by receiver and traffic class, all else by
//!   sender; duplicates). §10.25.2 (block acknowledgement: windows of originator and recipient, delivery in
//!   order). §9.7 and §10.12 (A-MPDU: limits).
//!
//! # Where we differ, and why
//! 1. The recipient's window is kept with the sender's frames. It never forgets, so a fresh frame is never
//!    mistaken for a duplicate.
//! 2. The block-ack request after a frame that was given up takes no air time: the receiver knows at once
//!    that the frame will not come.
//! 3. Agreements exist from the start. The two action frames that set one up take 0.1 ms, once.
//!
//! # Checked by
//! `session_tests`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use units::wifi::ht::subframe_bytes;
use units::{Rng, SeqNum};

use super::rate::{Chain, Rate};
use super::window::Window;
use crate::air::io::Packet;
use crate::air::phy::mode::Mode;
use crate::config::Ht;

/// Frames to everybody.
pub(in crate::air) const EVERYONE: u32 = u32::MAX;

/// Most frames between the first unacknowledged one and the last one sent: the bits of a compressed block
/// acknowledgement.
const WINDOW: usize = 64;

/// One numbered frame.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Mpdu {
    pub(in crate::air) packet: Packet,
    pub(in crate::air) number: SeqNum,
    pub(in crate::air) attempts: u32,
    /// The mode in which it was last on the air, if it was.
    sent: Option<Mode>,
    /// Its retry bit on the air.
    pub(in crate::air) retry: bool,
    /// Its receiver has it.
    received: bool,
    /// Its receiver has passed it on.
    delivered: bool,
    /// Its sender is done with it.
    settled: bool,
}

impl Mpdu {
    /// A frame that has not been on the air.
    pub(in crate::air) const fn fresh(packet: Packet, number: SeqNum) -> Self {
        Self {
            packet,
            number,
            attempts: 0,
            sent: None,
            retry: false,
            received: false,
            delivered: false,
            settled: false,
        }
    }
}

/// A block acknowledgement: one bit for each frame of a traffic class, from `start` on, that the recipient
/// has.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::air) struct Scoreboard {
    pub(in crate::air) tid: u8,
    pub(in crate::air) start: SeqNum,
    pub(in crate::air) bitmap: u64,
}

/// Frames to one receiver.
#[derive(Debug)]
pub(in crate::air) struct Session {
    pub(in crate::air) to: u32,
    pub(in crate::air) tid: u8,
    /// 802.11n parameters that both sides have. Boxed, so that the many sessions without 802.11n stay small.
    ht: Option<Box<Ht>>,
    rate: Rate,
    /// The modes for the frames being tried, and how often they were tried.
    chain: Chain,
    tries: u32,
    numbers: SeqNum,
    window: Window,
    /// Which frames of the window are in the current try, one bit each.
    tried: u64,
}

impl Session {
    /// `mode` is the chain's first mode until the rate control chooses another.
    pub(in crate::air) fn new(to: u32, tid: u8, ht: Option<Ht>, rate: Rate, mode: Mode) -> Self {
        Self {
            to,
            tid,
            ht: ht.map(Box::new),
            rate,
            chain: Chain::always(mode),
            tries: 0,
            numbers: SeqNum::new(0),
            window: Window::EMPTY,
            tried: 0,
        }
    }

    /// Whether its data frames are QoS data.
    pub(in crate::air) const fn is_qos(&self) -> bool {
        self.ht.is_some()
    }

    /// Sends fresh data in this mode from now on, unless a rate control decides.
    pub(in crate::air) fn keep_to(&mut self, mode: Mode) {
        if let Rate::Fixed(kept) = &mut self.rate {
            *kept = mode;
        }
    }

    /// The mode of the next try.
    pub(in crate::air) fn mode(&self) -> Mode {
        self.chain.mode(self.tries)
    }

    /// Whether its rate control wants a request to send before the next try.
    pub(in crate::air) fn asks(&self) -> bool {
        self.chain.asks(self.tries)
    }

    /// Reports how many of the frames tried were acknowledged.
    pub(in crate::air) fn report(&mut self, acknowledged: u32) {
        self.chain = self
            .rate
            .tried(self.chain, self.mode(), self.count(), acknowledged);
        self.tries += 1;
    }

    /// Whether the current try should be assembled again, with other modes.
    pub(in crate::air) fn is_used_up(&self) -> bool {
        self.count() == 0 || self.is_qos() && self.tries >= self.chain.total()
    }

    /// Removes everything that is not done.
    pub(in crate::air) fn clear(&mut self, packets: &mut Vec<Packet>) {
        let left = self.window.iter().filter(|mpdu| !mpdu.settled && !mpdu.received);
        packets.extend(left.map(|mpdu| mpdu.packet));
        self.window.clear();
        self.tried = 0;
    }

    /// Number of frames that are not done.
    pub(super) fn pending(&self) -> usize {
        self.window.iter().filter(|mpdu| !mpdu.settled).count()
    }

    /// Assembles the next try: what is left of the window, then fresh packets as long as `next` returns any
    /// that fit. `next` is called with the bytes left. `shared` numbers frames that are not QoS data.
    pub(in crate::air) fn fill(
        &mut self,
        (now, rng): (u64, &mut Rng),
        shared: &mut SeqNum,
        mut next: impl FnMut(u32) -> Option<Packet>,
    ) {
        self.chain = self.rate.chain(now, rng);
        self.tries = 0;
        let (frames, most) = self.limits();
        let (mut count, mut bytes) = (0, 0);
        self.tried = 0;
        for (place, mpdu) in self.window.iter().enumerate().filter(|(_, mpdu)| !mpdu.settled) {
            let more = subframe_bytes(mpdu.packet.mpdu_bytes(self.ht.is_some()));
            if count > 0 && (count == frames || bytes + more > most) {
                return;
            }
            (count, bytes) = (count + 1, bytes + more);
            self.tried |= 1 << place;
        }
        while count < frames && bytes < most && self.window.len() < WINDOW {
            let Some(packet) = next(if count == 0 { u32::MAX } else { most - bytes }) else {
                return;
            };
            (count, bytes) = (count + 1, bytes + self.subframe_bytes(&packet));
            self.tried |= 1 << self.window.len();
            self.append(packet, shared);
        }
    }

    /// Most frames and bytes in the next try: it must be short enough in all its modes.
    fn limits(&self) -> (u32, u32) {
        let Some(ht) = self.ht.as_ref().filter(|_| !self.chain.probe) else {
            return (1, u32::MAX);
        };
        let modes = self.chain.modes().filter_map(Mode::as_ht);
        let shortest = modes.map(|mode| ht.bytes_within_time(mode)).min();
        (ht.frames, ht.bytes.min(shortest.unwrap_or(u32::MAX)))
    }

    fn append(&mut self, packet: Packet, shared: &mut SeqNum) {
        let numbers = if self.is_qos() && packet.subtype.is_data() {
            &mut self.numbers
        } else {
            shared
        };
        let number = *numbers;
        *numbers = number.next();
        self.window.push_back(Mpdu::fresh(packet, number));
    }

    /// Bytes that a packet takes in an aggregate.
    pub(in crate::air) const fn subframe_bytes(&self, packet: &Packet) -> u32 {
        subframe_bytes(packet.mpdu_bytes(self.is_qos()))
    }

    /// The frames that are being tried.
    pub(in crate::air) fn tried(&self) -> impl Iterator<Item = &Mpdu> {
        let bits = self.tried;
        let window = self.window.iter().enumerate();
        window
            .filter(move |(place, _)| bits >> place & 1 == 1)
            .map(|(_, mpdu)| mpdu)
    }

    /// How many of the frames being tried are set in `bits` (positions in the window).
    pub(in crate::air) const fn arrived(&self, bits: u64) -> u32 {
        (bits & self.tried).count_ones()
    }

    /// How many frames are being tried.
    pub(in crate::air) const fn count(&self) -> u32 {
        self.tried.count_ones()
    }

    /// Length of the current try: of the one frame, or of the aggregate.
    pub(in crate::air) fn psdu_bytes(&self) -> u32 {
        if self.count() > 1 {
            self.tried().map(|mpdu| self.subframe_bytes(&mpdu.packet)).sum()
        } else {
            self.tried()
                .map(|mpdu| mpdu.packet.mpdu_bytes(self.is_qos()))
                .sum()
        }
    }

    fn tried_mut(&mut self) -> impl Iterator<Item = &mut Mpdu> {
        let bits = self.tried;
        let window = self.window.iter_mut().enumerate();
        window
            .filter(move |(place, _)| bits >> place & 1 == 1)
            .map(|(_, mpdu)| mpdu)
    }

    /// Counts one more attempt for the frames being tried.
    pub(in crate::air) fn attempt(&mut self) {
        self.tried_mut().for_each(|mpdu| mpdu.attempts += 1);
    }

    /// Records that the current try is sent, and returns how many of its frames are repeats. They have the
    /// retry bit. With `only_at_same_rate`, only those whose mode is unchanged have it.
    pub(in crate::air) fn sent(&mut self, only_at_same_rate: bool) -> u64 {
        let mode = self.mode();
        let mut repeats = 0;
        for mpdu in self.tried_mut() {
            let last = mpdu.sent.replace(mode);
            mpdu.retry = last.is_some_and(|last| last == mode || !only_at_same_rate);
            repeats += u64::from(last.is_some());
        }
        repeats
    }

    /// Marks these frames as received (bits in their order within the aggregate), and returns their positions
    /// in the window.
    pub(in crate::air) fn receive(&mut self, got: u64) -> u64 {
        let (mut bits, mut order) = (0, 0);
        let tried = self.tried;
        for (place, mpdu) in self.window.iter_mut().enumerate() {
            if tried >> place & 1 == 1 {
                if got >> order & 1 == 1 {
                    bits |= 1 << place;
                    mpdu.received = true;
                }
                order += 1;
            }
        }
        bits
    }

    /// What the receiver has of the window, whose numbers are consecutive.
    pub(in crate::air) fn scoreboard(&self) -> Scoreboard {
        let window = self.window.iter().enumerate();
        let received = window.filter(|(_, mpdu)| mpdu.received);
        Scoreboard {
            tid: self.tid,
            start: self.window.front().map_or(self.numbers, |first| first.number),
            bitmap: received.fold(0, |bits, (place, _)| bits | 1 << place),
        }
    }

    /// What the receiver can now pass on: everything up to the first missing frame.
    pub(in crate::air) fn deliver(&mut self, packets: &mut Vec<Packet>) {
        for mpdu in self.window.iter_mut() {
            if mpdu.received {
                if !core::mem::replace(&mut mpdu.delivered, true) {
                    packets.push(mpdu.packet);
                }
            } else if !mpdu.settled {
                break;
            }
        }
    }

    /// Marks those frames of the current try as done for the sender.
    pub(in crate::air) fn settle(&mut self, bits: u64, packets: &mut Vec<Packet>) {
        let bits = bits & self.tried;
        self.tried &= !bits;
        for (place, mpdu) in self.window.iter_mut().enumerate() {
            if bits >> place & 1 == 1 {
                mpdu.settled = true;
                packets.push(mpdu.packet);
            }
        }
    }

    /// The frames being tried that have used up all their attempts.
    pub(in crate::air) fn exhausted(&self, attempts: Option<u32>) -> u64 {
        let attempts = if self.rate.chain_limits_attempts() {
            Some(self.chain.total())
        } else {
            attempts
        };
        let Some(most) = attempts else {
            return 0;
        };
        let window = self.window.iter().enumerate();
        window
            .filter(|(place, mpdu)| self.tried >> place & 1 == 1 && mpdu.attempts >= most)
            .fold(0, |bits, (place, _)| bits | 1 << place)
    }

    /// Moves the window past frames that are done, and shifts the bits of the current try with it.
    pub(in crate::air) fn slide(&mut self) {
        while self.window.pop_front_if(|mpdu| mpdu.settled) {
            self.tried >>= 1;
        }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
