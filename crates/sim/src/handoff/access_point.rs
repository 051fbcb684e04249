//! An access point: a queue, and a service time per segment.

use super::walk::{Link, Place, WalkError};
use crate::tcp::Segment;
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rng};

/// Size of a segment with its headers.
const PACKET: Bytes = Bytes::new(1_500);
/// Queue limit: this time at the mean rate, or this number of packets if that is more.
const QUEUE: Duration = Duration::from_millis(100);
const SHORTEST_QUEUE: usize = 20;
/// Maximum extra delay of an ACK.
const NOISE: Duration = Duration::from_micros(500);

/// An access point with the path to it and back.
#[derive(Debug)]
pub(super) struct AccessPoint {
    service: Duration,
    /// One-way delay between sender and access point.
    pub(super) way: Duration,
    limit: usize,
    queue: VecDeque<Segment>,
    /// Number of the service in progress.
    serving: Option<u64>,
    served: u64,
    /// Arrival time of its last ACK at the sender. ACKs do not overtake each other.
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

    /// Number of queued segments, the one in service included.
    pub(super) fn waiting(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Queues a segment. Returns whether there was room.
    pub(super) fn enqueue(&mut self, segment: Segment) -> bool {
        let fits = self.queue.len() < self.limit;
        if fits {
            self.queue.push_back(segment);
        }
        fits
    }

    /// Begins the next service. Returns when it ends, and its number.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(Instant, u64)> {
        if self.serving.is_some() || self.queue.is_empty() {
            return None;
        }
        self.served += 1;
        self.serving = Some(self.served);
        let noise = self.random.duration_up_to(self.service);
        Some((now + self.service / 2 + noise, self.served))
    }

    /// Ends a service. Returns the segment sent and the arrival time of its ACK at the sender. `None` if the
    /// service was abandoned.
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

    /// The client has left: abandons the service in progress.
    pub(super) const fn abandon(&mut self) {
        self.serving = None;
    }

    /// Removes all queued segments.
    pub(super) fn drain(&mut self) -> Vec<Segment> {
        self.queue.drain(..).collect()
    }
}
