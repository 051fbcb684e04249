//! Due times of the network's parts: a tournament tree over a fixed number of slots.
//!
//! The number of slots is fixed when the network is built, so the tree never allocates afterwards. Setting a
//! slot costs at most one comparison per level, reading the first is free. Ties go to the lower slot, so that
//! one seed gives one order.

use alloc::vec;
use alloc::vec::Vec;
use units::Instant;

const NEVER: u64 = u64::MAX;

/// The earlier of two times. `None`: never.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The due time of every slot, and the first of them.
#[derive(Debug)]
pub(crate) struct Timers {
    due: Vec<u64>,
    /// `winners[1]` is the slot that is due first. The children of node n are 2n and 2n + 1. The leaves are
    /// the slots.
    winners: Vec<u32>,
}

impl Timers {
    /// `slots` slots (at most 2³¹), all of them idle.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut timers = Self {
            due: vec![NEVER; leaves],
            winners: vec![0; leaves],
        };
        for node in (1..leaves).rev() {
            timers.winners[node] = timers.champion(2 * node);
        }
        timers
    }

    /// Sets when `slot` is due. `None`: never.
    pub(crate) fn set(&mut self, slot: usize, at: Option<Instant>) {
        let at = at.map_or(NEVER, Instant::as_nanos);
        if self.due[slot] == at {
            return;
        }
        self.due[slot] = at;
        let mut node = self.due.len() + slot;
        let mut first = slot as u32;
        while node > 1 {
            let rival = self.champion(node ^ 1);
            if (self.due[rival as usize], rival) < (self.due[first as usize], first) {
                first = rival;
            }
            node /= 2;
            let before = core::mem::replace(&mut self.winners[node], first);
            if before == first && first != slot as u32 {
                return;
            }
        }
    }

    /// The slot that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Instant, usize)> {
        let slot = self.winners[1] as usize;
        (self.due[slot] != NEVER).then(|| (Instant::from_nanos(self.due[slot]), slot))
    }

    fn champion(&self, node: usize) -> u32 {
        if node >= self.due.len() {
            (node - self.due.len()) as u32
        } else {
            self.winners[node]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_the_least_as_a_scan_does(
            slots in 1usize..40,
            sets in prop::collection::vec((0usize..40, prop::option::of(0u64..50)), 0..200),
        ) {
            let mut timers = Timers::new(slots);
            let mut plain = vec![None; slots];
            for (slot, at) in sets {
                let (slot, at) = (slot % slots, at.map(Instant::from_nanos));
                timers.set(slot, at);
                plain[slot] = at;
                let least = plain.iter().enumerate().filter_map(|(slot, at)| at.map(|at| (at, slot))).min();
                prop_assert_eq!(timers.first(), least);
            }
        }
    }
}
