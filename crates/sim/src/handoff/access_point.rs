//! An access point: a queue, and a time for each segment.

use super::walk::{Link, Place, WalkError};
use crate::tcp::Segment;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rng};

/// A segment with its headers.
const PACKET: Bytes = Bytes::new(1_500);
/// A queue is so long, or so many packets.
const QUEUE: Duration = Duration::from_millis(100);
const SHORTEST_QUEUE: usize = 20;
/// What acknowledgements may be late by.
const NOISE: Duration = Duration::from_micros(500);

/// An access point, and the way to it and back.
#[derive(Debug)]
pub(super) struct AccessPoint {
    service: Duration,
    /// Between the sender and the access point, in one direction.
    pub(super) way: Duration,
    limit: usize,
    queue: VecDeque<Segment>,
    /// Which of its services goes on.
    serving: Option<u64>,
    served: u64,
    /// When its last acknowledgement arrives: they do not overtake each other.
    answered: Instant,
    random: Rng,
}

impl AccessPoint {
    pub(super) fn new(place: Place, link: Link, random: Rng) -> Result<Self, WalkError> {
        let rate = link.rate;
        let service = rate.time_for(PACKET).filter(|service| !service.is_zero());
        let service = service.ok_or(WalkError::Rate { place, rate })?;
        let queue = (QUEUE.as_nanos() / service.as_nanos()) as usize;
        Ok(Self {
            service,
            way: link.rtt / 2,
            limit: SHORTEST_QUEUE.max(queue),
            queue: VecDeque::new(),
            serving: None,
            served: 0,
            answered: Instant::ZERO,
            random,
        })
    }

    /// How many wait, with the one that is being sent.
    pub(super) fn waiting(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Whether there was room for it.
    pub(super) fn enqueue(&mut self, segment: Segment) -> bool {
        let fits = self.queue.len() < self.limit;
        if fits {
            self.queue.push_back(segment);
        }
        fits
    }

    /// The next service, and when it is over.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(Instant, u64)> {
        if self.serving.is_some() || self.queue.is_empty() {
            return None;
        }
        self.served += 1;
        self.serving = Some(self.served);
        let noise = self.random.duration_up_to(self.service);
        Some((now + self.service / 2 + noise, self.served))
    }

    /// That service is over: what was sent, unless it came to nothing; and when its acknowledgement is at the sender.
    pub(super) fn finish(&mut self, now: Instant, service: u64) -> Option<(Segment, Instant)> {
        if self.serving != Some(service) {
            return None;
        }
        self.serving = None;
        let segment = self.queue.pop_front()?;
        let noise = self.random.duration_up_to(NOISE);
        self.answered = self.answered.max(now + self.way + noise);
        Some((segment, self.answered))
    }

    /// It has no client any more: what it was just sending comes to nothing.
    pub(super) const fn abandon(&mut self) {
        self.serving = None;
    }

    /// All that waits.
    pub(super) fn drain(&mut self) -> Vec<Segment> {
        self.queue.drain(..).collect()
    }
}
