//! The way out of the links into one device.
//!
//! Segments of one burst that leave one after another wait here. They are written as one burst when another
//! packet leaves or the emulator has nothing more to do.

use super::Lateness;
use crate::clock::Clock;
use crate::frame::{Burst, Slab, SlotId};
use crate::tun::Tun;
use std::io::IoSlice;
use units::Instant;

/// A packet's identifier in the links: its slot and, in a burst, which segment it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) slot: SlotId,
    pub(super) segment: u16,
}

impl Token {
    pub(super) const fn encode(self) -> u64 {
        self.slot.0 as u64 | (self.segment as u64) << 32
    }

    pub(super) const fn decode(token: u64) -> Self {
        Self {
            slot: SlotId(token as u32),
            segment: (token >> 32) as u16,
        }
    }
}

/// Segments `first..=last` of one slot that leave together.
#[derive(Debug, Clone, Copy)]
struct Group {
    slot: SlotId,
    first: u16,
    last: u16,
    ce: bool,
}

impl Group {
    fn continues_with(&self, token: Token, ce: bool) -> bool {
        self.slot == token.slot && self.last + 1 == token.segment && self.ce == ce
    }
}

/// Packets waiting to be written to one device.
#[derive(Debug, Default)]
pub(super) struct Outlet {
    group: Option<Group>,
    dues: Vec<Instant>,
    /// Packets that the device did not take.
    pub(super) refused: u64,
}

/// What writing needs besides the outlet.
pub(super) struct Writing<'w> {
    pub(super) tun: &'w Tun,
    pub(super) slab: &'w mut Slab,
    pub(super) lateness: &'w mut Lateness,
    pub(super) clock: Clock,
}

impl Outlet {
    /// Accepts a packet that has left a link and was `due` then.
    pub(super) fn push(&mut self, due: Instant, token: Token, ce: bool, writing: &mut Writing<'_>) {
        match &mut self.group {
            Some(group) if group.continues_with(token, ce) => group.last = token.segment,
            _ => {
                self.flush(writing);
                self.group = Some(Group {
                    slot: token.slot,
                    first: token.segment,
                    last: token.segment,
                    ce,
                });
            }
        }
        self.dues.push(due);
    }

    /// Writes the waiting packets.
    pub(super) fn flush(&mut self, writing: &mut Writing<'_>) {
        let Some(group) = self.group.take() else { return };
        let now = writing.clock.now();
        for due in self.dues.drain(..) {
            writing.lateness.record(now.since(due));
        }
        let count = group.last - group.first + 1;
        let taken = match writing.slab.burst(group.slot) {
            Some(burst) => write_burst(group, burst, writing),
            None => write_whole(group, writing),
        };
        if !taken {
            self.refused += u64::from(count);
        }
        writing.slab.leave(group.slot, count);
    }
}

fn write_whole(group: Group, writing: &mut Writing<'_>) -> bool {
    if group.ce {
        writing.slab.set_ce(group.slot);
    }
    let [near, far] = writing.slab.whole(group.slot);
    writing
        .tun
        .write(&[IoSlice::new(near), IoSlice::new(far)])
        .is_ok()
}

fn write_burst(group: Group, burst: Burst, writing: &Writing<'_>) -> bool {
    let slab = &*writing.slab;
    let head = burst.head(slab.packet(group.slot), group.first, group.last, group.ce);
    let (from, to) = burst.payload_of(group.first, group.last);
    let [near, far] = slab.bytes(group.slot, burst.header_len + from, burst.header_len + to);
    let pieces = [IoSlice::new(head.bytes()), IoSlice::new(near), IoSlice::new(far)];
    writing.tun.write(&pieces).is_ok()
}
