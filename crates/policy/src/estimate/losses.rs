//! Whether a subflow loses segments repeatedly without a long queue: its path loses at random.
//!
//! # Sources
//! - Linux 6.18, `tcp_data_queue_ofo`: `tcpi_rcv_ooopack` counts segments that arrive while an earlier one is
//!   missing.
//!
//! # Where we differ, and why
//! 1. Segments lost at once count as one loss, and so do those that go missing during their retransmission. A
//!    queue that overflows now and then loses many segments in a round trip. A path that loses one in a
//!    hundred loses one in each of many. A loss does not count during a long queue either: then less should
//!    be in flight, not more. Short queues of one bandwidth-delay product overflow under bbr all the time.
//!    With a window of three products for those, the stall was 265 ms.
//! 2. Such a queue, too, is short for a moment while its losses are still missing, above all in slow start.
//!    In one run of eight, that caused ten seconds with a window of 3 to 6 MB on links that need 1.2 MB. A
//!    link that died in that time cost 150 to 250 ms. A path that loses at random does so as often without a
//!    queue as with one. If segments are missing three times as often with a queue, the queue causes the
//!    losses. Measured on links with one product under bbr: no segment was missing in 98 of 100 samples
//!    without a queue, and in 60 to 80 with one. Measured on a link that loses one segment in a hundred: a
//!    segment was missing in 40 to 90 of 100 samples without a queue, and in 85 to 95 with one.
//!
//! # Checked by
//! `tests`. `window-lossy` and `window-bdp` in the benchmarks.

use super::tuning::{
    LOSSES_WITHIN, MANY_LOSSES, MEAN_OF, MEMORY, ONE_LOSS_ROUNDS, QUEUE_LOSES, QUEUED_PERCENT, READ_EVERY,
    REPAIR_QUARTERS,
};
use units::{Duration, Instant};

/// Losses of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    disordered: u64,
    /// Times of the last losses, latest first.
    seen: [Option<Instant>; MANY_LOSSES],
    /// Series of many losses: its start, and its last loss.
    series: Option<(Instant, Instant)>,
    /// How often a segment is missing without a long queue, and with one.
    without_queue: Share,
    with_queue: Share,
    /// Last time with a long queue.
    queued_at: Option<Instant>,
    /// Mean round trip.
    rtt: Duration,
}

/// Share of the recent samples in which a segment was missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Share(u32);

impl Share {
    /// Value for all samples.
    const ALL: u32 = 1 << 16;
    /// Weight of a new sample: one part in this many.
    const OF: u32 = 128;

    const fn note(&mut self, missing: bool) {
        self.0 -= self.0 / Self::OF;
        if missing {
            self.0 += Self::ALL / Self::OF;
        }
    }
}

impl Losses {
    /// Takes in the count of out-of-order segments, with the minimum round-trip time and the current one.
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

    /// A series starts with many losses without a queue, and then continues with any loss.
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

    /// First of the last `MANY_LOSSES` losses, if all of them are within `LOSSES_WITHIN`.
    fn many(&self, now: Instant) -> Option<Instant> {
        self.seen[MANY_LOSSES - 1].filter(|&first| now - first <= LOSSES_WITHIN)
    }

    fn is_remembered(&self, now: Instant) -> bool {
        let lasts = |(first, last): (Instant, Instant)| (last - first).clamp(LOSSES_WITHIN, MEMORY);
        self.series.is_some_and(|series| now - series.1 <= lasts(series))
    }

    /// Whether the queue causes the losses. A queue of long ago tells nothing about losses now.
    fn is_of_queue(&self, now: Instant) -> bool {
        let stood = self.queued_at.is_some_and(|at| now - at <= MEMORY);
        stood && self.with_queue.0 > self.without_queue.0 * QUEUE_LOSES
    }

    /// Whether there have been many losses recently.
    pub(crate) fn are_frequent(&self, now: Instant) -> bool {
        self.is_remembered(now)
    }

