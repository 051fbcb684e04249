//! Packets that wait at a station for their turn on the air.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::fq_codel::FqCodel;
use crate::air::io::{Packet, Subtype};
use crate::config::Discipline;

/// The order in which packets leave.
#[derive(Debug)]
pub(in crate::air) struct Queue {
    capacity: usize,
    /// Packets ahead of everything else.
    urgent: VecDeque<Packet>,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Arrival(VecDeque<Packet>),
    Flows(Box<FqCodel>),
}

impl Queue {
    pub(in crate::air) fn new(capacity: usize, discipline: Discipline) -> Self {
        let order = match discipline {
            Discipline::TailDrop => Order::Arrival(VecDeque::new()),
            Discipline::FqCodel(codel) => Order::Flows(Box::new(FqCodel::new(codel))),
        };
        Self {
            capacity,
            urgent: VecDeque::new(),
            order,
        }
    }

    /// Enqueues a packet. Returns the packet dropped for lack of room, which may be another one.
    pub(in crate::air) fn push(&mut self, now: u64, packet: Packet) -> Option<Packet> {
        match &mut self.order {
            Order::Arrival(packets) if packets.len() >= self.capacity => Some(packet),
            Order::Arrival(packets) => {
                if packets.capacity() == 0 {
                    // Saturated stations have at most one packet behind the one being tried. A longer ring
                    // would touch more memory.
                    packets.reserve_exact(2);
                }
                packets.push_back(packet);
                None
            }
            Order::Flows(flows) => {
                flows.push(now, packet);
                if flows.len() > self.capacity {
                    flows.drop_of_fattest()
                } else {
                    None
                }
            }
        }
    }

    pub(in crate::air) fn len(&self) -> usize {
        self.urgent.len()
            + match &self.order {
                Order::Arrival(packets) => packets.len(),
                Order::Flows(flows) => flows.len(),
            }
    }

    pub(in crate::air) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packet whose turn it is.
    pub(in crate::air) fn first(&mut self, now: u64) -> Option<&Packet> {
        if !self.urgent.is_empty() {
            return self.urgent.front();
        }
        match &mut self.order {
            Order::Arrival(packets) => packets.front(),
            Order::Flows(flows) => flows.first(now),
        }
    }

    /// Takes the first packet that is wanted.
    #[inline]
    pub(super) fn take_if(&mut self, now: u64, wanted: impl Fn(&Packet) -> bool) -> Option<Packet> {
        if let Some(packet) = self.urgent.front().copied().filter(&wanted) {
            self.urgent.pop_front();
            return Some(packet);
        }
        match &mut self.order {
            Order::Arrival(packets) => {
                if packets.front().is_some_and(&wanted) {
                    return packets.pop_front();
                }
                let place = packets.iter().position(wanted)?;
                packets.remove(place)
            }
            Order::Flows(flows) => flows.take_if(now, wanted),
        }
    }

    /// Puts a packet ahead of all others, whatever the queue's length. A beacon goes before other urgent
    /// ones.
    pub(in crate::air) fn push_first(&mut self, packet: Packet) {
        if packet.subtype == Subtype::Beacon {
            self.urgent.push_front(packet);
        } else {
            self.urgent.push_back(packet);
        }
    }

    /// Whether a beacon waits.
    pub(in crate::air) fn has_beacon(&self) -> bool {
        let first = self.urgent.front();
        first.is_some_and(|packet| packet.subtype == Subtype::Beacon)
    }

    /// Takes back all packets that are wanted.
    pub(in crate::air) fn withdraw(&mut self, wanted: impl Fn(&Packet) -> bool, taken: &mut Vec<Packet>) {
        let mut keep = |packet: &Packet| {
            let stays = !wanted(packet);
            if !stays {
                taken.push(*packet);
            }
            stays
        };
        self.urgent.retain(&mut keep);
        match &mut self.order {
            Order::Arrival(packets) => packets.retain(&mut keep),
            Order::Flows(flows) => flows.retain(&mut keep),
        }
    }

    /// Whether the queue management has dropped packets that are not reported yet.
    pub(in crate::air) fn has_dropped(&self) -> bool {
        match &self.order {
            Order::Arrival(_) => false,
            Order::Flows(flows) => !flows.dropped.is_empty(),
        }
    }

    /// The next dropped packet not reported yet.
    pub(in crate::air) fn dropped(&mut self) -> Option<Packet> {
        match &mut self.order {
            Order::Arrival(_) => None,
            Order::Flows(flows) => flows.dropped.pop_front(),
        }
    }
}
