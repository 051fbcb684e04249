//! What a station has to send, and what it knows about the frame that it is sending.

use alloc::collections::VecDeque;
use alloc::format;
use units::wifi::{ACK_BYTES, DATA_OVERHEAD_BYTES, Standard};
use units::{Rng, SeqNum};

use super::config::StationConfig;
use super::io::{Counters, Packet};
use super::mode::Mode;
use super::radio::NONE;
use super::timing::{Timing, nanos};

#[derive(Debug)]
pub(super) struct Station {
    pub(super) standard: Standard,
    pub(super) channel: u8,
    pub(super) mode: Mode,
    capacity: usize,
    queue: VecDeque<Packet>,
    pub(super) head: Option<Head>,
    next_number: SeqNum,
    /// What it answers after SIFS: to whom, and in which mode.
    pub(super) answer: Option<(u32, Mode)>,
    /// The frame it has on the air.
    pub(super) flight: u16,
    /// When its wait for an answer is over.
    pub(super) patience: u64,
    pub(super) counters: Counters,
    backoff: Rng,
    airtime: Airtime,
}

/// The packet that is being tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) packet: Packet,
    pub(super) attempts: u32,
    /// Its sequence number, of the one counter that data without QoS, management and broadcast frames share (§10.3.2.14).
    pub(super) number: SeqNum,
    /// Its receiver has it: what follows are duplicates, which receivers tell by number and retry bit.
    pub(super) received: bool,
}

/// How long the last kind of frame lasted: a station mostly sends frames of one length.
#[derive(Debug, Clone, Copy)]
struct Airtime {
    mode: Mode,
    bytes: u32,
    time: u64,
}

impl Station {
    pub(super) fn new(seed: u64, config: &StationConfig, channel: u8, mode: Mode) -> Self {
        Self {
            standard: config.standard,
            channel,
            mode,
            capacity: config.queue,
            queue: VecDeque::new(),
            head: None,
            next_number: SeqNum::default(),
            answer: None,
            flight: NONE,
            patience: 0,
            counters: Counters::default(),
            backoff: Rng::named(seed, &format!("{}/backoff", config.name)),
            airtime: Airtime {
                mode,
                bytes: 0,
                time: nanos(mode.time(config.standard, 0)),
            },
        }
    }

    /// Queues a packet; `false` if there is no room.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let room = self.queue.len() < self.capacity;
        if room {
            self.queue.push_back(packet);
        }
        room
    }

    /// How many packets wait, the one that is being tried included.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + usize::from(self.head.is_some())
    }

    /// Takes the next packet up, if there is one and none is being tried.
    pub(super) fn take_next(&mut self) -> bool {
        if self.head.is_none() {
            let number = self.next_number;
            self.head = self.queue.pop_front().map(|packet| Head {
                packet,
                attempts: 0,
                number,
                received: false,
            });
            if self.head.is_some() {
                self.next_number = number.next();
            }
        }
        self.head.is_some()
    }

    /// Slots to count before the next attempt, after this many failures of the frame.
    pub(super) fn draw(&mut self, failures: u32, timing: &Timing) -> u32 {
        let doubled = (u64::from(timing.cw_min) + 1) << failures.min(16);
        let window = doubled.min(u64::from(timing.cw_max) + 1);
        // Windows are powers of two: some of the bits are uniform without rejection.
        (self.backoff.next_u64() >> 32) as u32 & (window as u32 - 1)
    }

    /// How long a packet of that many bytes is on the air in its present mode.
    pub(super) fn data_time(&mut self, ip_bytes: u32, mode: Mode) -> u64 {
        if (self.airtime.bytes, self.airtime.mode) != (ip_bytes, mode) {
            let time = nanos(mode.time(self.standard, ip_bytes + DATA_OVERHEAD_BYTES));
            self.airtime = Airtime {
                mode,
                bytes: ip_bytes,
                time,
            };
        }
        self.airtime.time
    }
}

/// How long the acknowledgement of a frame in this mode lasts.
pub(super) fn ack_time(standard: Standard, mode: Mode) -> u64 {
    nanos(mode.response().time(standard, ACK_BYTES))
}
