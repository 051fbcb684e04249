//! Arrivals on a subflow: when something last arrived, how much arrived recently, and the best recent rate.
//!
//! # Sources
//! - Linux `tcp_info`: `tcpi_segs_in` counts every segment that arrives, in order or not.
//!   `tcpi_bytes_received` counts in-order bytes only, so every loss recovery would look like silence.
//!
//! # Checked by
//! `tests` below. The silence rule's own tests in `detect`.

use super::tuning::{BIN, BINS, MEMORY, PAUSE_MEMORY, READING, SEGMENT};
use units::{Bitrate, Bytes, Duration, Instant};

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    segments: u64,
    bytes: u64,
}

/// Arrivals in 10 ms bins over the last 320 ms, the highest 300 ms mean of the last 10 s, and the longest
/// pause of the last second.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    bins: [Bin; BINS],
    /// Number of the current bin.
    head: u64,
    /// Whether counters have been sampled. `started` is the time of the first sample, and until then the time
    /// at which the subflow was reported.
    begun: bool,
    started: Instant,
    last: Option<Instant>,
    /// The last sample since then that found nothing new.
    empty: Option<Instant>,
    segments: u64,
    bytes: u64,
    best: Highest<Bitrate>,
    pauses: Highest<Duration>,
}

impl Arrivals {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            bins: [Bin::default(); BINS],
            head: number(now),
            begun: false,
            started: now,
            last: None,
            empty: None,
            segments: 0,
            bytes: 0,
            best: Highest::default(),
            pauses: Highest::default(),
        }
    }

    /// Begins again, from the counters of the last sample: the link goes over another access point.
    pub(crate) fn restart(&mut self, now: Instant) {
        let (begun, segments, bytes) = (self.begun, self.segments, self.bytes);
        *self = Self {
            begun,
            segments,
            bytes,
            ..Self::new(now)
        };
    }

    /// Takes in the counters at `now`. Returns whether anything arrived since the last sample.
    ///
    /// The first sample shows that something arrived, but not since when. Subflows are reported late, and a
    /// burst would look like speed.
    pub(crate) fn read(&mut self, now: Instant, segments: u64, bytes: Bytes) -> bool {
        if !self.begun {
            return self.begin(now, segments, bytes);
        }
        let since = self.head;
        self.advance(now);
        let new_segments = segments.saturating_sub(self.segments).min(READING);
        let new_bytes = bytes.get().saturating_sub(self.bytes).min(READING);
        self.spread(since, new_segments, new_bytes);
        (self.segments, self.bytes) = (segments, bytes.get());
        if new_segments == 0 {
            self.empty = Some(now);
            return false;
        }
        if let (Some(last), Some(empty)) = (self.last, self.empty.take()) {
            self.pauses.offer(now, PAUSE_MEMORY, empty - last);
        }
        self.last = Some(now);
        self.best.offer(now, MEMORY, self.rate(now));
        true
    }

    fn begin(&mut self, now: Instant, segments: u64, bytes: Bytes) -> bool {
        (self.segments, self.bytes) = (segments, bytes.get());
        (self.begun, self.started, self.head) = (true, now, number(now));
        self.last = Some(now).filter(|_| segments > 0);
        self.last.is_some()
    }

    /// Spreads an increase evenly over the time since the last sample: a late sample must not turn a backlog
    /// into speed.
    fn spread(&mut self, since: u64, segments: u64, bytes: u64) {
        let bins = (self.head - since).clamp(1, BINS as u64);
        // Drop the part that is older than all bins.
        let kept = |sum: u64| (sum * bins).div_ceil((self.head - since).max(1));
        let (segments, bytes) = (kept(segments), kept(bytes));
        for step in 0..bins {
            let share = |sum: u64| sum * (step + 1) / bins - sum * step / bins;
            let bin = &mut self.bins[((self.head - step) % BINS as u64) as usize];
            bin.segments = (bin.segments + share(segments)).min(READING);
            bin.bytes = (bin.bytes + share(bytes)).min(READING);
        }
    }

    fn advance(&mut self, now: Instant) {
        let target = number(now);
        let steps = target.saturating_sub(self.head).min(BINS as u64);
        for step in 1..=steps {
            self.bins[((target - steps + step) % BINS as u64) as usize] = Bin::default();
        }
        self.head = self.head.max(target);
    }

    /// How long nothing has arrived, or since the start if nothing ever has.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        now - self.last.unwrap_or(self.started)
    }

    /// When something last arrived.
    pub(crate) const fn last(&self) -> Option<Instant> {
        self.last
    }

    /// Segments that arrived in the last 300 ms.
    pub(crate) fn recent_segments(&self, now: Instant) -> u64 {
        self.recent(now).map(|bin| bin.segments).sum()
    }

    /// Mean payload rate over the last 300 ms, or since the start if that is shorter.
    ///
    /// In-order bytes jump when a loss is repaired, so the number of segments limits the bytes that count.
    pub(crate) fn rate(&self, now: Instant) -> Bitrate {
        let (segments, bytes) = self
            .recent(now)
            .fold((0, 0), |sum, bin| (sum.0 + bin.segments, sum.1 + bin.bytes));
        let bytes = bytes.min(segments * SEGMENT);
        let span = (now - self.started).min(Duration::from_millis(300)).max(BIN);
        Bytes::new(bytes).per(span)
    }

    /// Segments per second and payload rate over the last `span` (20 to 310 ms), without the incomplete
    /// current bin.
    pub(crate) fn lately(&self, now: Instant, span: Duration) -> (u64, Bitrate) {
        let bins = (span.as_nanos() / BIN.as_nanos()).clamp(2, BINS as u128 - 1) as u64;
        let (end, span) = (number(now), BIN * bins as u32);
        let (segments, bytes) = (end.saturating_sub(bins)..end)
            .filter(|&n| n <= self.head && n + BINS as u64 > self.head)
            .map(|n| &self.bins[(n % BINS as u64) as usize])
            .fold((0, 0), |sum: (u64, u64), bin| {
                (sum.0 + bin.segments, sum.1 + bin.bytes)
            });
        let per_second = segments.saturating_mul(1_000) / span.as_millis() as u64;
        (per_second, Bytes::new(bytes.min(segments * SEGMENT)).per(span))
    }

    /// Highest 300 ms mean of the last 10 s.
    pub(crate) fn best_rate(&self, now: Instant) -> Bitrate {
        self.best.get(now, MEMORY)
    }

    /// The longest pause of the last second that has ended: the time from an arrival to the last sample that
    /// found nothing new. Zero if samples found something new every time.
    pub(crate) fn longest_pause(&self, now: Instant) -> Duration {
        self.pauses.get(now, PAUSE_MEMORY)
    }

    fn recent(&self, now: Instant) -> impl Iterator<Item = &Bin> {
        let oldest = number(now).saturating_sub(29);
        (oldest..=self.head).map(|n| &self.bins[(n % BINS as u64) as usize])
    }
}

