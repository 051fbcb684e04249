//! Whether a subflow misses something again and again though no long queue stands: its path loses at random.
//!
//! # Sources
//! - Linux 6.18, `tcp_data_queue_ofo`: `tcpi_rcv_ooopack` counts segments that arrive while an earlier one is missing.
//!
//! # Where we differ, and why
//! What is lost at once counts once, and so does what is missed while that is sent again: a queue that overflows once in a while loses many
//! segments in a round trip, a path that loses one in a hundred loses one in each of many. Nor does a loss count while a long queue stands: then
//! less is to be under way, not more. Short queues of one product overflow under bbr all the time; with three products of window for
//! that the stall was 265 ms.
//!
//! # Checked by
//! `tests`; `window-lossy` in the benchmarks.

use units::{Duration, Instant};

/// So many losses within that time are no accident.
const MANY: usize = 4;
const SPAN: Duration = Duration::from_secs(3);
/// A path that loses at random does so for longer than chance leaves it alone.
const MEMORY: Duration = Duration::from_secs(10);
/// A round trip of so many percents of the least is a long queue's.
const QUEUED_PERCENT: u32 = 160;
/// What is lost is missed for so many round trips: one until it is sent again, and half of one on average before and after.
const REPAIR_ROUNDS: u32 = 2;
/// For so many quarters of one a repair lasts that is lost, too: a round trip and the quarter that RACK waits, twice, and the way.
const REPAIR_QUARTERS: u32 = 11;
/// One part in so many of the mean round trip is the last reading's.
const MEAN_OF: u32 = 64;

/// The losses of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    disordered: u64,
    /// When the last ones were seen, the latest first.
    seen: [Option<Instant>; MANY],
    /// When there were last many of them.
    many_at: Option<Instant>,
    /// The mean round trip.
    rtt: Duration,
}

impl Losses {
    /// Takes in the count of segments that arrived out of order, with the least round-trip time and that of the moment.
    pub(crate) fn read(&mut self, now: Instant, disordered: u64, least: Duration, rtt: Duration) {
        let queued = least > Duration::ZERO && rtt >= least * QUEUED_PERCENT / 100;
        let grown = disordered > self.disordered && !queued;
        self.disordered = disordered;
        self.rtt = if self.rtt == Duration::ZERO {
            rtt
        } else {
            self.rtt - self.rtt / MEAN_OF + rtt / MEAN_OF
        };
        if grown && self.seen[0].is_none_or(|last| now - last >= rtt * REPAIR_ROUNDS) {
            self.seen.rotate_right(1);
            self.seen[0] = Some(now);
        }
        if self.seen[MANY - 1].is_some_and(|first| now - first <= SPAN) {
            self.many_at = Some(now);
        }
    }

    /// Whether there have been many lately.
    pub(crate) fn go_on(&self, now: Instant) -> bool {
        self.many_at.is_some_and(|at| now - at <= MEMORY)
    }

    /// For how long what is lost is missed, while there are many losses.
    pub(crate) fn repair(&self, now: Instant) -> Option<Duration> {
        self.go_on(now).then(|| self.rtt * REPAIR_QUARTERS / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// So many losses, each so long after the one before, two segments out of order for each.
    fn after(count: u32, apart: Duration) -> (Losses, Instant) {
        let (mut losses, mut now) = (Losses::default(), Instant::ZERO);
        for number in 1..=count {
            now += apart;
            losses.read(now, 2 * u64::from(number), 30 * MS, 40 * MS);
        }
        (losses, now)
    }

    #[test]
    fn what_a_long_queue_loses_does_not_count() {
        let mut losses = Losses::default();
        for number in 1..=20 {
            losses.read(Instant::from_millis(200 * number), number, 30 * MS, 48 * MS);
        }
        assert!(!losses.go_on(Instant::from_secs(4)));
        for number in 21..=24 {
            losses.read(Instant::from_millis(200 * number), number, 30 * MS, 47 * MS);
        }
        assert!(
            losses.go_on(Instant::from_secs(5)),
            "nor hides what is lost without one"
        );
    }

    #[test]
    fn losses_that_come_again_and_again_are_no_accident() {
        let (losses, now) = after(4, 300 * MS);
        assert!(losses.go_on(now));
        assert_eq!(losses.repair(now), Some(110 * MS));
        assert!(losses.go_on(now + MEMORY - MS), "chance may leave it alone");
        assert!(!losses.go_on(now + MEMORY + MS), "but are forgotten");
    }

    #[test]
    fn few_and_rare_ones_are() {
        let (few, now) = after(3, 300 * MS);
        assert!(!few.go_on(now));
        let (rare, now) = after(20, 1_500 * MS);
        assert!(!rare.go_on(now));
    }

    #[test]
    fn what_a_queue_loses_at_once_counts_once() {
        let (losses, now) = after(15, 10 * MS);
        assert!(!losses.go_on(now), "two round trips and no more");
    }
}
