//! What the receiver of a transfer has read so far. Sender and receiver are threads of one process, and share
//! it.
//!
//! # Checked by
//! `tests` below; `traffic::tests` (real connections).

use super::Digest;
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, PoisonError};
use trace::{FlowMeter, Stall};
use units::Instant;

/// What has been read of one flow so far.
#[derive(Debug)]
pub(super) struct Received {
    /// Counts bytes until the end of the run.
    pub(super) meter: FlowMeter,
    until: Instant,
    /// Stalls not reported yet.
    pub(super) stalls: Vec<Stall>,
    /// Bytes received, including those after the end of the run.
    pub(super) length: u64,
    hash: Sha256,
    pub(super) complete: bool,
    /// How many connections have carried it. The newest one has sent again what an older one still holds.
    connections: u32,
    /// What a source that pauses has written in all. `None`: it sends.
    paused_after: Option<u64>,
}

impl Received {
    /// Nothing so far. Bytes count until `until`.
    pub(super) fn new(meter: FlowMeter, until: Instant) -> Self {
        Self {
            meter,
            until,
            stalls: Vec::new(),
            length: 0,
            hash: Sha256::new(),
            complete: false,
            connections: 0,
            paused_after: None,
        }
    }

    pub(super) fn digest(&self) -> Digest {
        self.hash.clone().finalize().into()
    }

    /// Starts another connection that continues the upload. Returns its number and the offset to continue
    /// from.
    pub(super) const fn begin(&mut self) -> (u32, u64) {
        self.connections += 1;
        (self.connections, self.length)
    }

    /// Whether no later connection carries it.
    pub(super) const fn is_newest(&self, number: u32) -> bool {
        self.connections == number
    }

    /// Counts what the application has read.
    pub(super) fn take(&mut self, now: Instant, bytes: &[u8]) {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        if now < self.until {
            self.stalls.extend(self.meter.read(now, bytes.len() as u64));
        }
        self.rest(now);
    }

    /// The source pauses, after it has written this many bytes in all. Once they have been read, nothing is
    /// awaited.
    pub(super) fn pause(&mut self, now: Instant, written: u64) {
        self.paused_after = Some(written);
        self.rest(now);
    }

    /// The source sends again. If nothing was awaited, a wait begins.
    pub(super) fn resume(&mut self, now: Instant) {
        let idles = self.idles();
        self.paused_after = None;
        if idles {
            self.meter.requested(now);
        }
    }

    fn idles(&self) -> bool {
        self.paused_after == Some(self.length)
    }

    /// Ends the wait if nothing is awaited. What is read after the end of the run does not count.
    fn rest(&mut self, now: Instant) {
        if self.idles() && now < self.until {
            self.stalls.extend(self.meter.replied(now));
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panicking server thread leaves numbers that are still correct.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Has read 1,000 bytes at 10 ms, until 9 s.
    fn received() -> Received {
        let mut received = Received::new(FlowMeter::new("flow", at(0)), at(9_000));
        received.take(at(10), &[0; 1_000]);
        received
    }

    fn stalls(received: &Received) -> Vec<(u64, u64)> {
        let of = |stall: &Stall| (stall.from.as_millis(), stall.to.as_millis());
        received.stalls.iter().map(of).collect()
    }

    #[test]
    fn a_pause_is_no_stall() {
        let mut received = received();
        received.pause(at(20), 1_000);
        received.resume(at(3_000));
        received.take(at(3_040), &[0; 500]);
        assert_eq!(stalls(&received), []);
        received.pause(at(3_050), 1_500);
        assert_eq!(received.meter.end(at(8_000)), None);
    }

    #[test]
    fn what_is_late_in_a_pause_is_a_stall() {
        let mut received = received();
        received.pause(at(20), 1_500);
        received.take(at(700), &[0; 500]);
        assert_eq!(stalls(&received), [(10, 700)]);
        received.resume(at(3_000));
        assert_eq!(stalls(&received), [(10, 700)], "all had been read");
    }

    #[test]
    fn a_wait_begins_with_the_turn() {
        let mut received = received();
        received.pause(at(20), 1_000);
        received.resume(at(3_000));
        received.take(at(3_400), &[0; 500]);
        assert_eq!(stalls(&received), [(3_000, 3_400)]);
    }

    #[test]
    fn a_wait_that_began_before_a_pause_lasts_through_it() {
        let mut received = received();
        received.pause(at(20), 1_500);
        received.resume(at(3_000));
        received.take(at(3_100), &[0; 500]);
        assert_eq!(stalls(&received), [(10, 3_100)]);
    }

    #[test]
    fn nothing_counts_after_the_end() {
        let mut received = received();
        received.pause(at(20), 1_500);
        received.take(at(9_100), &[0; 500]);
        assert_eq!((received.length, stalls(&received)), (1_500, Vec::new()));
        assert_eq!(received.meter.bytes(), units::Bytes::new(1_000));
    }
}
