//! The event queue of a world: what happens when, in the order of time, and in the order of arrival where times are equal.
//!
//! Here are the few events that come from outside the medium: a flow's next datagram, a segment's arrival. A binary heap is enough for them. The
//! many are the medium's own deadlines, which it keeps itself: [`links::air::schedule`] says in what, and what was measured beside it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Instant;

/// Events by time.
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

    /// When the next event is.
    pub fn first(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| Instant::from_nanos(*at))
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        let Reverse((at, _, event)) = self.heap.pop()?;
        Some((Instant::from_nanos(at), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_come_in_the_order_of_arrival() {
        let mut queue = EventQueue::default();
        // The greater event first, so that what decides is not the event.
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