fn number(now: Instant) -> u64 {
    now.as_nanos() / BIN.as_nanos() as u64
}

/// Maximum over a sliding window, kept in two halves: exact to half the window.
#[derive(Debug, Clone, Default)]
struct Highest<T> {
    since: Instant,
    older: T,
    newer: T,
}

impl<T: Copy + Default + Ord> Highest<T> {
    fn offer(&mut self, now: Instant, memory: Duration, value: T) {
        let age = now - self.since;
        if age > memory / 2 {
            let older = if age > memory { T::default() } else { self.newer };
            (self.older, self.newer, self.since) = (older, T::default(), now);
        }
        self.newer = self.newer.max(value);
    }

    fn get(&self, now: Instant, memory: Duration) -> T {
        match now - self.since {
            age if age > memory => T::default(),
            _ => self.older.max(self.newer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_counter_makes_a_rate_out_of_bounds(
            begins_ms in 0_u64..10_000, readings in proptest::collection::vec((0_u64..2_000, any::<u64>(), any::<u64>()), 0..60),
        ) {
            let (mut now, mut most) = (ms(begins_ms), Bitrate::ZERO);
            let mut arrivals = Arrivals::new(now);
            for (later_ms, segments, bytes) in readings {
                now += Duration::from_millis(later_ms);
                arrivals.read(now, segments, Bytes::new(bytes));
                let (rate, recent) = (arrivals.rate(now), arrivals.recent_segments(now));
                most = most.max(rate);
                prop_assert!(rate <= Bytes::new(recent.saturating_mul(SEGMENT)).per(BIN), "{rate} of {recent} segments");
                prop_assert!(arrivals.best_rate(now) <= most);
                prop_assert!(arrivals.silence(now) <= now - ms(begins_ms));
            }
        }

        #[test]
        fn twice_as_much_is_twice_the_rate(step_ms in 1_u64..50, segments in 1_u64..1_000) {
            let rate = |factor: u64| {
                let mut arrivals = Arrivals::new(ms(0));
                for n in 1..100 {
                    arrivals.read(ms(n * step_ms), n * segments * factor, Bytes::new(n * segments * factor * 1_000));
                }
                arrivals.rate(ms(99 * step_ms)).as_bps()
            };
            prop_assert!((rate(1) * 2).abs_diff(rate(2)) <= rate(2) / 1_000 + 1_000, "{} {}", rate(1), rate(2));
        }
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn steady(until_ms: u64) -> Arrivals {
        let mut arrivals = Arrivals::new(ms(0));
        for t in (0..=until_ms).step_by(5) {
            arrivals.read(ms(t), t, Bytes::new(t * 1_000));
        }
        arrivals
    }

    #[test]
    fn measures_a_steady_rate() {
        let rate = steady(1_000).rate(ms(1_000));
        assert!(
            rate >= Bitrate::from_kbps(7_700) && rate <= Bitrate::from_kbps(8_300),
            "{rate}"
        );
    }

    #[test]
    fn the_recent_rate_shows_a_slow_start_before_the_mean() {
        let (mut arrivals, span) = (steady(1_000), Duration::from_millis(50));
        for t in (1_005..=1_060).step_by(5) {
            let segments = 1_000 + (t - 1_000) * 4;
            arrivals.read(ms(t), segments, Bytes::new(segments * 1_000));
        }
        let (segments, rate) = arrivals.lately(ms(1_060), span);
        assert!((3_600..=4_400).contains(&segments), "{segments}");
        assert!(
            rate >= Bitrate::from_mbps(29) && rate <= Bitrate::from_mbps(35),
            "{rate}"
        );
        assert!(arrivals.rate(ms(1_060)) < Bitrate::from_mbps(16), "the mean lags");
        assert_eq!(arrivals.lately(ms(3_000), span), (0, Bitrate::ZERO));
    }

    #[test]
    fn a_late_sample_does_not_turn_a_backlog_into_speed() {
        let mut arrivals = steady(1_000);
        let before = arrivals.best_rate(ms(1_000));
        arrivals.read(ms(2_000), 2_000, Bytes::new(2_000_000));
        assert!(
            arrivals.best_rate(ms(2_000)) <= before.percent(105),
            "{}",
            arrivals.best_rate(ms(2_000))
        );
    }

    #[test]
    fn a_subflow_reported_late_starts_without_a_burst() {
        let mut arrivals = Arrivals::new(ms(100));
        assert!(
            arrivals.read(ms(105), 200, Bytes::new(200_000)),
            "the subflow is alive"
        );
        assert_eq!(arrivals.best_rate(ms(105)), Bitrate::ZERO);
        for t in (110..=400).step_by(5) {
            arrivals.read(ms(t), 200 + (t - 105), Bytes::new(200_000 + (t - 105) * 1_000));
        }
        let best = arrivals.best_rate(ms(400));
        assert!(
            best <= Bitrate::from_mbps(9) && best >= Bitrate::from_mbps(7),
            "{best}"
        );
    }

    #[test]
    fn a_repaired_loss_is_no_burst_of_speed() {
        let mut arrivals = steady(1_000);
        let before = arrivals.best_rate(ms(1_000));
        // Segments arrive as before, but a hole of half a second holds back the in-order bytes. Then it is
        // filled at once.
        for t in (1_005..1_500).step_by(5) {
            arrivals.read(ms(t), t, Bytes::new(1_000_000));
        }
        arrivals.read(ms(1_500), 1_500, Bytes::new(1_500_000));
        assert!(
            arrivals.best_rate(ms(1_500)) <= before.percent(150),
            "{}",
            arrivals.best_rate(ms(1_500))
        );
    }

    #[test]
    fn measures_the_length_of_a_silence() {
        let mut arrivals = steady(1_000);
        assert!(!arrivals.read(ms(1_050), 1_000, Bytes::new(1_000_000)));
        assert_eq!(arrivals.silence(ms(1_050)), Duration::from_millis(50));
        assert!(arrivals.recent_segments(ms(1_050)) >= 240);
        assert_eq!(arrivals.recent_segments(ms(1_500)), 0);
    }

    #[test]
    fn a_pause_counts_once_it_has_ended_and_for_a_second() {
        let mut arrivals = steady(1_000);
        assert_eq!(arrivals.longest_pause(ms(1_000)), Duration::ZERO);
        for t in (1_005..=1_060).step_by(5) {
            assert!(!arrivals.read(ms(t), 1_000, Bytes::new(1_000_000)));
        }
        assert_eq!(
            arrivals.longest_pause(ms(1_060)),
            Duration::ZERO,
            "it may never end"
        );
        assert!(arrivals.read(ms(1_065), 1_001, Bytes::new(1_001_000)));
        assert_eq!(arrivals.longest_pause(ms(1_065)), Duration::from_millis(60));
        assert_eq!(arrivals.longest_pause(ms(2_500)), Duration::ZERO);
    }

    #[test]
    fn an_old_pause_does_not_return_with_a_new_one() {
        let mut arrivals = steady(1_000);
        assert!(!arrivals.read(ms(1_060), 1_000, Bytes::new(1_000_000)));
        for t in (1_065..=30_000).step_by(5) {
            assert!(arrivals.read(ms(t), t, Bytes::new(t * 1_000)));
        }
        assert!(!arrivals.read(ms(30_005), 30_000, Bytes::new(30_000_000)));
        assert!(arrivals.read(ms(30_010), 30_010, Bytes::new(30_010_000)));
        assert_eq!(arrivals.longest_pause(ms(30_010)), Duration::from_millis(5));
    }

    #[test]
    fn rare_samples_are_no_pauses() {
        let mut arrivals = steady(1_000);
        for t in (1_100..=3_000).step_by(100) {
            arrivals.read(ms(t), t, Bytes::new(t * 1_000));
        }
        assert_eq!(arrivals.longest_pause(ms(3_000)), Duration::ZERO);
    }

    #[test]
    fn forgets_a_rate_after_ten_seconds() {
        let arrivals = steady(1_000);
        assert!(arrivals.best_rate(ms(5_000)) > Bitrate::from_mbps(7));
        assert_eq!(arrivals.best_rate(ms(20_000)), Bitrate::ZERO);
    }

    #[test]
    fn a_long_pause_clears_every_bin() {
        let mut arrivals = steady(1_000);
        arrivals.read(ms(60_000), 1_001, Bytes::new(1_001_000));
        assert!(arrivals.recent_segments(ms(60_000)) <= 1);
    }
}
