//! Estimates a connection's out-of-order bytes: what the fast paths delivered while earlier bytes are missing
//! on a slow one.
//!
//! The kernel has no counter for them. Bytes in order on the subflows, minus bytes in order on the
//! connection, are the out-of-order bytes and the duplicates. The receive queue also contains out-of-order
//! data, so its size is an upper limit.
//!
//! # Sources
//! - net/mptcp/protocol.c (`__mptcp_move_skb`, `mptcp_data_queue_ofo`), Linux 6.18: both queues are charged
//!   to the MPTCP socket.
//!
//! # Where we differ, and why
//! 1. The queue counts memory instead of payload, and includes what the application has not read yet. It is
//!    only an upper limit. An empty queue resets the estimate.
//!
//! # Checked by
//! `tests` below. In the lab, `world.rs`: two links of different delay hold out-of-order bytes, one link
//! holds none.

use units::Bytes;

/// The out-of-order estimate of one connection. Call [`look`](Self::look) for every sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Bytes in order on the subflows, ahead of those in order on the connection. Negative for a moment if
    /// the connection was sampled later than its subflows.
    ahead: i64,
    in_order: Option<Bytes>,
}

impl Held {
    /// Adds one sample and returns the out-of-order bytes. `arrived` counts the bytes that arrived on all
    /// subflows after the previous sample. `in_order` counts those in order on the connection since it began.
    /// `queue` is the memory of its receive queue.
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
            "the first sample gives no estimate"
        );
        held
    }

    #[test]
    fn out_of_order_bytes_are_held() {
        let mut held = begun();
        assert_eq!(held.look(kb(30), kb(410), MEMORY), kb(20));
        assert_eq!(held.look(kb(5), kb(435), MEMORY), Bytes::ZERO);
    }

    #[test]
    fn the_next_sample_corrects_one_taken_between_two_arrivals() {
        let mut held = begun();
        assert_eq!(held.look(kb(10), kb(420), MEMORY), Bytes::ZERO);
        assert_eq!(held.look(kb(10), kb(420), MEMORY), Bytes::ZERO);
        assert_eq!(held.look(kb(10), kb(420), MEMORY), kb(10));
    }

    #[test]
    fn an_empty_queue_clears_duplicates() {
        let mut held = begun();
        held.look(kb(100), kb(450), MEMORY);
        assert_eq!(held.look(Bytes::ZERO, kb(450), Bytes::ZERO), Bytes::ZERO);
        assert_eq!(held.look(kb(7), kb(450), MEMORY), kb(7));
    }

    #[test]
    fn held_bytes_never_exceed_the_queue() {
        let mut held = begun();
        assert_eq!(held.look(kb(100), kb(400), kb(30)), kb(30));
    }

    #[test]
    fn broken_counters_do_not_overflow() {
        let mut held = begun();
        let most = Bytes::new(u64::MAX);
        held.look(most, Bytes::ZERO, most);
        assert!(held.look(most, most, most) <= most);
    }
}
