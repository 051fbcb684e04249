//! Whether full segments come over a subflow: only of those does the kernel take round trips.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_rcv_rtt_measure_ts` reads time stamps of segments that are as large as those that usually come
//!   (`rcv_mss`), or 536 B (`TCP_MSS_DEFAULT`, `tcp_initialize_rcv_mss`). Where there are none, `tcpi_rcv_rtt` is what `tcp_rcv_rtt_measure` takes: the
//!   time in which a whole receive window comes.
//!
//! # Where we differ, and why
//! Of a program that writes 125 B a hundred times a second, 64 KiB come in five seconds. Taken for a round trip, that was a queue of five
//! seconds before a link with none: it was marked, and the connection went over another link, and another, five times a second
//! (`window-false` at 0.1 Mb/s: 3,308 changes of role in ten minutes).
//!
//! # Checked by
//! `tests`; `tests::queues`; `window-false` in the benchmarks.

use units::{Bytes, Duration, Instant};

/// What the kernel takes a segment for before it knows better; of smaller ones it takes no round trip.
const FULL: u64 = 536;
/// What came so long ago counts half. A loss hides for a few round trips that bytes come, which have to be few beside this.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// More than this between two readings is a broken counter.
const READING: u64 = 1 << 40;

/// The mean size of what has come lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Segments {
    /// As last read: segments, and bytes in order.
    read: (u64, u64),
    segments: u64,
    bytes: u64,
    halved: Option<Instant>,
}

impl Segments {
    /// Takes in the counters as read at `now`.
    pub(crate) fn read(&mut self, now: Instant, segments: u64, bytes: Bytes) {
        let read = (segments, bytes.get());
        let new = |new: u64, old: u64| new.saturating_sub(old).min(READING);
        if now - *self.halved.get_or_insert(now) >= HALF_LIFE {
            (self.segments, self.bytes) = (self.segments / 2, self.bytes / 2);
            self.halved = Some(now);
        }
        self.segments = (self.segments + new(read.0, self.read.0)).min(READING);
        self.bytes = (self.bytes + new(read.1, self.read.1)).min(READING);
        self.read = read;
    }

    /// Whether what has come were full segments, in the mean.
    pub(crate) fn are_full(&self) -> bool {
        self.bytes > 0 && self.bytes >= self.segments * FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Reads every 10 ms for so long: so many segments of that size each time.
    fn after(segments: &mut Segments, from: Instant, lasts: Duration, each: u64, size: u64) -> Instant {
        let mut now = from;
        while now - from < lasts {
            now += MS * 10;
            let (count, bytes) = segments.read;
            segments.read(now, count + each, Bytes::new(bytes + each * size));
        }
        now
    }

    #[test]
    fn full_segments_are_known_from_the_first() {
        let mut segments = Segments::default();
        assert!(!segments.are_full());
        // The answer to the SYN, then data.
        segments.read(Instant::ZERO, 1, Bytes::ZERO);
        assert!(!segments.are_full());
        segments.read(Instant::ZERO + MS, 3, Bytes::new(2 * 1_448));
        assert!(segments.are_full());
    }

    #[test]
    fn small_ones_are_known_soon_after_a_bulk_and_a_bulk_at_once_after_small_ones() {
        let mut segments = Segments::default();
        let now = after(&mut segments, Instant::ZERO, MS * 5_000, 25, 1_448);
        let now = after(&mut segments, now, MS * 6_000, 1, 125);
        assert!(!segments.are_full());
        after(&mut segments, now, MS * 100, 25, 1_448);
        assert!(segments.are_full());
    }

    #[test]
    fn bytes_that_wait_for_a_repair_are_no_small_segments() {
        let mut segments = Segments::default();
        let now = after(&mut segments, Instant::ZERO, MS * 2_000, 25, 1_448);
        after(&mut segments, now, MS * 500, 25, 0);
        assert!(segments.are_full());
    }

    #[test]
    fn broken_counters_are_borne() {
        let mut segments = Segments::default();
        for (count, bytes) in [(u64::MAX, u64::MAX), (0, 0), (u64::MAX, 5), (7, u64::MAX)] {
            segments.read(Instant::ZERO, count, Bytes::new(bytes));
            segments.are_full();
        }
    }
}
