//! The client: what has arrived, and what of it there is to read.

use crate::tcp::Segment;
use std::collections::BTreeSet;

/// What has arrived at the client.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// Every arrival, in its order.
    log: Vec<Segment>,
    /// The first segment that has not arrived.
    next: u64,
    /// Those behind it that have.
    early: BTreeSet<u64>,
}

/// What an arrival is to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receipt {
    /// So many segments more to read.
    Readable(u64),
    /// It waits for others.
    Early,
    /// It was there already.
    Duplicate,
}

impl Client {
    pub(super) fn receive(&mut self, segment: Segment) -> Receipt {
        self.log.push(segment);
        let before = self.next;
        if segment.number < before || self.early.contains(&segment.number) {
            return Receipt::Duplicate;
        }
        if segment.number > before {
            self.early.insert(segment.number);
            return Receipt::Early;
        }
        self.next += 1;
        while self.early.remove(&self.next) {
            self.next += 1;
        }
        Receipt::Readable(self.next - before)
    }

    /// How many segments were read.
    pub(super) const fn read(&self) -> u64 {
        self.next
    }

    /// How many arrivals there were.
    pub(super) const fn arrivals(&self) -> usize {
        self.log.len()
    }

    /// Those after so many, up to so many; none if that is not so far.
    pub(super) fn between(&self, heard: usize, count: usize) -> &[Segment] {
        self.log.get(heard..count).unwrap_or_default()
    }
}
