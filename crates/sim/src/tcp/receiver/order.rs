//! Which segments have arrived, and which are in order.

use crate::tcp::scoreboard::Payload;
use std::collections::VecDeque;

/// SACK blocks that a receiver remembers (`tcp_sack_block selective_acks[4]`).
const BLOCKS: usize = 4;

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// It is in order, and the data ends with this one or with one behind it (FIN).
    InOrder {
        /// Whether the sender's data ends.
        fin: bool,
    },
    /// It is out of order: an earlier segment is missing.
    Early,
    /// It had arrived before.
    Duplicate,
}

/// Segments of a subflow. Those out of order stay here until the ones before them have arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    next: u64,
    /// `None` if all that arrived is in order.
    early: Option<Box<Early>>,
}

/// Segments out of order.
#[derive(Debug, Clone, Default)]
struct Early {
    /// Segments from the next one in order on. `None`: it has not arrived.
    slots: VecDeque<Option<Payload>>,
    /// Ranges of segments that have arrived, the one of the latest arrival first.
    blocks: [(u64, u64); BLOCKS],
    count: u8,
}

impl Order {
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn has_early(&self) -> bool {
        self.early.is_some()
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.early.iter().flat_map(|early| early.blocks())
    }

    /// Takes a segment. `deliver` gets it and those behind it, if they are in order now.
    pub(super) fn take(
        &mut self,
        number: u64,
        payload: Payload,
        mut deliver: impl FnMut(Payload),
    ) -> Arrived {
        let Some(ahead) = number.checked_sub(self.next) else {
            return Arrived::Duplicate;
        };
        if ahead > 0 {
            let early = self.early.get_or_insert_default();
            return early.keep(ahead as usize, number, payload);
        }
        let mut fin = payload.fin;
        deliver(payload);
        self.next += 1;
        if let Some(early) = &mut self.early {
            early.slots.pop_front();
            while let Some(Some(payload)) = early.slots.pop_front_if(|slot| slot.is_some()) {
                fin |= payload.fin;
                deliver(payload);
                self.next += 1;
            }
            if early.slots.is_empty() {
                self.early = None;
            } else {
                early.forget_blocks(self.next);
            }
        }
        Arrived::InOrder { fin }
    }
}

impl Early {
    fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks.into_iter().take(self.count.into())
    }

    fn keep(&mut self, ahead: usize, number: u64, payload: Payload) -> Arrived {
        if self.slots.len() <= ahead {
            self.slots.resize(ahead + 1, None);
        }
        let is_new = self.slots[ahead].is_none();
        self.slots[ahead] = Some(payload);
        self.touch(number, number + 1);
        if is_new {
            Arrived::Early
        } else {
            Arrived::Duplicate
        }
    }

    /// Extends the block that this segment touches, and puts it first.
    fn touch(&mut self, mut from: u64, mut until: u64) {
        let mut kept = 0;
        let old = self.blocks;
        for (start, end) in old.into_iter().take(self.count.into()) {
            if start <= until && from <= end {
                (from, until) = (from.min(start), until.max(end));
            } else {
                self.blocks[kept] = (start, end);
                kept += 1;
            }
        }
        let kept = kept.min(BLOCKS - 1);
        self.blocks.copy_within(0..kept, 1);
        self.blocks[0] = (from, until);
        self.count = kept as u8 + 1;
    }

    /// Removes the blocks that are in order now. If more ranges were early than are remembered, remembers the
    /// last one.
    fn forget_blocks(&mut self, next: u64) {
        let mut kept = 0;
        let old = self.blocks;
        let known = old.into_iter().take(self.count.into());
        for block in known.filter(|&(from, _)| from > next) {
            self.blocks[kept] = block;
            kept += 1;
        }
        if kept == 0 {
            let until = next + self.slots.len() as u64;
            let run = self.slots.iter().rev().take_while(|slot| slot.is_some());
            self.blocks[0] = (until - run.count() as u64, until);
            kept = 1;
        }
        self.count = kept as u8;
    }
}
