//! Whether full segments arrive over a subflow: the kernel measures round trips only from those.
//!
//! # Sources
//! - Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_rcv_rtt_measure_ts` uses timestamps only of segments as large
//!   as the usual ones (`rcv_mss`), or 536 B (`TCP_MSS_DEFAULT`, `tcp_initialize_rcv_mss`). Without such
//!   segments, `tcpi_rcv_rtt` comes from `tcp_rcv_rtt_measure`: the time in which a whole receive window
//!   arrives.
//!
//! # Where we differ, and why
//! A program that writes 125 B a hundred times a second needs five seconds for 64 KiB. Used as a round-trip
//! time, that looked like a queue of five seconds on a link with none. The link was marked, and the
//! connection moved to another link, and another, five times a second (`window-false` at 0.1 Mb/s: 3,308 role
//! changes in ten minutes).
//!
//! # Checked by
//! `tests`. `tests::queues`. `window-false` in the benchmarks.

use super::tuning::{FULL, READING, SIZE_HALF_LIFE};
use units::{Bytes, Instant};

/// Mean size of the segments that arrived recently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Segments {
    /// Last sample: segments, and in-order bytes.
    read: (u64, u64),
    segments: u64,
    bytes: u64,
    halved: Option<Instant>,
}

impl Segments {
    /// Takes in the counters at `now`.
    pub(crate) fn read(&mut self, now: Instant, segments: u64, bytes: Bytes) {
        let read = (segments, bytes.get());
        let new = |new: u64, old: u64| new.saturating_sub(old).min(READING);
        if now - *self.halved.get_or_insert(now) >= SIZE_HALF_LIFE {
            (self.segments, self.bytes) = (self.segments / 2, self.bytes / 2);
            self.halved = Some(now);
        }
        self.segments = (self.segments + new(read.0, self.read.0)).min(READING);
        self.bytes = (self.bytes + new(read.1, self.read.1)).min(READING);
        self.read = read;
    }

    /// Whether the recent segments were full on average.
    pub(crate) fn are_full(&self) -> bool {
        self.bytes > 0 && self.bytes >= self.segments * FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// Samples every 10 ms for `lasts`, with `each` new segments of `size` bytes.
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
        // The reply to the SYN, then data.
        segments.read(Instant::ZERO, 1, Bytes::ZERO);
        assert!(!segments.are_full());
        segments.read(Instant::ZERO + MS, 3, Bytes::new(2 * 1_448));
        assert!(segments.are_full());
    }

    #[test]
    fn small_segments_are_recognised_soon_and_full_ones_at_once() {
        let mut segments = Segments::default();
        let now = after(&mut segments, Instant::ZERO, MS * 5_000, 25, 1_448);
        let now = after(&mut segments, now, MS * 6_000, 1, 125);
        assert!(!segments.are_full());
        after(&mut segments, now, MS * 100, 25, 1_448);
        assert!(segments.are_full());
    }

    #[test]
    fn out_of_order_bytes_do_not_look_like_small_segments() {
        let mut segments = Segments::default();
        let now = after(&mut segments, Instant::ZERO, MS * 2_000, 25, 1_448);
        after(&mut segments, now, MS * 500, 25, 0);
        assert!(segments.are_full());
    }

    #[test]
    fn accepts_broken_counters() {
        let mut segments = Segments::default();
        for (count, bytes) in [(u64::MAX, u64::MAX), (0, 0), (u64::MAX, 5), (7, u64::MAX)] {
            segments.read(Instant::ZERO, count, Bytes::new(bytes));
            segments.are_full();
        }
    }
}
