//! Whether a subflow misses something again and again though no long queue stands: its path loses at random.
//!
//! # Sources
//! - Linux 6.18, `tcp_data_queue_ofo`: `tcpi_rcv_ooopack` counts segments that arrive while an earlier one is missing.
//!
//! # Where we differ, and why
//! 1. What is lost at once counts once, and so does what is missed while that is sent again: a queue that overflows once in a while loses many
//!    segments in a round trip, a path that loses one in a hundred loses one in each of many. Nor does a loss count while a long queue stands: then
//!    less is to be under way, not more. Short queues of one product overflow under bbr all the time; with three products of window for
//!    that the stall was 265 ms.
//! 2. Such a queue is short for a moment, too, while what it has lost is still missed, above all in slow start. In one run of eight that was enough for
//!    ten seconds with 3 to 6 MB of window where 1.2 MB are the links', and a link that died meanwhile was missed for 150 to 250 ms. A path
//!    that loses at random does so as often without a queue as behind one: while something is missed three times as often with a queue, it is the queue
//!    that loses. Of links of one product under bbr nothing was missed in 98 of 100 looks without a queue, and in 60 to 80 with one; of a link that
//!    loses one segment in a hundred something was in 40 to 90 and in 85 to 95.
//!
//! # Checked by
//! `tests`; `window-lossy` and `window-bdp` in the benchmarks.

use units::{Duration, Instant};

/// So many losses within that time are no accident.
const MANY: usize = 4;
const SPAN: Duration = Duration::from_secs(3);
/// A path that loses at random does so for longer than chance leaves it alone: as long as it has done so, and this at most.
const MEMORY: Duration = Duration::from_secs(10);
/// A round trip of so many percents of the least is a long queue's.
const QUEUED_PERCENT: u32 = 160;
/// A queue loses where something is missed so many times as often while it stands.
const QUEUE_LOSES: u32 = 3;
/// Within so many round trips it is the same loss: one until it is sent again, half of one on average before and after.
const ONE_LOSS_ROUNDS: u32 = 2;
/// For so many quarters of one what was lost is missed: a round trip and the quarter that RACK waits (RFC 8985 §6.2).
const REPAIR_QUARTERS: u32 = 5;
/// What waits for it is known so much later: a busy connection's counters are read as often (more rarely only where many are).
const READ_EVERY: Duration = Duration::from_millis(10);
/// One part in so many of the mean round trip is the last reading's.
const MEAN_OF: u32 = 64;

/// The losses of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    disordered: u64,
    /// When the last ones were seen, the latest first.
    seen: [Option<Instant>; MANY],
    /// Since when there have been many, and when the last of them was.
    series: Option<(Instant, Instant)>,
    /// How often something is missed while no long queue stands, and while one does.
    without_queue: Share,
    with_queue: Share,
    /// When a long queue last stood.
    queued_at: Option<Instant>,
    /// The mean round trip.
    rtt: Duration,
}

/// In how many of the last readings something was missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Share(u32);

impl Share {
    /// All of them.
    const ALL: u32 = 1 << 16;
    /// One part in so many is the last reading's.
    const OF: u32 = 128;

    const fn note(&mut self, missing: bool) {
        self.0 -= self.0 / Self::OF;
        if missing {
            self.0 += Self::ALL / Self::OF;
        }
    }
}

impl Losses {
    /// Takes in the count of segments that arrived out of order, with the least round-trip time and that of the moment.
    pub(crate) fn read(&mut self, now: Instant, disordered: u64, least: Duration, rtt: Duration) {
        let queued = least > Duration::ZERO && rtt >= least * QUEUED_PERCENT / 100;
        let missing = disordered > self.disordered;
        self.disordered = disordered;
        self.rtt = if self.rtt == Duration::ZERO {
            rtt
        } else {
            self.rtt - self.rtt / MEAN_OF + rtt / MEAN_OF
        };
        self.note(now, queued, missing);
        let counts = missing && !queued;
        if counts && self.seen[0].is_none_or(|last| now - last >= rtt * ONE_LOSS_ROUNDS) {
            self.seen.rotate_right(1);
            self.seen[0] = Some(now);
        }
        self.follow(now, missing);
    }

    fn note(&mut self, now: Instant, queued: bool, missing: bool) {
        if queued {
            self.queued_at = Some(now);
            self.with_queue.note(missing);
        } else {
            self.without_queue.note(missing);
        }
    }

    /// A series begins with many losses without a queue, and then goes on with any.
    fn follow(&mut self, now: Instant, missing: bool) {
        let of_queue = self.is_of_queue(now);
        if of_queue || !self.is_remembered(now) {
            self.series = None;
        }
        if !of_queue && self.series.is_none() {
            self.series = self.many(now).map(|first| (first, now));
        }
        if let Some((_, last)) = self.series.as_mut().filter(|_| missing) {
            *last = now;
        }
    }

