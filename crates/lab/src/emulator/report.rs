//! The report of an emulator.

use super::{FaultRecord, Lateness};
use links::{Counters, Direction, DropReason, LinkId};
use std::collections::BTreeMap;
use trace::FlowMeter;
use units::{Bytes, Duration};

/// What one link has carried since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkSample {
    /// IP bytes that left the link from the client.
    pub up: Bytes,
    /// IP bytes that left the link to the client.
    pub down: Bytes,
    /// The model's own counters.
    pub counters: Counters,
    /// Why packets were lost.
    pub losses: Losses,
}

impl LinkSample {
    pub(super) fn passed(&mut self, direction: Direction, bytes: u32) {
        let bytes = Bytes::new(bytes.into());
        match direction {
            Direction::Up => self.up += bytes,
            Direction::Down => self.down += bytes,
        }
    }
}

/// TCP packets that left a link with CE, by link, direction and the client's port.
pub type Marks = BTreeMap<(LinkId, Direction, u16), u64>;

/// Packets lost, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// The queue was full.
    pub queue_full: u64,
    /// Active queue management dropped them.
    pub aqm: u64,
    /// Random loss.
    pub loss: u64,
    /// Every transmission failed.
    pub retries: u64,
    /// The link was not attached.
    pub detached: u64,
    /// A fault dropped them.
    pub fault: u64,
}

impl Losses {
    pub(super) fn count(&mut self, reason: DropReason) {
        *match reason {
            DropReason::QueueFull => &mut self.queue_full,
            DropReason::Aqm => &mut self.aqm,
            DropReason::Loss => &mut self.loss,
            DropReason::Retries => &mut self.retries,
            DropReason::Detached => &mut self.detached,
            DropReason::Fault => &mut self.fault,
        } += 1;
    }
}

/// The end result.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Whether real-time scheduling was granted. Without it packets are later.
    pub realtime: bool,
    /// How late packets left.
    pub lateness: Lateness,
    /// One per link of the client.
    pub links: Vec<LinkSample>,
    /// Packets that left a link marked, whether the link or the sender marked them.
    pub marks: Marks,
    /// Every fault, in the order in which they were applied.
    pub faults: Vec<FaultRecord>,
    /// CPU time of the thread, the kernel's work inside its system calls included.
    pub cpu: Duration,
    /// How long it ran.
    pub wall: Duration,
    /// Packets not carried, because they are not ours (multicast, link-local) or of no known kind.
    pub chatter: u64,
    /// Packets that a device did not take because it was down.
    pub refused: u64,
    /// Packets left in the links at the end.
    pub under_way: usize,
    /// The models' own traffic that arrived, by flow.
    pub background: Vec<FlowMeter>,
}

impl Report {
    /// Processors used.
    pub fn cores(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }
}
