//! One direction of a wire behind its bottleneck: random loss, delay and jitter.

use alloc::collections::VecDeque;
use units::{Bytes, Duration, Instant, Ratio, Rng};

use crate::DropReason;
use crate::config::Repeats;
use crate::queue::exits::Exits;
use crate::queue::{Depth, Entry};

/// Loss, delay and jitter of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneConfig {
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) loss: Ratio,
    pub(crate) repeats: Option<Repeats>,
}

/// Packets in flight, in order.
#[derive(Debug)]
pub(crate) struct Lane {
    config: LaneConfig,
    rng: Rng,
    flight: VecDeque<(Instant, Entry)>,
    bytes: u64,
}

impl Lane {
    pub(crate) fn new(config: LaneConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            flight: VecDeque::with_capacity(64),
            bytes: 0,
        }
    }

    /// Adds a packet that leaves the bottleneck at `now` and reaches the lane at `ready`. A radio that wakes
    /// up makes `ready` later.
    pub(crate) fn push(&mut self, now: Instant, ready: Instant, entry: Entry, exits: &mut Exits) {
        if self.config.loss != Ratio::ZERO && self.rng.chance(self.config.loss) {
            exits.drop(now, entry.packet, DropReason::Loss);
            return;
        }
        let mut due = now.max(ready) + self.config.delay;
        if let Some(repeats) = self.config.repeats {
            let Some(later) = repeats.draw(&mut self.rng) else {
                exits.drop(now, entry.packet, DropReason::Retries);
                return;
            };
            due += later;
        }
        if !self.config.jitter.is_zero() {
            due += self.rng.duration_up_to(self.config.jitter);
        }
        if let Some(&(last, _)) = self.flight.back() {
            due = due.max(last);
        }
        self.bytes += u64::from(entry.packet.bytes);
        self.flight.push_back((due, entry));
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.flight.front().map(|&(due, _)| due)
    }

    /// The next packet that arrives at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Entry> {
        let (_, entry) = self.flight.pop_front_if(|(due, _)| *due <= now)?;
        self.bytes -= u64::from(entry.packet.bytes);
        Some(entry)
    }

    pub(crate) fn depth(&self) -> Depth {
        Depth {
            packets: self.flight.len(),
            bytes: Bytes::new(self.bytes),
        }
    }

    /// Drops all packets in flight.
    pub(crate) fn purge(&mut self, now: Instant, reason: DropReason, exits: &mut Exits) {
        self.bytes = 0;
        self.flight
            .drain(..)
            .for_each(|(_, entry)| exits.drop(now, entry.packet, reason));
    }
}
