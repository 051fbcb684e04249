//! The hand-off stage as a whole, for a sender that reaches its own estimates and its own loss detection: in user space, or modelled.
//!
//! What such a sender does:
//!
//! 1. when it learns of a hand-off, [`begin`](HandOffStage::begin): the estimates are none, the window becomes what that returns, at once
//!    unless a loss is being repaired, and a timer that runs goes on;
//! 2. at each acknowledgement, [`measure`](HandOffStage::measure), instead of giving the sample to the estimates itself;
//! 3. while it [`ignores_duplicates`](HandOffStage::ignores_duplicates), what arrives out of order counts as arrived, and as nothing else: no
//!    segment is lost by it. Time-outs are as ever;
//! 4. when that is [over](HandOffStage::heeds_again_at), it looks again at what it knows.
//!
//! # Sources
//! - cla §IV-C, Algorithm 2: "reset RTT and RTO estimations", "temporarily disable dupacks", `cwnd = BDP_UB`.
//! - RFC 6298 §2.1 and §2.2: the time-out before anything was measured, and after the first measurement.
//!
//! # Where we differ, and why
//! 1. The paper does not say how long "temporarily" is. Here it is one retransmission time-out of the new path: the second of RFC 6298 until a
//!    segment that was sent since was measured, then what that alone says. What has not been acknowledged by then is not late but lost.
//! 2. Nor does it say whether segments that were sent before the hand-off may be measured, and what becomes of a timer that runs. Here they may,
//!    and it goes on. If they may not, and it is set anew, a sender whose segments were all lost waits for the RFC's second, where the estimates of
//!    the path before would have had it try after a fifth of one (`crates/sim/tests/cla_handoff.rs`, "strictly").
//!
//! # Checked by
//! `tests` below; `crates/sim/tests/cla_handoff.rs`: what each step costs and brings a sender that stays.

use super::bdp_upper_bound;
use crate::cc::RoundTrip;
use units::Instant;

/// One subflow's hand-offs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandOffStage {
    /// When the last hand-off was.
    began: Option<Instant>,
    /// Duplicates say nothing until then.
    heeds_at: Instant,
    /// The new path was measured.
    measured: bool,
}

impl HandOffStage {
    /// There is a new path under the subflow: its estimates begin anew. The window for it, in segments: what such a path can hold (`hops`: there
    /// and back, if they are known).
    pub fn begin(&mut self, now: Instant, round_trip: &mut RoundTrip, hops: Option<u32>) -> u32 {
        *round_trip = RoundTrip::default();
        self.began = Some(now);
        self.heeds_at = now + round_trip.timeout();
        self.measured = false;
        bdp_upper_bound(hops)
    }

    /// The acknowledgement of a segment sent at `sent` is here.
    pub fn measure(&mut self, now: Instant, sent: Instant, round_trip: &mut RoundTrip) {
        let rtt = now - sent;
        round_trip.sample(rtt);
        let Some(began) = self.began else {
            return;
        };
        if self.measured || sent < began || !self.ignores_duplicates(now) {
            return;
        }
        // What waited for the hand-off took longer than the path does.
        let mut path = RoundTrip::default();
        path.sample(rtt);
        self.heeds_at = began + path.timeout();
        self.measured = true;
    }

    /// Whether duplicate acknowledgements are no sign of loss now.
    pub fn ignores_duplicates(&self, now: Instant) -> bool {
        now < self.heeds_at
    }

    /// When they are again; `None` if they are already.
    pub fn heeds_again_at(&self, now: Instant) -> Option<Instant> {
        self.ignores_duplicates(now).then_some(self.heeds_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Duration;

    const MS: Duration = Duration::from_millis(1);
    const AT: Instant = Instant::from_secs(10);

    /// A path of 20 ms, and a hand-off from it.
    fn handed_off() -> (HandOffStage, RoundTrip) {
        let (mut stage, mut round_trip) = (HandOffStage::default(), RoundTrip::default());
        stage.measure(AT, AT - 20 * MS, &mut round_trip);
        assert_eq!(round_trip.rto(), 220 * MS);
        assert_eq!(stage.begin(AT, &mut round_trip, Some(14)), 14);
        (stage, round_trip)
    }

    #[test]
    fn without_a_hand_off_it_is_not_there() {
        let stage = HandOffStage::default();
        assert!(!stage.ignores_duplicates(Instant::ZERO));
        assert_eq!(stage.heeds_again_at(Instant::ZERO), None);
    }

    #[test]
    fn estimates_begin_anew_and_duplicates_are_ignored_for_the_first_time_out() {
        let (stage, round_trip) = handed_off();
        assert_eq!(round_trip, RoundTrip::default());
        let over = AT + round_trip.rto();
        assert_eq!(stage.heeds_again_at(AT), Some(over));
        assert!(stage.ignores_duplicates(over - Duration::from_nanos(1)));
        assert!(!stage.ignores_duplicates(over));
        assert_eq!(stage.heeds_again_at(over), None);
    }

    #[test]
    fn the_first_round_trip_says_how_long_a_time_out_is() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 100 * MS, AT, &mut round_trip);
        // 100 + 4·50 ms, and nothing is left of the 20 ms before.
        assert_eq!(round_trip.srtt(), Some(100 * MS));
        assert_eq!(stage.heeds_again_at(AT + 100 * MS), Some(AT + 300 * MS));
        stage.measure(AT + 250 * MS, AT + 50 * MS, &mut round_trip);
        assert_eq!(stage.heeds_again_at(AT + 250 * MS), Some(AT + 300 * MS));
    }

    #[test]
    fn what_was_sent_before_is_measured_but_says_no_time_out() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 300 * MS, AT - MS, &mut round_trip);
        assert_eq!(round_trip.srtt(), Some(301 * MS));
        assert_eq!(stage.heeds_again_at(AT + 300 * MS), Some(AT + 1_000 * MS));
    }

    #[test]
    fn what_is_over_does_not_begin_again() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 1_200 * MS, AT, &mut round_trip);
        assert_eq!(round_trip.rto(), 3_600 * MS);
        assert!(!stage.ignores_duplicates(AT + 1_200 * MS));
    }

    #[test]
    fn the_next_hand_off_counts_from_itself() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 20 * MS, AT, &mut round_trip);
        assert_eq!(stage.begin(AT + 500 * MS, &mut round_trip, None), 10);
        assert_eq!(stage.heeds_again_at(AT + 500 * MS), Some(AT + 1_500 * MS));
        stage.measure(AT + 520 * MS, AT + 500 * MS, &mut round_trip);
        assert_eq!(stage.heeds_again_at(AT + 520 * MS), Some(AT + 720 * MS));
    }

    proptest! {
        #[test]
        fn it_ends_once(samples in prop::collection::vec((0u64..3_000, 0u64..3_000), 0..30)) {
            let (mut stage, mut round_trip) = handed_off();
            let (mut now, mut ended) = (AT, false);
            for (later, rtt) in samples {
                now += Duration::from_millis(later);
                stage.measure(now, now - Duration::from_millis(rtt), &mut round_trip);
                prop_assert!(!(ended && stage.ignores_duplicates(now)));
                ended |= !stage.ignores_duplicates(now);
            }
            // Three round trips of the longest that ends within the first second.
            prop_assert!(!stage.ignores_duplicates(AT + Duration::from_secs(3)));
        }
    }
}
