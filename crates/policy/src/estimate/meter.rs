//! The recent rate of a byte counter, from marks some time apart.
//!
//! # Checked by
//! `tests` below; `estimate::acked::tests`, `known::traffic::tests` and `slow::tests` by what they find.

use units::{Bitrate, Bytes, Duration, Instant};

/// A counter's value at one moment.
pub(crate) type Mark = (Instant, Bytes);

/// The last `MARKS` values of a counter that are at least `EVERY_MS` ms apart, and its latest value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateMeter<const MARKS: usize, const EVERY_MS: u64> {
    /// Newest first.
    marks: [Option<Mark>; MARKS],
    latest: Option<Mark>,
}

impl<const MARKS: usize, const EVERY_MS: u64> Default for RateMeter<MARKS, EVERY_MS> {
    fn default() -> Self {
        Self {
            marks: [None; MARKS],
            latest: None,
        }
    }
}

impl<const MARKS: usize, const EVERY_MS: u64> RateMeter<MARKS, EVERY_MS> {
    /// Adds the counter's value at `now`.
    pub(crate) fn read(&mut self, now: Instant, bytes: Bytes) {
        self.latest = Some((now, bytes));
        if self.marks[0].is_none_or(|(at, _)| now - at >= Duration::from_millis(EVERY_MS)) {
            self.marks.rotate_right(1);
            self.marks[0] = self.latest;
        }
    }

    /// The mean rate since the oldest mark. `None` until all marks are set.
    pub(crate) fn rate(&self) -> Option<Bitrate> {
        let since = self.marks[MARKS - 1]?;
        let (now, bytes) = self.latest?;
        (now > since.0).then(|| rate_since(since, now, bytes))
    }

    /// Bytes since the oldest mark, however old it is.
    pub(crate) fn moved(&self) -> Bytes {
        let oldest = self.marks.iter().rev().flatten().next();
        let both = oldest.zip(self.latest);
        both.map_or(Bytes::ZERO, |((_, before), (_, bytes))| {
            bytes.saturating_sub(*before)
        })
    }

    /// Whether all marks are set.
    pub(crate) const fn is_full(&self) -> bool {
        self.marks[MARKS - 1].is_some()
    }
}

/// The mean rate of a counter since a mark.
pub(crate) fn rate_since((since, before): Mark, now: Instant, bytes: Bytes) -> Bitrate {
    bytes.saturating_sub(before).per(now - since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_covers_the_marks_and_forgets_what_was_before() {
        let mut meter = RateMeter::<3, 100>::default();
        let (mut rates, mut bytes) = (alloc::vec::Vec::new(), 0);
        for step in 0..60 {
            bytes += if step < 30 { 1_000 } else { 3_000 };
            meter.read(Instant::from_millis(step * 10), Bytes::new(bytes));
            rates.push(meter.rate().map(Bitrate::as_bps));
        }
        assert_eq!(
            rates[19..21],
            [None, Some(800_000)],
            "the third mark is set after 200 ms"
        );
        assert_eq!(rates[59], Some(2_400_000));
        assert_eq!((meter.moved(), meter.is_full()), (Bytes::new(29 * 3_000), true));
    }
}
