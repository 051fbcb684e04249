//! Stalls, by the one definition that every result uses.
//!
//! A stall is a gap of more than 100 ms between bytes read at the receiving application. It lies between the
//! first byte and the end of the run or transfer. For requests it is counted from the written request to the
//! complete reply. The time before the first byte of a transfer is not a stall but `first_byte_ms`. Where the
//! sender itself sends at intervals, a gap is a stall if it is 100 ms longer than that interval.

use units::{Duration, Instant};

/// A gap counts as a stall when it is longer than this.
pub const STALL_THRESHOLD: Duration = Duration::from_millis(100);

/// Gaps shorter than this are not kept one by one.
pub const WAIT_THRESHOLD: Duration = Duration::from_millis(10);

/// A time in which the application waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The last byte before it (or the request written).
    pub from: Instant,
    /// The first byte after it, or the end of run or transfer.
    pub to: Instant,
}

impl Stall {
    /// How long it lasted.
    pub fn length(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// Finds the stalls of one flow from its reads, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StallDetector {
    last: Option<Instant>,
    /// Nothing counts up to this time.
    counts_after: Instant,
    /// The interval at which the sender sends.
    interval: Duration,
    longest_gap: Duration,
    longest: Duration,
    total: Duration,
    count: u64,
}

impl StallDetector {
    /// For a transfer: nothing counts before its first byte.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and what happens up to this time does not count: a gap across it counts from it on.
    pub const fn counting_after(self, warm: Instant) -> Self {
        Self {
            counts_after: warm,
            ..self
        }
    }

    /// The same for a sender that sends at this interval.
    pub const fn sent_every(self, interval: Duration) -> Self {
        Self { interval, ..self }
    }

    /// A longer gap is a stall.
    fn longest_allowed(&self) -> Duration {
        STALL_THRESHOLD + self.interval
    }

    /// A request was written on a connection that was idle: the wait begins now.
    pub const fn wait_from(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// The application read `bytes`; returns the stall that this ended. Reading nothing ends nothing.
    pub fn read(&mut self, now: Instant, bytes: u64) -> Option<Stall> {
        if bytes == 0 {
            return None;
        }
        let from = self.last.replace(now)?;
        self.close(from, now)
    }

    /// The run or the transfer is over; returns the stall that was still open. Later reads begin afresh.
    pub fn end(&mut self, now: Instant) -> Option<Stall> {
        let from = self.last.take()?;
        self.close(from, now)
    }

    /// The time of the last read, once the gap since then is a stall.
    pub fn open_since(&self, now: Instant) -> Option<Instant> {
        self.last.filter(|last| now.since(*last) > self.longest_allowed())
    }

    /// The last read, or the request that waits for its reply; not before anything counts.
    pub fn last_read(&self) -> Option<Instant> {
        self.last.map(|last| last.max(self.counts_after))
    }

    /// The longest time between two reads, stall or not.
    pub const fn longest_gap(&self) -> Duration {
        self.longest_gap
    }

    /// The longest stall; zero if there was none.
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// Sum of all stalls.
    pub const fn total(&self) -> Duration {
        self.total
    }

    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    fn close(&mut self, from: Instant, to: Instant) -> Option<Stall> {
        let from = from.max(self.counts_after);
        let stall = Stall { from, to };
        self.longest_gap = self.longest_gap.max(stall.length());
        if stall.length() <= self.longest_allowed() {
            return None;
        }
        self.longest = self.longest.max(stall.length());
        self.total += stall.length();
        self.count += 1;
        Some(stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowMeter;

    #[test]
    fn a_sender_that_pauses_does_not_stall() {
        let ms = Instant::from_millis;
        let interval = Duration::from_millis(150);
        let meter = FlowMeter::new("probe", ms(0));
        let mut meter = meter.sent_every(interval).counting_after(ms(10));
        for at in [0, 150, 310, 450, 701] {
            meter.read(ms(at), 1);
        }
        assert_eq!(meter.stalls().count(), 1);
        assert_eq!(meter.stalls().longest(), Duration::from_millis(251));
        assert_eq!(meter.end(ms(900)), None);
    }
}
