//! Bytes that a connection holds because earlier ones have not come: what a slow path makes the fast ones wait for.
//!
//! No counter of the kernel has them. What arrived in order on the subflows, less what arrived in order on the connection, is what is
//! held, and what came twice; and the receive queue, in which held data lies too, bounds it.
//!
//! # Sources
//! - net/mptcp/protocol.c (`__mptcp_move_skb`, `mptcp_data_queue_ofo`: both queues are charged to the MPTCP socket), Linux 6.18.
//!
//! # Where we differ, and why
//! 1. The queue counts memory, not payload, and what the application has not read yet: it is a bound only, and where it is empty
//!    everything that was counted is forgotten.
//!
//! # Checked by
//! `tests` below; in the lab, `world.rs`: two links of different delay hold something, one holds nothing.

use units::Bytes;

/// What one connection holds. Tell it of every look at the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Below zero for a moment when the connection was read later than its subflows.
    ahead: i64,
    in_order: Option<Bytes>,
}

impl Held {
    /// Takes in a look: what came on all subflows since the last one, what has come in order on the connection since it began, and the
    /// memory that its receive queue takes. How much is held.
    pub fn look(&mut self, arrived: Bytes, in_order: Bytes, queue: Bytes) -> Bytes {
        let Some(before) = self.in_order.replace(in_order) else {
            return Bytes::ZERO;
        };
        let delivered = in_order.saturating_sub(before);
        let ahead = self
            .ahead
            .saturating_add(signed(arrived))
            .saturating_sub(signed(delivered));
        self.ahead = ahead.min(signed(queue));
        Bytes::new(self.ahead.max(0).cast_unsigned())
    }
}

fn signed(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Bytes = Bytes::new(1 << 20);

    fn kb(kb: u64) -> Bytes {
        Bytes::new(kb * 1_000)
    }

    fn begun() -> Held {
        let mut held = Held::default();
        assert_eq!(
            held.look(kb(500), kb(400), MEMORY),
            Bytes::ZERO,
            "nothing is known yet"
        );
        held
    }

    #[test]
    fn what_came_and_is_not_in_order_is_held() {
        let mut held = begun();
        assert_eq!(held.look(kb(30), kb(410), MEMORY), kb(20));
        assert_eq!(held.look(kb(5), kb(435), MEMORY), Bytes::ZERO);
    }

    #[test]
    fn a_reading_between_two_arrivals_is_made_good_by_the_next() {
        let mut held = begun();
        assert_eq!(held.look(kb(10), kb(420), MEMORY), Bytes::ZERO);
        assert_eq!(held.look(kb(10), kb(420), MEMORY), Bytes::ZERO);
        assert_eq!(held.look(kb(10), kb(420), MEMORY), kb(10));
    }

    #[test]
    fn what_came_twice_is_forgotten_when_the_queue_is_empty() {
        let mut held = begun();
        held.look(kb(100), kb(450), MEMORY);
        assert_eq!(held.look(Bytes::ZERO, kb(450), Bytes::ZERO), Bytes::ZERO);
        assert_eq!(held.look(kb(7), kb(450), MEMORY), kb(7));
    }

    #[test]
    fn never_more_than_the_queue_takes() {
        let mut held = begun();
        assert_eq!(held.look(kb(100), kb(400), kb(30)), kb(30));
    }

    #[test]
    fn broken_counters_are_borne() {
        let mut held = begun();
        let most = Bytes::new(u64::MAX);
        held.look(most, Bytes::ZERO, most);
        assert!(held.look(most, most, most) <= most);
    }
}
