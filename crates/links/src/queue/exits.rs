//! Exits of the network: outputs that the world has not fetched yet, and the counters of each link.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use units::{Duration, Instant};

use super::Entry;
use crate::{Counters, DropReason, Heard, LinkId, LinkState, Output, Packet};

#[derive(Debug)]
pub(crate) struct Exits {
    outputs: VecDeque<(Instant, Output)>,
    counters: Vec<Counters>,
    /// Whether to report the frames that the client hears.
    monitor: bool,
}

impl Exits {
    pub(crate) fn new(links: usize) -> Self {
        Self {
            outputs: VecDeque::with_capacity(256),
            counters: vec![Counters::default(); links],
            monitor: false,
        }
    }

    /// Sets whether a monitor interface listens.
    pub(crate) const fn monitored(mut self, monitor: bool) -> Self {
        self.monitor = monitor;
        self
    }

    pub(crate) fn counters(&self, link: LinkId) -> &Counters {
        &self.counters[usize::from(link.0)]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, Output)> {
        self.outputs.pop_front()
    }

    pub(crate) fn push(&mut self, now: Instant, output: Output) {
        self.outputs.push_back((now, output));
    }

    pub(crate) fn deliver(&mut self, now: Instant, entry: Entry) {
        let Entry { packet, ce, .. } = entry;
        let counters = self.of(packet.link);
        counters.delivered += 1;
        counters.delivered_bytes += u64::from(packet.bytes);
        counters.ce_marks += u64::from(ce);
        self.push(now, Output::Delivered { packet, ce });
    }

    pub(crate) fn drop(&mut self, now: Instant, packet: Packet, reason: DropReason) {
        self.of(packet.link).dropped += 1;
        self.push(now, Output::Dropped { packet, reason });
    }

    pub(crate) fn state(&mut self, now: Instant, link: LinkId, state: LinkState) {
        self.push(now, Output::State { link, state });
    }

    /// Reports that the client heard a frame sent to it.
    pub(crate) fn heard(&mut self, now: Instant, link: LinkId, frame: Heard) {
        if self.monitor {
            self.push(now, Output::Heard { link, frame });
        }
    }

    /// Counts one data frame sent over the air.
    pub(crate) fn frame(&mut self, link: LinkId, repeat: bool, collided: bool) {
        let counters = self.of(link);
        counters.frames += 1;
        counters.retries += u64::from(repeat);
        counters.collisions += u64::from(collided);
    }

    pub(crate) fn airtime(&mut self, link: LinkId, time: Duration) {
        self.of(link).airtime += time;
    }

    fn of(&mut self, link: LinkId) -> &mut Counters {
        &mut self.counters[usize::from(link.0)]
    }
}
