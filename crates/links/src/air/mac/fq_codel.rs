//! FQ-CoDel: flows take turns, and CoDel keeps each one short.
//!
//! # Sources
//! - RFC 8290 §4.1.1 (new and old flows, deficits of one full frame), §4.1.3 (a full queue drops from the
//!   flow with the most bytes), §4.2 (dequeuing: CoDel on the flow whose turn it is).
//! - Linux mac80211: every receiver has its own flows. An aggregate takes only from those of its receiver.
//!
//! # Where we differ, and why
//! 1. Each flow has its own queue. The RFC hashes flows into 1,024 queues, so that few share one by accident.
//! 2. The code that assembles an aggregate takes the next packet that fits into it. Flows to other receivers
//!    keep their turns.
//!
//! # Checked by
//! `fq_codel_tests`.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use units::Instant;

use crate::air::io::{Destination, Packet};
use crate::queue::codel::{Codel, Verdict};

/// What a flow may send in a turn, in bytes.
const QUANTUM: i64 = 1_514;
/// The backlog that CoDel leaves alone: at most a full packet behind the head.
const FULL_PACKET: u64 = 1_500;

type Key = (Destination, u8, u32);

#[derive(Debug)]
pub(in crate::air) struct FqCodel {
    config: crate::Codel,
    flows: Vec<Flow>,
    places: BTreeMap<Key, u32>,
    /// Flows that take turns. Those that were empty until now come first.
    fresh: VecDeque<u32>,
    old: VecDeque<u32>,
    length: usize,
    pub(in crate::air) dropped: VecDeque<Packet>,
}

#[derive(Debug)]
struct Flow {
    packets: VecDeque<(u64, Packet)>,
    bytes: u64,
    deficit: i64,
    codel: Codel,
    listed: bool,
}

impl FqCodel {
    pub(in crate::air) const fn new(config: crate::Codel) -> Self {
        Self {
            config,
            flows: Vec::new(),
            places: BTreeMap::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            length: 0,
            dropped: VecDeque::new(),
        }
    }

    pub(in crate::air) const fn len(&self) -> usize {
        self.length
    }

    pub(in crate::air) fn push(&mut self, now: u64, packet: Packet) {
        let (flows, config) = (&mut self.flows, self.config);
        let place = *self
            .places
            .entry((packet.to, packet.tid, packet.flow))
            .or_insert_with(|| {
                flows.push(Flow::new(config));
                flows.len() as u32 - 1
            });
        let flow = &mut self.flows[place as usize];
        flow.packets.push_back((now, packet));
        flow.bytes += u64::from(packet.bytes);
        self.length += 1;
        if !core::mem::replace(&mut flow.listed, true) {
            flow.deficit = QUANTUM;
            self.fresh.push_back(place);
        }
    }

    /// Drops the oldest packet of the flow with the most bytes.
    pub(super) fn drop_of_fattest(&mut self) -> Option<Packet> {
        let fattest = self.flows.iter_mut().max_by_key(|flow| flow.bytes)?;
        let (_, packet) = fattest.take()?;
        self.length -= 1;
        Some(packet)
    }

    /// Keeps the packets for which `stays` returns true.
    pub(in crate::air) fn retain(&mut self, mut stays: impl FnMut(&Packet) -> bool) {
        for flow in &mut self.flows {
            flow.packets.retain(|(_, packet)| stays(packet));
            flow.bytes = flow
                .packets
                .iter()
                .map(|(_, packet)| u64::from(packet.bytes))
                .sum();
        }
        self.length = self.flows.iter().map(|flow| flow.packets.len()).sum();
    }

    /// The packet whose turn it is, unless CoDel drops it on dequeue.
    pub(in crate::air) fn first(&mut self, _now: u64) -> Option<&Packet> {
        let place = self.turn(|_| true)?;
        self.flows[place as usize].head()
    }

    /// Takes the next packet of the flows whose first packet is wanted.
    pub(super) fn take_if(&mut self, now: u64, wanted: impl Fn(&Packet) -> bool) -> Option<Packet> {
        loop {
            let place = self.turn(&wanted)?;
            let flow = &mut self.flows[place as usize];
            let before = flow.packets.len();
            let packet = flow.managed(Instant::from_nanos(now), &mut self.dropped);
            self.length -= before - flow.packets.len();
            // The packet taken instead of a dropped one may be too long. That is so rare that it is sent
            // anyway.
            if let Some(packet) = packet {
                flow.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
        }
    }

    /// The flow whose turn it is among those whose first packet is wanted. A flow that has used up its turn
    /// moves to the end of the old ones. An empty flow leaves the lists (a new one only after another turn
    /// among the old ones).
    fn turn(&mut self, wanted: impl Fn(&Packet) -> bool) -> Option<u32> {
        let mut at = 0;
        while let Some((place, is_fresh)) = self.listed(at) {
            let flow = &mut self.flows[place as usize];
            match flow.head() {
                None => self.leave(place, is_fresh),
                Some(packet) if !wanted(packet) => at += 1,
                Some(_) if flow.deficit > 0 => return Some(place),
                Some(_) => {
                    flow.deficit += QUANTUM;
                    self.move_to_end(place, is_fresh);
                }
            }
        }
        None
    }

    /// The flow at a position among the new and then the old ones, and whether it is new.
    fn listed(&self, at: usize) -> Option<(u32, bool)> {
        match self.fresh.get(at) {
            Some(&place) => Some((place, true)),
            None => Some((*self.old.get(at - self.fresh.len())?, false)),
        }
    }

    fn leave(&mut self, place: u32, is_fresh: bool) {
        if is_fresh {
            self.move_to_end(place, true);
        } else {
            self.old.retain(|&other| other != place);
            self.flows[place as usize].listed = false;
        }
    }

    fn move_to_end(&mut self, place: u32, is_fresh: bool) {
        let list = if is_fresh { &mut self.fresh } else { &mut self.old };
        list.retain(|&other| other != place);
        self.old.push_back(place);
    }
}

impl Flow {
    fn new(config: crate::Codel) -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            codel: Codel::new(config),
            listed: false,
        }
    }

    fn head(&self) -> Option<&Packet> {
        self.packets.front().map(|(_, packet)| packet)
    }

    fn take(&mut self) -> Option<(u64, Packet)> {
        let (since, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        if self.packets.is_empty() {
            self.codel.emptied();
        }
        Some((since, packet))
    }

    /// The next packet that CoDel lets pass.
    fn managed(&mut self, now: Instant, dropped: &mut VecDeque<Packet>) -> Option<Packet> {
        let (since, mut packet) = self.take()?;
        let sojourn = now.since(Instant::from_nanos(since));
        let mut verdict = self.codel.head(now, sojourn, self.bytes <= FULL_PACKET);
        while verdict == Verdict::Signal {
            dropped.push_back(packet);
            let (since, next) = self.take()?;
            packet = next;
            let sojourn = now.since(Instant::from_nanos(since));
            verdict = self.codel.after_drop(now, sojourn, self.bytes <= FULL_PACKET);
        }
        Some(packet)
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
