//! Buffers for the packets in flight. They are reused, so that a packet costs no allocation.
//!
//! Every packet has a slot of [`SLOT_LEN`] bytes, room for a virtio header and any packet of one MTU. A burst
//! continues in a tail of 64 KiB, which only bursts hold.

use super::{Burst, Header, Vnet};
use crate::tun::VNET_LEN;
use std::io::IoSliceMut;

/// Bytes of a slot.
const SLOT_LEN: usize = 2_048;
/// Bytes of a tail: a whole IP packet.
const TAIL_LEN: usize = 65_536;
/// Slots allocated at a time.
const CHUNK: usize = 256;

/// The index of a slot in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotId(pub(crate) u32);

/// The packet in a slot.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Length of the packet, without the virtio header.
    len: usize,
    tail: Option<u32>,
    /// Packets of it that are still in the links.
    live: u16,
    ip: Option<Header>,
    burst: Option<Burst>,
}

const EMPTY: Slot = Slot {
    len: 0,
    tail: None,
    live: 0,
    ip: None,
    burst: None,
};

/// All slots.
#[derive(Debug)]
pub(crate) struct Slab {
    chunks: Vec<Box<[u8]>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    tails: Vec<Box<[u8]>>,
    free_tails: Vec<u32>,
    /// The tail that the next read may use.
    spare: u32,
}

/// Where a packet may be read into: its slot, then a tail.
pub(crate) type Buffers<'s> = [IoSliceMut<'s>; 2];

impl Slab {
    /// Starts with a few slots; more are allocated on demand.
    pub(crate) fn new() -> Self {
        let mut slab = Self {
            chunks: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            tails: Vec::new(),
            free_tails: Vec::new(),
            spare: 0,
        };
        slab.spare = slab.free_tail();
        slab
    }

    /// A slot for the next read.
    pub(crate) fn vacant(&mut self) -> SlotId {
        if self.free.is_empty() {
            self.grow();
        }
        SlotId(self.free.pop().expect("growing leaves free slots"))
    }

    fn grow(&mut self) {
        let from = self.slots.len() as u32;
        self.chunks.push(vec![0; SLOT_LEN * CHUNK].into_boxed_slice());
        self.slots.resize(self.slots.len() + CHUNK, EMPTY);
        self.free.extend((from..self.slots.len() as u32).rev());
    }

    fn free_tail(&mut self) -> u32 {
        self.free_tails.pop().unwrap_or_else(|| {
            self.tails.push(vec![0; TAIL_LEN].into_boxed_slice());
            self.tails.len() as u32 - 1
        })
    }

    /// The buffers of a vacant slot.
    pub(crate) fn buffers(&mut self, id: SlotId) -> Buffers<'_> {
        let (chunk, at) = place(id);
        let slot = &mut self.chunks[chunk][at..at + SLOT_LEN];
        [
            IoSliceMut::new(slot),
            IoSliceMut::new(&mut self.tails[self.spare as usize]),
        ]
    }

    /// Records that `read` bytes were read into the slot.
    pub(crate) fn filled(&mut self, id: SlotId, read: usize) {
        let tail = (read > SLOT_LEN).then_some(self.spare);
        if tail.is_some() {
            self.spare = self.free_tail();
        }
        self.slots[id.0 as usize] = Slot {
            len: read.saturating_sub(VNET_LEN),
            tail,
            ..EMPTY
        };
    }

    /// Length of the packet in the slot.
    pub(crate) fn len(&self, id: SlotId) -> usize {
        self.slots[id.0 as usize].len
    }

    /// The virtio header of a packet. `None` if it is unknown.
    pub(crate) fn vnet(&self, id: SlotId) -> Option<Vnet> {
        let (chunk, at) = place(id);
        Vnet::parse(self.chunks[chunk][at..].first_chunk()?)
    }

    /// The beginning of the packet: all of it, unless it is a burst.
    pub(crate) fn packet(&self, id: SlotId) -> &[u8] {
        let (chunk, at) = place(id);
        let len = self.len(id).min(SLOT_LEN - VNET_LEN);
        &self.chunks[chunk][at + VNET_LEN..][..len]
    }

    /// Mutable access to the same bytes.
    pub(crate) fn packet_mut(&mut self, id: SlotId) -> &mut [u8] {
        let (chunk, at) = place(id);
        let len = self.len(id).min(SLOT_LEN - VNET_LEN);
        &mut self.chunks[chunk][at + VNET_LEN..][..len]
    }

    /// Bytes `from..to` of the packet, in the two pieces in which they may lie.
    pub(crate) fn bytes(&self, id: SlotId, from: usize, to: usize) -> [&[u8]; 2] {
        self.stored(id, from + VNET_LEN, to + VNET_LEN)
    }

    /// The virtio header and the whole packet.
    pub(crate) fn whole(&self, id: SlotId) -> [&[u8]; 2] {
        self.stored(id, 0, self.len(id) + VNET_LEN)
    }

    fn stored(&self, id: SlotId, from: usize, to: usize) -> [&[u8]; 2] {
        let (chunk, at) = place(id);
        let near = &self.chunks[chunk][at + from.min(SLOT_LEN)..at + to.min(SLOT_LEN)];
        let far = match self.slots[id.0 as usize].tail {
            Some(tail) => {
                &self.tails[tail as usize][from.saturating_sub(SLOT_LEN)..to.saturating_sub(SLOT_LEN)]
            }
            None => &[],
        };
        [near, far]
    }

    /// Records that the links have the packet now, as one or as the segments of a burst.
    pub(crate) fn enter(&mut self, id: SlotId, ip: Header, burst: Option<Burst>) {
        let slot = &mut self.slots[id.0 as usize];
        slot.ip = Some(ip);
        slot.burst = burst;
        slot.live = burst.map_or(1, |burst| burst.segments);
    }

    /// How the packet is cut, if it is a burst.
    pub(crate) fn burst(&self, id: SlotId) -> Option<Burst> {
        self.slots[id.0 as usize].burst
    }

    /// Sets CE on a packet that is no burst.
    pub(crate) fn set_ce(&mut self, id: SlotId) {
        if let Some(ip) = self.slots[id.0 as usize].ip {
            ip.set_ce(self.packet_mut(id));
        }
    }

    /// Records that `count` of its packets have left the links; the last one frees the slot.
    pub(crate) fn leave(&mut self, id: SlotId, count: u16) {
        let slot = &mut self.slots[id.0 as usize];
        slot.live -= count;
        if slot.live == 0 {
            self.discard(id);
        }
    }

    /// Frees a slot whose packet never entered a link.
    pub(crate) fn discard(&mut self, id: SlotId) {
        self.free_tails.extend(self.slots[id.0 as usize].tail.take());
        self.free.push(id.0);
    }

    /// Bytes of all slots and tails, used or not.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.chunks.len() * CHUNK * SLOT_LEN + self.tails.len() * TAIL_LEN
    }

    /// Slots in use.
    pub(crate) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

const fn place(id: SlotId) -> (usize, usize) {
    (id.0 as usize / CHUNK, id.0 as usize % CHUNK * SLOT_LEN)
}
