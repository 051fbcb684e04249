//! Which segments have arrived, and which are in order.

use crate::tcp::scoreboard::Payload;
use std::collections::VecDeque;

/// SACK blocks that a receiver remembers (`tcp_sack_block selective_acks[4]`).
const BLOCKS: usize = 4;
/// Room that an empty queue keeps.
const KEPT: usize = 64;

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// It is in order, and the data ends with this one or with one behind it (FIN).
    InOrder {
        /// Whether the sender's data ends.
        fin: bool,
    },
    /// It waits for one before it.
    Early,
    /// It had arrived.
    Duplicate,
}

/// Segments of a subflow. Those out of order stay here until the ones before them have arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    next: u64,
    /// Segments from `next` on. `None`: it has not arrived.
    early: VecDeque<Option<Payload>>,
    /// Ranges of segments behind `next`, the one of the latest arrival first.
    blocks: [(u64, u64); BLOCKS],
    count: u8,
}

impl Order {
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn has_early(&self) -> bool {
        self.count > 0
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks.into_iter().take(self.count.into())
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
            return self.keep(ahead as usize, number, payload);
        }
        let mut fin = payload.fin;
        deliver(payload);
        self.next += 1;
        self.early.pop_front();
        while let Some(Some(payload)) = self.early.pop_front_if(|slot| slot.is_some()) {
            fin |= payload.fin;
            deliver(payload);
            self.next += 1;
        }
        self.forget_blocks();
        Arrived::InOrder { fin }
    }

    fn keep(&mut self, ahead: usize, number: u64, payload: Payload) -> Arrived {
        if self.early.len() <= ahead {
            self.early.resize(ahead + 1, None);
        }
        if self.early[ahead].is_some() {
            self.touch(number, number + 1);
            return Arrived::Duplicate;
        }
        self.early[ahead] = Some(payload);
        self.touch(number, number + 1);
        Arrived::Early
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

    /// Removes the blocks that are in order now.
    fn forget_blocks(&mut self) {
        if self.count == 0 {
            return;
        }
        if self.early.is_empty() {
            self.count = 0;
            if self.early.capacity() > KEPT {
                self.early = VecDeque::new();
            }
            return;
        }
        let (next, mut kept) = (self.next, 0);
        let old = self.blocks;
        for block in old
            .into_iter()
            .take(self.count.into())
            .filter(|&(from, _)| from > next)
        {
            self.blocks[kept] = block;
            kept += 1;
        }
        self.count = kept as u8;
        if kept == 0 {
            self.remember_last();
        }
    }

    /// More than [`BLOCKS`] ranges were early, and the remembered ones are in order now: remembers the last.
    fn remember_last(&mut self) {
        let until = self.next + self.early.len() as u64;
        let run = self.early.iter().rev().take_while(|slot| slot.is_some());
        let count = run.count() as u64;
        self.blocks[0] = (until - count, until);
        self.count = 1;
    }
}
