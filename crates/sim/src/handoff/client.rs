//! The client: which segments have arrived, and which of them are readable.

use crate::tcp::Segment;
use std::collections::BTreeSet;

/// Segments that have arrived at the client.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// Every arrival, in order of arrival.
    log: Vec<Segment>,
    /// Number of the first segment that has not arrived.
    next: u64,
    /// Segments behind it that have arrived.
    early: BTreeSet<u64>,
}

/// Effect of an arrival at the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receipt {
    /// This many more segments are readable.
    Readable(u64),
    /// It is out of order.
    Early,
    /// It had arrived before.
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

    /// Number of segments read.
    pub(super) const fn read(&self) -> u64 {
        self.next
    }

    /// Number of arrivals.
    pub(super) const fn arrivals(&self) -> usize {
        self.log.len()
    }

    /// Arrivals number `heard` to `count` (excluded). Empty if there are not that many.
    pub(super) fn between(&self, heard: usize, count: usize) -> &[Segment] {
        self.log.get(heard..count).unwrap_or_default()
    }
}