    /// How long a lost segment is missing, plus the delay until that is known. `None` without many losses.
    pub(crate) fn repair(&self, now: Instant) -> Option<Duration> {
        self.are_frequent(now)
            .then(|| self.rtt * REPAIR_QUARTERS / 4 + READ_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// `count` losses, `apart` from each other, each with two segments out of order.
    fn after(count: u32, apart: Duration) -> (Losses, Instant) {
        let (mut losses, mut now) = (Losses::default(), Instant::ZERO);
        for number in 1..=count {
            now += apart;
            losses.read(now, 2 * u64::from(number), 30 * MS, 40 * MS);
        }
        (losses, now)
    }

    #[test]
    fn losses_during_a_long_queue_do_not_count() {
        let mut losses = Losses::default();
        for number in 1..=20 {
            losses.read(Instant::from_millis(200 * number), number, 30 * MS, 48 * MS);
        }
        assert!(!losses.are_frequent(Instant::from_secs(4)));
        for number in 21..=30 {
            losses.read(Instant::from_millis(200 * number), number, 30 * MS, 47 * MS);
        }
        assert!(
            losses.are_frequent(Instant::from_secs(6)),
            "losses as frequent without a queue count"
        );
    }

    #[test]
    fn repeated_losses_make_a_series() {
        let (losses, now) = after(4, 300 * MS);
        assert!(losses.are_frequent(now));
        assert_eq!(losses.repair(now), Some(60 * MS));
        assert!(
            losses.are_frequent(now + LOSSES_WITHIN - MS),
            "a pause may be chance"
        );
        assert!(
            !losses.are_frequent(now + LOSSES_WITHIN + MS),
            "a series is forgotten"
        );
    }

    #[test]
    fn a_longer_series_is_remembered_for_longer() {
        let (losses, now) = after(20, 300 * MS);
        assert!(losses.are_frequent(now + 5_700 * MS));
        assert!(!losses.are_frequent(now + 5_701 * MS));
        let (losses, now) = after(200, 300 * MS);
        assert!(losses.are_frequent(now + MEMORY));
        assert!(!losses.are_frequent(now + MEMORY + MS));
    }

    /// Samples a path every 10 ms for `seconds`, with a queue in every second sample. A segment is missing in
    /// `without` of 100 samples without a queue, and in `with` of 100 with one.
    fn sampled(from: Losses, begins: Instant, seconds: u64, without: u64, with: u64) -> (Losses, Instant) {
        let (mut losses, mut now) = (from, begins);
        for look in 0..seconds * 100 {
            now += 10 * MS;
            let queued = look % 2 == 1;
            let often = if queued { with } else { without };
            // Spread evenly: steps of 37 reach every remainder.
            let missing = look / 2 * 37 % 100 < often;
            let rtt = if queued { 60 * MS } else { 40 * MS };
            losses.read(now, losses.disordered + u64::from(missing), 30 * MS, rtt);
        }
        (losses, now)
    }

    #[test]
    fn segments_still_missing_after_a_queue_count_for_the_queue() {
        let (losses, now) = sampled(Losses::default(), Instant::ZERO, 10, 5, 40);
        assert!(!losses.are_frequent(now));
        let (losses, now) = sampled(Losses::default(), Instant::ZERO, 10, 40, 90);
        assert!(
            losses.are_frequent(now),
            "a path with random loss also loses with a queue"
        );
    }

    #[test]
    fn losses_of_slow_start_are_forgotten_once_the_queue_causes_losses() {
        let (losses, now) = sampled(Losses::default(), Instant::ZERO, 2, 30, 40);
        assert!(losses.are_frequent(now));
        let (losses, now) = sampled(losses, now, 2, 0, 40);
        assert!(!losses.are_frequent(now));
    }

    #[test]
    fn a_queue_of_long_ago_hides_no_losses() {
        let (losses, now) = sampled(Losses::default(), Instant::ZERO, 10, 1, 90);
        assert!(!losses.are_frequent(now));
        let (mut losses, mut later) = (losses, now + MEMORY);
        for _ in 0..4 {
            later += 300 * MS;
            losses.read(later, losses.disordered + 1, 30 * MS, 40 * MS);
        }
        assert!(losses.are_frequent(later));
    }

    #[test]
    fn few_or_rare_losses_make_no_series() {
        let (few, now) = after(3, 300 * MS);
        assert!(!few.are_frequent(now));
        let (rare, now) = after(20, 1_500 * MS);
        assert!(!rare.are_frequent(now));
    }

    #[test]
    fn losses_at_once_count_once() {
        let (losses, now) = after(15, 10 * MS);
        assert!(!losses.are_frequent(now), "two round trips and no more");
    }
}
