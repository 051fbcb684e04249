//! Coverage holes of a cellular link, and the time that counts between them.

use alloc::vec::Vec;
use units::{Duration, Instant};

use crate::config;

/// Times without coverage, in nanoseconds since the start of the run.
#[derive(Debug, Clone)]
pub(crate) struct Holes {
    /// Start and end of each, in order.
    spans: Vec<(u64, u64)>,
    /// Repetition period. Zero: never.
    period: u64,
}

impl Holes {
    pub(crate) fn new(config: &config::Holes) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let spans = config.spans.iter().filter(|(_, length)| !length.is_zero());
        Self {
            spans: spans
                .map(|&(at, length)| (nanos(at), nanos(at.saturating_add(length))))
                .collect(),
            period: config.period.map_or(0, nanos),
        }
    }

    /// `at`, or the end of the hole that contains it.
    pub(crate) fn out_of(&self, at: Instant) -> Instant {
        match self.next(at) {
            Some((begin, end)) if begin <= at => end,
            _ => at,
        }
    }

    /// When work of this length that starts at `at` is done. Work pauses during holes.
    pub(crate) fn finish(&self, at: Instant, work: Duration) -> Instant {
        let (mut at, mut left) = (at, work);
        while let Some((begin, end)) = self.next(at) {
            let span = begin.since(at);
            if left <= span && !(span.is_zero()) {
                break;
            }
            left -= span.min(left);
            at = end;
        }
        at + left
    }

    /// Time outside holes between `from` and `to`.
    pub(crate) fn worked(&self, from: Instant, to: Instant) -> Duration {
        let (mut at, mut sum) = (from, Duration::ZERO);
        while let Some((begin, end)) = self.next(at).filter(|&(begin, _)| begin < to) {
            sum += begin.since(at);
            at = end.min(to).max(at);
            if end >= to {
                break;
            }
        }
        sum + to.since(at)
    }

    /// The hole that contains `at`, or else the next one.
    fn next(&self, at: Instant) -> Option<(Instant, Instant)> {
        if self.spans.is_empty() {
            return None;
        }
        let base = at
            .as_nanos()
            .checked_rem(self.period)
            .map_or(0, |into| at.as_nanos() - into);
        let within = at.as_nanos() - base;
        let index = self.spans.partition_point(|&(_, end)| end <= within);
        let (base, &(begin, end)) = match self.spans.get(index) {
            Some(span) => (base, span),
            None if self.period > 0 => (base.saturating_add(self.period), &self.spans[0]),
            None => return None,
        };
        Some((
            Instant::from_nanos(base.saturating_add(begin)),
            Instant::from_nanos(base.saturating_add(end)),
        ))
    }
}
