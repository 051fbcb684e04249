//! Whether a busy subflow brings next to nothing for a moment although it lives: its sender looks for the least round trip.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_min_rtt`: every ten seconds a sender has no more than four segments under way for 200 ms, or for a
//!   round trip (`BBR_PROBE_RTT`).
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: it is given its share all the same, since its pacing rate is what it was.
//!
//! # Where we differ, and why
//! 1. A receiver sees a silence and then a few segments, again and again. A link that has died is silent, too, and nothing comes after that.
//!
//! # Checked by
//! `tests`; `window-bdp` with bbr in the benchmarks.

use units::{Bitrate, Bytes, Duration, Instant};

/// No more than that come at once. The sender has half as many under way; two rounds may fall into one reading.
const FEW: u64 = 8;
/// A link that carries less than this in a round trip brings few segments anyway.
const MANY: Bytes = Bytes::new(16 * 1_448);
/// It goes on until nothing has come for so many round trips.
const ROUNDS: u32 = 2;

/// Whether one subflow trickles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Trickle {
    until: Option<Instant>,
}

impl Trickle {
    /// Takes in how many segments arrived at once after how long a silence, over a path with this least round trip that has shown this rate.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        segments: u64,
        silence: Duration,
        rtt: Duration,
        best: Bitrate,
    ) {
        if segments > FEW {
            self.until = None;
        } else if segments > 0 && silence * 2 >= rtt && best * rtt >= MANY {
            self.until = Some(now + rtt * ROUNDS);
        }
    }

    pub(crate) fn goes_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const FAST: Bitrate = Bitrate::from_mbps(50);

    /// A subflow that is read every 10 ms and brings these numbers of segments; at which readings it trickles.
    fn trickles(best: Bitrate, rtt: Duration, segments: &[u64]) -> alloc::vec::Vec<usize> {
        let (mut trickle, mut last) = (Trickle::default(), Instant::ZERO);
        let mut at = alloc::vec::Vec::new();
        for (number, &segments) in segments.iter().enumerate() {
            let now = Instant::ZERO + 10 * MS * (number as u32 + 1);
            trickle.read(now, segments, now - last, rtt, best);
            if segments > 0 {
                last = now;
            }
            if trickle.goes_on(now) {
                at.push(number);
            }
        }
        at
    }

    const PROBE: [u64; 12] = [40, 40, 0, 0, 0, 4, 0, 0, 4, 0, 40, 40];

    #[test]
    fn a_few_segments_after_a_silence_are_a_trickle_until_many_come() {
        assert_eq!(trickles(FAST, 30 * MS, &PROBE), [5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_link_that_has_died_does_not_trickle() {
        assert_eq!(
            trickles(FAST, 30 * MS, &[40, 40, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            []
        );
    }

    #[test]
    fn a_trickle_that_dries_up_is_over_after_two_round_trips() {
        assert_eq!(
            trickles(FAST, 30 * MS, &[40, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
            [3, 4, 5, 6, 7, 8, 9]
        );
    }

    #[test]
    fn a_link_that_never_carried_more_does_not() {
        assert_eq!(trickles(Bitrate::from_mbps(3), 30 * MS, &PROBE), []);
    }
}
