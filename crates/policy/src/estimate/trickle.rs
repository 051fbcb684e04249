//! Whether a busy, live subflow delivers almost nothing for a moment, because its sender probes for the
//! minimum round trip.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_bbr.c`, `bbr_update_min_rtt`: every ten seconds a sender has at most four
//!   segments in flight for 200 ms, or for a round trip (`BBR_PROBE_RTT`).
//! - Linux 6.18, `net/mptcp/protocol.c`, `mptcp_subflow_get_send`: the subflow still gets its share, because
//!   its pacing rate is unchanged.
//!
//! # Where we differ, and why
//! 1. A receiver sees a silence and then a few segments, again and again. A dead link is silent, too, but
//!    nothing arrives after that.
//!
//! # Checked by
//! `tests`. `window-bdp` with bbr in the benchmarks.

use units::{Bitrate, Bytes, Duration, Instant};

/// Maximum number of segments in one sample. The sender has half as many in flight, and two rounds may fall
/// into one sample.
const FEW: u64 = 8;
/// A link that carries less than this per round trip delivers few segments anyway.
const MANY: Bytes = Bytes::new(16 * 1_448);
/// A trickle lasts until nothing has arrived for this many round trips.
const ROUNDS: u32 = 2;

/// Trickle state of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Trickle {
    until: Option<Instant>,
}

impl Trickle {
    /// Takes in the segments that arrived at once and the silence before them. `rtt` is the path's minimum
    /// round trip, and `best` the rate it has shown.
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

    pub(crate) fn continues(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const FAST: Bitrate = Bitrate::from_mbps(50);

    /// Samples a subflow every 10 ms with these segment counts. Returns the samples at which it trickles.
    fn trickles(best: Bitrate, rtt: Duration, segments: &[u64]) -> alloc::vec::Vec<usize> {
        let (mut trickle, mut last) = (Trickle::default(), Instant::ZERO);
        let mut at = alloc::vec::Vec::new();
        for (number, &segments) in segments.iter().enumerate() {
            let now = Instant::ZERO + 10 * MS * (number as u32 + 1);
            trickle.read(now, segments, now - last, rtt, best);
            if segments > 0 {
                last = now;
            }
            if trickle.continues(now) {
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
    fn a_slow_link_does_not_trickle() {
        assert_eq!(trickles(Bitrate::from_mbps(3), 30 * MS, &PROBE), []);
    }
}
