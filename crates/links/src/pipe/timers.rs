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
    /// A binary tree: the root is node 1, the children of node n are 2n and 2n + 1, and the leaves are the
    /// slots. Each other node equals its earlier child. Node 0 is unused.
    nodes: Vec<Node>,
}

/// A due time in ns, and in the lower bits the slot's number. One comparison finds the earlier of two.
type Node = u128;

/// Bits of a slot's number.
const SLOT_BITS: u32 = 32;

fn node(at: u64, slot: usize) -> Node {
    Node::from(at) << SLOT_BITS | slot as Node
}

impl Timers {
    /// `slots` slots (at most 2³¹), all of them idle.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two();
        let mut nodes = vec![0; 2 * leaves];
        for slot in 0..leaves {
            nodes[leaves + slot] = node(NEVER, slot);
        }
        for at in (1..leaves).rev() {
            nodes[at] = nodes[2 * at].min(nodes[2 * at + 1]);
        }
        Self { nodes }
    }

    /// Sets when `slot` is due. `None`: never.
    pub(crate) fn set(&mut self, slot: usize, at: Option<Instant>) {
        let mut first = node(at.map_or(NEVER, Instant::as_nanos), slot);
        let mut place = self.nodes.len() / 2 + slot;
        while self.nodes[place] != first {
            self.nodes[place] = first;
            if place == 1 {
                return;
            }
            first = first.min(self.nodes[place ^ 1]);
            place /= 2;
        }
    }

    /// The slot that is due first, and when.
    pub(crate) fn first(&self) -> Option<(Instant, usize)> {
        let first = self.nodes[1];
        let at = (first >> SLOT_BITS) as u64;
        (at != NEVER).then(|| (Instant::from_nanos(at), first as u32 as usize))
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
