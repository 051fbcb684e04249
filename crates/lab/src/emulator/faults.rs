//! What was broken when, and whether it had its effect: a fault that nobody saw is no experiment.

use links::{Fault, LinkId, Position};
use units::Instant;

/// A step of the script that a run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// When.
    pub at: Instant,
    /// What.
    pub step: Step,
}

/// What can happen by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The client's radio is here now.
    Move(Position),
    /// Something breaks or is mended.
    Fault(Whom, Fault),
    /// The link's next address is another one; who gives addresses is told ([`super::Event::Renew`]).
    Renew(Whom),
}

/// Whom a step befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// This link.
    Link(LinkId),
    /// The link that delivered most in the second before the first step with this number; the same one for all of them.
    Busiest(u32),
}

/// A fault as it was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRecord {
    /// Of which link.
    pub link: LinkId,
    /// What.
    pub fault: Fault,
    /// When the network was told.
    pub applied: Instant,
    /// Packets of the link that faults swallowed from then until the next fault of the link, or the end.
    pub swallowed: u64,
    /// Packets that the link delivered in that time.
    pub delivered: u64,
}

impl FaultRecord {
    /// Whether what happened to the packets is what the fault says: nothing passes a link that is a black hole or down.
    pub const fn holds(&self) -> bool {
        match self.fault {
            Fault::Blackhole(true) | Fault::Down(true) => self.delivered == 0,
            _ => true,
        }
    }
}

/// Counts what faults do.
#[derive(Debug, Default)]
pub(super) struct FaultLog {
    records: Vec<FaultRecord>,
    /// Index of the fault that each link is under now.
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

    /// The fault, if this is the first packet that it swallowed.
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
