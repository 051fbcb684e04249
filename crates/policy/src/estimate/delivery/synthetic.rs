//! A sender with known loss: what it sent, and what a listener hears of it.

use super::*;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use units::{MacAddr, Rng, SeqNum};

pub(super) const US: MacAddr = MacAddr::local(1);
const ATTEMPTS: u32 = 7;
const BLOCK_ACK_WINDOW: u16 = 64;

/// What is offered to one receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) to: MacAddr,
    /// `None`: the counter that all share.
    pub(super) tid: Option<u8>,
    /// Frames in one aggregate.
    pub(super) aggregate: usize,
    pub(super) rate: Bitrate,
    /// Turns of the medium in a cycle.
    pub(super) turns: u32,
    /// Loss of an attempt on the way to us.
    pub(super) to_us: Ratio,
    /// Loss of an attempt on the way to the receiver.
    pub(super) to_receiver: Ratio,
    /// Whether the truth is about these frames too.
    pub(super) counted: bool,
}

/// How a sender and its stations behave.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) loads: Vec<Load>,
    /// From one frame on the air to the next.
    pub(super) spacing: Duration,
    /// How many of the acknowledgements are lost.
    pub(super) ack_loss: Ratio,
    /// This many of the retries go at another rate with the retry bit clear.
    pub(super) bare_retries: Ratio,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    number: SeqNum,
    attempts: u32,
}

/// One receiver's frames that were not acknowledged.
#[derive(Debug, Default)]
struct Queue {
    pending: VecDeque<Pending>,
}

/// What only the sender knows.
#[derive(Debug, Default)]
pub(super) struct Truth {
    /// First attempts that count: when, and whether they arrived.
    first: VecDeque<(Instant, bool)>,
    /// Aggregates sent, and frames in them.
    pub(super) aggregates: u64,
    pub(super) frames: u64,
}

impl Truth {
    /// The share of the first attempts after `from`, until `until`, that arrived, and how many they were; forgets older ones.
    pub(super) fn realised(&mut self, from: Instant, until: Instant) -> (f64, usize) {
        while self.first.front().is_some_and(|&(at, _)| at < from) {
            self.first.pop_front();
        }
        let attempts = self.first.iter().filter(|(at, _)| *at <= until);
        let (made, arrived) = attempts.fold((0, 0), |(made, arrived), (_, arrives)| {
            (made + 1, arrived + usize::from(*arrives))
        });
        (arrived as f64 / made as f64, made)
    }
}

/// The sender.
#[derive(Debug)]
pub(super) struct Sender {
    setting: Setting,
    queues: Vec<Queue>,
    counters: BTreeMap<(MacAddr, Option<u8>), SeqNum>,
    rng: Rng,
    now: Instant,
    aggregate: u32,
    turns: Vec<usize>,
    on_their_way: VecDeque<(Instant, Frame)>,
    pub(super) truth: Truth,
}

impl Sender {
    pub(super) fn new(seed: u64, setting: Setting) -> Self {
        let turns = setting.loads.iter().enumerate();
        let turns = turns.flat_map(|(index, load)| core::iter::repeat_n(index, load.turns as usize));
        Self {
            queues: setting.loads.iter().map(|_| Queue::default()).collect(),
            turns: turns.collect(),
            rng: Rng::named(seed, "sender"),
            counters: BTreeMap::new(),
            now: Instant::from_secs(1),
            aggregate: 0,
            truth: Truth::default(),
            on_their_way: VecDeque::new(),
            setting,
        }
    }

    /// Sends until `until`, telling `hear` what arrives.
    pub(super) fn run(&mut self, until: Instant, mut hear: impl FnMut(Instant, &Frame)) {
        while self.now < until {
            let turn = self.rng.below(self.turns.len() as u64) as usize;
            self.send(self.turns[turn]);
        }
        while let Some((at, frame)) = self.on_their_way.pop_front_if(|(at, _)| *at <= until) {
            hear(at, &frame);
        }
    }

    fn send(&mut self, index: usize) {
        let load = self.setting.loads[index];
        self.fill(index, load);
        self.aggregate += 1;
        let batch = load.aggregate.min(self.queues[index].pending.len());
        self.truth.aggregates += 1;
        self.truth.frames += batch as u64;
        let mut left = VecDeque::new();
        for _ in 0..batch {
            let frame = self.queues[index].pending.pop_front().unwrap();
            if let Some(again) = self.attempt(load, frame) {
                left.push_back(again);
            }
        }
        left.append(&mut self.queues[index].pending);
        self.queues[index].pending = left;
    }

    /// New numbers behind those that wait, inside the block-ack window.
    fn fill(&mut self, index: usize, load: Load) {
        while self.queues[index].pending.len() < load.aggregate {
            let oldest = self.queues[index].pending.front().map(|frame| frame.number);
            let receiver = load.tid.map_or(MacAddr::BROADCAST, |_| load.to);
            let next = self.counters.entry((receiver, load.tid)).or_default();
            if oldest.is_some_and(|oldest| next.distance_from(oldest) >= BLOCK_ACK_WINDOW) {
                break;
            }
            self.queues[index].pending.push_back(Pending {
                number: *next,
                attempts: 0,
            });
            *next = next.next();
        }
    }

    /// One attempt; the frame again if it has to be repeated.
    fn attempt(&mut self, load: Load, frame: Pending) -> Option<Pending> {
        self.now += self.setting.spacing;
        let arrives = !self.rng.chance(load.to_us);
        if load.counted && frame.attempts == 0 {
            self.truth.first.push_back((self.now, arrives));
        }
        let bare = self.rng.chance(self.setting.bare_retries);
        if arrives {
            self.on_their_way
                .push_back((self.now, self.on_air(load, frame, bare)));
        }
        let received = if load.to == US {
            arrives
        } else {
            !self.rng.chance(load.to_receiver)
        };
        let acknowledged = received && !self.rng.chance(self.setting.ack_loss);
        let attempts = frame.attempts + 1;
        (!acknowledged && attempts < ATTEMPTS).then_some(Pending { attempts, ..frame })
    }

    fn on_air(&self, load: Load, frame: Pending, bare: bool) -> Frame {
        Frame {
            receiver: match load.to {
                US => Receiver::Us,
                to if to.is_group() => Receiver::Group,
                to => Receiver::Other(to),
            },
            tid: load.tid,
            number: frame.number,
            retry: frame.attempts > 0 && !bare,
            rate: load.rate,
            bytes: 1_536,
            aggregate: (load.aggregate > 1).then_some(self.aggregate),
        }
    }
}
