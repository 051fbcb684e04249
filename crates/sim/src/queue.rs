//! Event queue of a world: ordered by time, and by insertion where times are equal.
//!
//! It holds the few events from outside the medium: the next datagram of a flow, the arrival of a segment. A
//! binary heap is enough for them. The many events are the medium's own deadlines, which it keeps itself: see
//! [`links::air::schedule`] for the structure and its measured alternatives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

/// Events ordered by time.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<(u64, u64, E)>>,
    pushed: u64,
}

impl<E: Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

impl<E: Ord + Copy> EventQueue<E> {
    /// Adds an event.
    pub fn push(&mut self, at: Instant, event: E) {
        self.heap.push(Reverse((at.as_nanos(), self.pushed, event)));
        self.pushed += 1;
    }

    /// Time of the next event.
    pub fn first(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| Instant::from_nanos(*at))
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        let Reverse((at, _, event)) = self.heap.pop()?;
        Some((Instant::from_nanos(at), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_at_equal_times_keep_their_order_of_insertion() {
        let mut queue = EventQueue::default();
        // The greater event comes first, so that the event itself cannot decide the order.
        for (at_ns, event) in [(7, 'z'), (3, 'm'), (7, 'a'), (3, 'b'), (7, 'k')] {
            queue.push(Instant::from_nanos(at_ns), event);
        }
        assert_eq!(queue.first(), Some(Instant::from_nanos(3)));
        let order: String = std::iter::from_fn(|| queue.pop())
            .map(|(_, event)| event)
            .collect();
        assert_eq!(order, "mbzak");
    }
}
