//! Proportional rate reduction: paces a sender during loss recovery, so that its window reaches the
//! slow-start threshold at the end of it.
//!
//! # Sources
//! - RFC 6937 §3 (the algorithm), with the slow-start reduction bound.
//! - Linux, `net/ipv4/tcp_input.c` (`tcp_cwnd_reduction`): the first retransmission is sent whatever the
//!   limits.
//!
//! # Where we differ, and why
//! 1. Counts segments, not bytes, as Linux does.
//! 2. Allowed segments count as sent: the caller has them ready.
//!
//! # Checked by
//! `tests` below. `crates/sim/tests/cc_share.rs` and `crates/sim/tests/cla_handoff.rs`: senders that use it
//! in loss recovery.

/// State of one loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prr {
    /// `RecoverFS`: segments in flight at the start of recovery.
    flight: u32,
    /// `prr_delivered`.
    delivered: u32,
    /// `prr_out`.
    sent: u32,
}

impl Prr {
    /// Starts a recovery. `cwnd` is the window before the loss, in segments.
    pub fn new(cwnd: u32) -> Self {
        Self {
            flight: cwnd.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    /// How many segments to send now that `newly` more were delivered. The caller sends all of them.
    pub fn may_send(&mut self, newly: u32, ssthresh: u32, in_flight: u32) -> u32 {
        self.delivered = self.delivered.saturating_add(newly);
        let may = if in_flight > ssthresh {
            self.proportional(ssthresh)
        } else {
            let behind = self.delivered.saturating_sub(self.sent).max(newly);
            (ssthresh - in_flight).min(behind.saturating_add(1))
        };
        let may = if self.sent == 0 { may.max(1) } else { may };
        self.sent = self.sent.saturating_add(may);
        may
    }

    /// Segments due for the deliveries so far, at the ratio of the threshold to the flight, minus those sent.
    fn proportional(&self, ssthresh: u32) -> u32 {
        let due = (u64::from(self.delivered) * u64::from(ssthresh)).div_ceil(u64::from(self.flight));
        u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Twenty segments are in flight, the first one is lost, and the threshold is half of them.
    #[test]
    fn one_goes_out_for_every_two_that_arrive() {
        let (mut prr, mut in_flight) = (Prr::new(20), 19);
        let mut sent = alloc::vec::Vec::new();
        for _ in 0..16 {
            in_flight -= 1;
            let may = prr.may_send(1, 10, in_flight);
            in_flight += may;
            sent.push(may);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// Below the threshold, because many were lost at once: two segments are sent for each one delivered.
    #[test]
    fn after_many_losses_it_is_slow_start() {
        let mut prr = Prr::new(20);
        assert_eq!(prr.may_send(1, 10, 4), 2);
        assert_eq!(prr.may_send(1, 10, 5), 2);
        assert_eq!(prr.may_send(1, 10, 9), 1);
        assert_eq!(prr.may_send(1, 10, 10), 0);
    }

    #[test]
    fn the_first_retransmission_is_sent_at_once() {
        assert_eq!(Prr::new(10).may_send(0, 5, 5), 1);
    }

    proptest! {
        #[test]
        fn sends_in_proportion_while_above_the_threshold(
            cwnd in 2u32..100_000, acks in prop::collection::vec(1u32..50, 1..60),
        ) {
            let (mut prr, ssthresh) = (Prr::new(cwnd), cwnd / 2);
            let (mut sent, mut delivered) = (0, 0);
            for newly in acks {
                delivered += u64::from(newly);
                sent += u64::from(prr.may_send(newly, ssthresh, ssthresh + 1));
                let part = (delivered * u64::from(ssthresh)).div_ceil(u64::from(cwnd));
                prop_assert_eq!(sent, part);
            }
        }

        #[test]
        fn accepts_any_numbers(cwnd: u32, asked in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>()), 0..30)) {
            let mut prr = Prr::new(cwnd);
            for (newly, ssthresh, in_flight) in asked {
                let may = prr.may_send(newly, ssthresh, in_flight);
                prop_assert!(in_flight > ssthresh || may <= (ssthresh - in_flight).max(1));
            }
        }
    }
}
