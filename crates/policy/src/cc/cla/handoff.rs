//! The complete hand-off stage, for a sender that controls its own estimates and loss detection: in user
//! space, or modelled.
//!
//! Such a sender does the following:
//!
//! 1. At a hand-off it calls [`begin`](HandOffStage::begin), which clears the estimates. It sets its window
//!    to the returned value, at once unless it is repairing a loss. A running timer continues.
//! 2. At each acknowledgement it calls [`measure`](HandOffStage::measure) instead of adding the sample to the
//!    estimates itself.
//! 3. While it [`ignores_duplicates`](HandOffStage::ignores_duplicates), it counts out-of-order arrivals as
//!    arrivals only: they mark no segment as lost. Time-outs work as usual.
//! 4. When that [ends](HandOffStage::heeds_again_at), it runs its loss detection again on what it knows.
//!
//! # Sources
//! - cla §IV-C, Algorithm 2: "reset RTT and RTO estimations", "temporarily disable dupacks", `cwnd = BDP_UB`.
//! - RFC 6298 §2.1 and §2.2: the time-out before the first measurement, and after it.
//!
//! # Where we differ, and why
//! 1. The paper does not say how long "temporarily" is. Here it is one retransmission time-out of the new
//!    path: RFC 6298's one second until a segment sent after the hand-off is measured, then the time-out from
//!    that sample alone. A segment still unacknowledged by then is lost, not late.
//! 2. The paper does not say whether segments sent before the hand-off may be measured, or what happens to a
//!    running timer. Here they may, and the timer continues. Otherwise, a sender whose segments were all lost
//!    would wait for RFC 6298's one second. The old path's estimates let it retry after a fifth of a second
//!    (`crates/sim/tests/cla_handoff.rs`, "strictly").
//!
//! # Checked by
//! `tests` below. `crates/sim/tests/cla_handoff.rs`: cost and benefit of each step for a sender that stays.

use super::bdp_upper_bound;
use crate::cc::RoundTrip;
use units::Instant;

/// Hand-off state of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandOffStage {
    /// Time of the last hand-off.
    began: Option<Instant>,
    /// Ignore duplicate acknowledgements until this time.
    heeds_at: Instant,
    /// Whether the new path has been measured.
    measured: bool,
}

impl HandOffStage {
    /// Starts a hand-off: clears the estimates and returns the window for the new path, in segments. `hops`
    /// is the hop count of the round trip, if known.
    pub fn begin(&mut self, now: Instant, round_trip: &mut RoundTrip, hops: Option<u32>) -> u32 {
        *round_trip = RoundTrip::default();
        self.began = Some(now);
        self.heeds_at = now + round_trip.timeout();
        self.measured = false;
        bdp_upper_bound(hops)
    }

    /// Takes the acknowledgement of a segment sent at `sent`.
    pub fn measure(&mut self, now: Instant, sent: Instant, round_trip: &mut RoundTrip) {
        let rtt = now - sent;
        round_trip.sample(rtt);
        let Some(began) = self.began else {
            return;
        };
        if self.measured || sent < began || !self.ignores_duplicates(now) {
            return;
        }
        // The path's own time-out: segments delayed by the hand-off have inflated the shared estimates.
        let mut path = RoundTrip::default();
        path.sample(rtt);
        self.heeds_at = began + path.timeout();
        self.measured = true;
    }

    /// Whether duplicate acknowledgements are to be ignored as a loss signal now.
    pub fn ignores_duplicates(&self, now: Instant) -> bool {
        now < self.heeds_at
    }

    /// When duplicate acknowledgements count again. `None` if they already do.
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

    /// A 20 ms path and a hand-off from it.
    fn handed_off() -> (HandOffStage, RoundTrip) {
        let (mut stage, mut round_trip) = (HandOffStage::default(), RoundTrip::default());
        stage.measure(AT, AT - 20 * MS, &mut round_trip);
        assert_eq!(round_trip.rto(), 220 * MS);
        assert_eq!(stage.begin(AT, &mut round_trip, Some(14)), 14);
        (stage, round_trip)
    }

    #[test]
    fn without_a_hand_off_duplicates_count() {
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
    fn the_first_round_trip_sets_the_time_out() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 100 * MS, AT, &mut round_trip);
        // 100 + 4·50 ms: the 20 ms sample of the old path has no influence.
        assert_eq!(round_trip.srtt(), Some(100 * MS));
        assert_eq!(stage.heeds_again_at(AT + 100 * MS), Some(AT + 300 * MS));
        stage.measure(AT + 250 * MS, AT + 50 * MS, &mut round_trip);
        assert_eq!(stage.heeds_again_at(AT + 250 * MS), Some(AT + 300 * MS));
    }

    #[test]
    fn segments_sent_before_are_measured_but_set_no_time_out() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 300 * MS, AT - MS, &mut round_trip);
        assert_eq!(round_trip.srtt(), Some(301 * MS));
        assert_eq!(stage.heeds_again_at(AT + 300 * MS), Some(AT + 1_000 * MS));
    }

    #[test]
    fn an_ended_stage_does_not_restart() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 1_200 * MS, AT, &mut round_trip);
        assert_eq!(round_trip.rto(), 3_600 * MS);
        assert!(!stage.ignores_duplicates(AT + 1_200 * MS));
    }

    #[test]
    fn each_hand_off_starts_its_own_time_out() {
        let (mut stage, mut round_trip) = handed_off();
        stage.measure(AT + 20 * MS, AT, &mut round_trip);
        assert_eq!(stage.begin(AT + 500 * MS, &mut round_trip, None), 10);
        assert_eq!(stage.heeds_again_at(AT + 500 * MS), Some(AT + 1_500 * MS));
        stage.measure(AT + 520 * MS, AT + 500 * MS, &mut round_trip);
        assert_eq!(stage.heeds_again_at(AT + 520 * MS), Some(AT + 720 * MS));
    }

    proptest! {
        #[test]
        fn the_stage_ends_once(samples in prop::collection::vec((0u64..3_000, 0u64..3_000), 0..30)) {
            let (mut stage, mut round_trip) = handed_off();
            let (mut now, mut ended) = (AT, false);
            for (later, rtt) in samples {
                now += Duration::from_millis(later);
                stage.measure(now, now - Duration::from_millis(rtt), &mut round_trip);
                prop_assert!(!(ended && stage.ignores_duplicates(now)));
                ended |= !stage.ignores_duplicates(now);
            }
            // The longest round trip that ends within the first second gives a time-out of three round trips.
            prop_assert!(!stage.ignores_duplicates(AT + Duration::from_secs(3)));
        }
    }
}