    /// Since when there have been many, if they are of the last seconds.
    fn many(&self, now: Instant) -> Option<Instant> {
        self.seen[MANY - 1].filter(|&first| now - first <= SPAN)
    }

    fn is_remembered(&self, now: Instant) -> bool {
        let lasts = |(first, last): (Instant, Instant)| (last - first).clamp(SPAN, MEMORY);
        self.series.is_some_and(|series| now - series.1 <= lasts(series))
    }

    /// Whether it is a queue that loses. One that has not stood for long says nothing of what is lost now.
    fn is_of_queue(&self, now: Instant) -> bool {
        let stood = self.queued_at.is_some_and(|at| now - at <= MEMORY);
        stood && self.with_queue.0 > self.without_queue.0 * QUEUE_LOSES
    }

    /// Whether there have been many lately.
    pub(crate) fn go_on(&self, now: Instant) -> bool {
        self.is_remembered(now)
    }

    /// For how long what is lost is missed, and that is not yet known, while there are many losses.
    pub(crate) fn repair(&self, now: Instant) -> Option<Duration> {
        self.go_on(now)
            .then(|| self.rtt * REPAIR_QUARTERS / 4 + READ_EVERY)
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
        for number in 21..=30 {
            losses.read(Instant::from_millis(200 * number), number, 30 * MS, 47 * MS);
        }
        assert!(
            losses.go_on(Instant::from_secs(6)),
            "nor hides what is lost as often without one"
        );
    }

    #[test]
    fn losses_that_come_again_and_again_are_no_accident() {
        let (losses, now) = after(4, 300 * MS);
        assert!(losses.go_on(now));
        assert_eq!(losses.repair(now), Some(60 * MS));
        assert!(losses.go_on(now + SPAN - MS), "chance may leave it alone");
        assert!(!losses.go_on(now + SPAN + MS), "but are forgotten");
    }

    #[test]
    fn the_longer_they_have_gone_on_the_longer_they_are_remembered() {
        let (losses, now) = after(20, 300 * MS);
        assert!(losses.go_on(now + 5_700 * MS));
        assert!(!losses.go_on(now + 5_701 * MS));
        let (losses, now) = after(200, 300 * MS);
        assert!(losses.go_on(now + MEMORY));
        assert!(!losses.go_on(now + MEMORY + MS));
    }

    /// A path that is looked at every 10 ms for so long, with a queue in one look of two; in so many looks of a hundred something is missing,
    /// without a queue and with one.
    fn looked_at(from: Losses, begins: Instant, seconds: u64, without: u64, with: u64) -> (Losses, Instant) {
        let (mut losses, mut now) = (from, begins);
        for look in 0..seconds * 100 {
            now += 10 * MS;
            let queued = look % 2 == 1;
            let often = if queued { with } else { without };
            // Spread evenly, with 37 as a step that meets every remainder.
            let missing = look / 2 * 37 % 100 < often;
            let rtt = if queued { 60 * MS } else { 40 * MS };
            losses.read(now, losses.disordered + u64::from(missing), 30 * MS, rtt);
        }
        (losses, now)
    }

    #[test]
    fn what_is_missed_for_a_moment_after_a_queue_has_lost_it_is_the_queues() {
        let (losses, now) = looked_at(Losses::default(), Instant::ZERO, 10, 5, 40);
        assert!(!losses.go_on(now));
        let (losses, now) = looked_at(Losses::default(), Instant::ZERO, 10, 40, 90);
        assert!(
            losses.go_on(now),
            "a path that loses at random loses behind a queue, too"
        );
    }

    #[test]
    fn what_slow_start_has_lost_is_forgotten_as_soon_as_it_is_the_queue_that_loses() {
        let (losses, now) = looked_at(Losses::default(), Instant::ZERO, 2, 30, 40);
        assert!(losses.go_on(now));
        let (losses, now) = looked_at(losses, now, 2, 0, 40);
        assert!(!losses.go_on(now));
    }

    #[test]
    fn a_queue_of_long_ago_hides_nothing() {
        let (losses, now) = looked_at(Losses::default(), Instant::ZERO, 10, 1, 90);
        assert!(!losses.go_on(now));
        let (mut losses, mut later) = (losses, now + MEMORY);
        for _ in 0..4 {
            later += 300 * MS;
            losses.read(later, losses.disordered + 1, 30 * MS, 40 * MS);
        }
        assert!(losses.go_on(later));
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
