//! From what an application reads to the figures of its flow.

use crate::{Flow, PathUse, Stall, StallDetector, WAIT_THRESHOLD};
use units::{Bytes, Duration, Instant};

/// The width of one step of a goodput series.
pub const SERIES_BIN: Duration = Duration::from_millis(100);

/// Watches one flow at its receiving application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowMeter {
    name: String,
    started: Instant,
    first_byte: Option<Instant>,
    ended: Option<Instant>,
    bytes: Bytes,
    /// Nothing counts up to this time.
    counts_after: Option<Instant>,
    /// Bytes read up to it.
    uncounted: Bytes,
    stalls: StallDetector,
    waits: Vec<Stall>,
    series: Vec<u64>,
}

impl FlowMeter {
    /// A flow that is started (connect called) at `now`.
    pub fn new(name: impl Into<String>, now: Instant) -> Self {
        Self {
            name: name.into(),
            started: now,
            first_byte: None,
            ended: None,
            bytes: Bytes::ZERO,
            counts_after: None,
            uncounted: Bytes::ZERO,
            stalls: StallDetector::new(),
            waits: Vec::new(),
            series: Vec::new(),
        }
    }

    /// The same, and what is read up to this time counts neither as goodput nor as a stall.
    pub fn counting_after(self, warm: Instant) -> Self {
        Self {
            counts_after: Some(warm),
            stalls: self.stalls.counting_after(warm),
            ..self
        }
    }

    /// The same for a sender that sends at this interval. Zero: whenever it can.
    pub fn sent_every(self, interval: Duration) -> Self {
        Self {
            stalls: self.stalls.sent_every(interval),
            ..self
        }
    }

    /// A request was written: until its reply is complete the application waits.
    pub const fn requested(&mut self, now: Instant) {
        self.stalls.wait_from(now);
    }

    /// The reply is complete: nothing is awaited until the next request. Returns the stall that this ended.
    pub fn replied(&mut self, now: Instant) -> Option<Stall> {
        self.note_wait(now);
        self.stalls.end(now)
    }

    /// The application read `bytes`; returns the stall that this ended.
    pub fn read(&mut self, now: Instant, bytes: u64) -> Option<Stall> {
        if bytes == 0 {
            return None;
        }
        self.first_byte.get_or_insert(now);
        self.bytes += Bytes::new(bytes);
        if self.counts_after.is_some_and(|warm| now <= warm) {
            self.uncounted += Bytes::new(bytes);
        }
        let bin = (now.as_nanos() / SERIES_BIN.as_nanos() as u64) as usize;
        if bin >= self.series.len() {
            self.series.resize(bin + 1, 0);
        }
        self.series[bin] += bytes;
        self.note_wait(now);
        self.stalls.read(now, bytes)
    }

    /// The run or the transfer is over; returns the stall that was still open. Only the first call counts.
    pub fn end(&mut self, now: Instant) -> Option<Stall> {
        if self.ended.is_some() {
            return None;
        }
        self.ended = Some(now);
        self.note_wait(now);
        self.stalls.end(now)
    }

    fn note_wait(&mut self, now: Instant) {
        let waited = self.stalls.last_read().map(|from| Stall { from, to: now });
        self.waits
            .extend(waited.filter(|wait| wait.length() >= WAIT_THRESHOLD));
    }

    /// Everything read so far, whether it counts or not.
    pub const fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Stalls and gaps so far.
    pub const fn stalls(&self) -> &StallDetector {
        &self.stalls
    }

    /// Every gap of at least [`WAIT_THRESHOLD`], in order: what would be a stall if a stall were shorter.
    pub fn waits(&self) -> &[Stall] {
        &self.waits
    }

    /// Bytes read in each [`SERIES_BIN`] since the start of the run.
    pub fn series(&self) -> &[u64] {
        &self.series
    }

    /// The flow's entry in the result. Goodput counts from the start of the flow, or from the end of the
    /// warm-up. It counts to the flow's end, or to `now` if it is still running.
    pub fn result(&self, now: Instant, intact: impl Into<Option<bool>>, paths: Vec<PathUse>) -> Flow {
        let end = self.ended.unwrap_or(now);
        let counted = self.bytes - self.uncounted;
        let time = end.since(self.started.max(self.counts_after.unwrap_or(self.started)));
        Flow {
            name: self.name.clone(),
            bytes: counted.get(),
            goodput_mbps: counted.per(time).as_mbps_f64(),
            intact: intact.into(),
            first_byte_ms: self.first_byte.map(|at| millis(at.since(self.started))),
            longest_stall_ms: millis(self.stalls.longest()),
            stall_total_ms: millis(self.stalls.total()),
            stalls: self.stalls.count(),
            datagrams: None,
            delay: None,
            jitter_ms: None,
            reply: None,
            playback: None,
            paths,
        }
    }
}

/// Bytes that all of these flows read in each [`SERIES_BIN`] of a run that lasted this long.
pub fn summed_series<'m>(meters: impl IntoIterator<Item = &'m FlowMeter>, lasted: Duration) -> Vec<u64> {
    let bins = lasted.as_nanos().div_ceil(SERIES_BIN.as_nanos()) as usize;
    let mut sums = vec![0; bins];
    for meter in meters {
        for (sum, bytes) in sums.iter_mut().zip(meter.series()) {
            *sum += bytes;
        }
    }
    sums
}

fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}
