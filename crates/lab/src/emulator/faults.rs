//! The log of faults: what was broken when, and whether it took effect. A fault that no packet met is no
//! experiment.

use links::{Fault, LinkId};
use units::Instant;

/// A fault that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRecord {
    /// Of which link.
    pub link: LinkId,
    /// What.
    pub fault: Fault,
    /// When it was applied to the network.
    pub applied: Instant,
    /// Packets of the link that faults dropped from then until the next fault of the link, or the end.
    pub swallowed: u64,
    /// Packets that the link delivered in the same time.
    pub delivered: u64,
}

impl FaultRecord {
    /// Whether the packets fared as the fault says: nothing passes a link that is a black hole or down.
    pub const fn holds(&self) -> bool {
        match self.fault {
            Fault::Blackhole(true) | Fault::Down(true) => self.delivered == 0,
            _ => true,
        }
    }
}

/// Counts the packets that each fault drops or lets pass.
#[derive(Debug, Default)]
pub(super) struct FaultLog {
    records: Vec<FaultRecord>,
    /// Index of the current fault of each link.
    current: Vec<Option<usize>>,
}

impl FaultLog {
    pub(super) fn new(links: usize) -> Self {
        Self {
            records: Vec::new(),
            current: vec![None; links],
        }
    }

    pub(super) fn applied(&mut self, applied: Instant, link: LinkId, fault: Fault) {
        self.current[usize::from(link.0)] = Some(self.records.len());
        self.records.push(FaultRecord {
            link,
            fault,
            applied,
            swallowed: 0,
            delivered: 0,
        });
    }

    /// Counts a dropped packet. Returns the fault if this is the first packet that it drops.
    pub(super) fn swallowed(&mut self, link: LinkId) -> Option<Fault> {
        let record = &mut self.records[self.current[usize::from(link.0)]?];
        record.swallowed += 1;
        (record.swallowed == 1).then_some(record.fault)
    }

    pub(super) fn delivered(&mut self, link: LinkId) {
        if let Some(current) = self.current[usize::from(link.0)] {
            self.records[current].delivered += 1;
        }
    }

    pub(super) fn into_records(self) -> Vec<FaultRecord> {
        self.records
    }
}
