//! HyStart++: ends slow start when the round-trip time grows, before a queue overflows.
//!
//! # Sources
//! - RFC 9406 §4.2, §4.3, with its constants.
//!
//! # Where we differ, and why
//! 1. Counts segments, not bytes, and L is infinite: TCP limits the growth per acknowledgement, as in Reno's
//!    slow start.
//! 2. Ignores a sample of 0 µs.
//!
//! # Checked by
//! `hystart::tests`: `golden/hystart.csv`, invariants. `bpf/cc/hystart.h` gives the same answers in
//! `crates/linux/tests/cc/hystart.rs`.

/// `MIN_RTT_THRESH`, µs.
const LEAST_US: u32 = 4_000;
/// `MAX_RTT_THRESH`, µs.
const MOST_US: u32 = 16_000;
/// `MIN_RTT_DIVISOR`.
const PART: u32 = 8;
/// `N_RTT_SAMPLE`.
const SAMPLES: u8 = 8;
/// `CSS_GROWTH_DIVISOR`.
const SLOWER: u32 = 4;
/// `CSS_ROUNDS`.
const ROUNDS: u8 = 5;

/// Initial slow start of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HyStart {
    /// `lastRoundMinRTT`; 0 for none.
    last_us: u32,
    /// `currentRoundMinRTT`; 0 for none.
    shortest_us: u32,
    /// `cssBaselineMinRtt`; 0 outside conservative slow start.
    baseline_us: u32,
    samples: u8,
    /// Completed rounds of conservative slow start.
    rounds: u8,
    /// Conservative slow start: acknowledged segments that have not yet added up to one segment of growth.
    credit: u8,
}

impl HyStart {
    /// Starts a round: everything in flight at the start of the last one is acknowledged.
    pub const fn round(&mut self) {
        self.last_us = self.shortest_us;
        self.shortest_us = 0;
        self.samples = 0;
        if self.is_conservative() && self.rounds < ROUNDS {
            self.rounds += 1;
        }
    }

    /// Adds the round trip of one acknowledgement, in µs.
    pub fn sample(&mut self, rtt_us: u32) {
        if rtt_us == 0 {
            return;
        }
        self.shortest_us = match self.shortest_us {
            0 => rtt_us,
            before => before.min(rtt_us),
        };
        self.samples = SAMPLES.min(self.samples + 1);
        if self.samples < SAMPLES {
            return;
        }
        if self.is_conservative() {
            if self.shortest_us < self.baseline_us {
                self.conserve(0);
            }
        } else if self.last_us > 0 && u64::from(self.shortest_us) >= longer(self.last_us) {
            self.conserve(self.shortest_us);
        }
    }

    /// Window growth for `acked` segments, in segments.
    pub const fn growth(&mut self, acked: u32) -> u32 {
        if !self.is_conservative() {
            return acked;
        }
        let parts = self.credit as u32 + acked % SLOWER;
        self.credit = (parts % SLOWER) as u8;
        acked / SLOWER + parts / SLOWER
    }

    /// Whether slow start is over and congestion avoidance starts.
    pub const fn is_over(&self) -> bool {
        self.rounds >= ROUNDS
    }

    const fn is_conservative(&self) -> bool {
        self.baseline_us > 0
    }

    const fn conserve(&mut self, baseline_us: u32) {
        self.baseline_us = baseline_us;
        self.rounds = 0;
        self.credit = 0;
    }
}

/// The round-trip time plus `RttThresh`.
fn longer(rtt_us: u32) -> u64 {
    u64::from(rtt_us) + u64::from((rtt_us / PART).clamp(LEAST_US, MOST_US))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Plays a round of one-segment acknowledgements, given as `COUNTxMICROSECONDS`. Returns the growth of
    /// the window, and `!` if slow start is over.
    fn play(hystart: &mut HyStart, round: &str) -> String {
        hystart.round();
        let mut grown = 0;
        for acks in round.split_whitespace() {
            let (count, rtt_us) = acks.split_once('x').unwrap();
            for _ in 0..count.parse().unwrap() {
                hystart.sample(rtt_us.parse().unwrap());
                grown += hystart.growth(1);
            }
        }
        let over = if hystart.is_over() { "!" } else { "" };
        grown.to_string() + over
    }

    #[test]
    fn golden_vectors_hold() {
        let rows = include_str!("../../../../golden/hystart.csv").lines();
        let mut count = 0;
        for row in rows.filter(|line| !line.starts_with(['#', 'r'])) {
            let (rounds, expected) = row.split_once(';').unwrap();
            let mut hystart = HyStart::default();
            let got: Vec<String> = rounds.split('|').map(|round| play(&mut hystart, round)).collect();
            assert_eq!(got, expected.split_whitespace().collect::<Vec<_>>(), "{row}");
            count += 1;
        }
        assert!(count >= 8, "only {count} rows");
    }

    proptest! {
        #[test]
        fn a_steady_round_trip_never_ends_slow_start(rtt_us in 1u32.., rounds in prop::collection::vec(1u32..40, 1..40)) {
            let mut hystart = HyStart::default();
            for acks in rounds {
                hystart.round();
                for _ in 0..acks {
                    hystart.sample(rtt_us);
                    prop_assert_eq!(hystart.growth(1), 1);
                }
            }
            prop_assert!(!hystart.is_over());
        }

        #[test]
        fn conservative_growth_is_a_quarter(acked in prop::collection::vec(any::<u32>(), 1..50)) {
            let mut hystart = HyStart::default();
            hystart.conserve(1);
            let (sum, grown) = acked.iter().fold((0u64, 0u64), |(sum, grown), &acked| {
                (sum + u64::from(acked), grown + u64::from(hystart.growth(acked)))
            });
            prop_assert_eq!(grown, sum / 4);
        }
    }
}
