//! Packets that wait at a station for their turn on the air.

use alloc::collections::VecDeque;

use super::io::Packet;

/// First come, first served, up to a number of packets.
#[derive(Debug)]
pub(super) struct Queue {
    capacity: usize,
    packets: VecDeque<Packet>,
}

impl Queue {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            packets: VecDeque::new(),
        }
    }

    /// Takes a packet in; `false` if there is no room.
    pub(super) fn push(&mut self, packet: Packet) -> bool {
        let room = self.packets.len() < self.capacity;
        if room {
            self.packets.push_back(packet);
        }
        room
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packet whose turn it is.
    pub(super) fn first(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Takes the oldest packet that is wanted.
    pub(super) fn take_if(&mut self, wanted: impl Fn(&Packet) -> bool) -> Option<Packet> {
        if self.packets.front().is_some_and(&wanted) {
            return self.packets.pop_front();
        }
        let place = self.packets.iter().position(wanted)?;
        self.packets.remove(place)
    }
}
