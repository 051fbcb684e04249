//! Thresholds of the window.

use units::{Bytes, Duration};

// mod.rs
/// Interval in slow start: every sample. Samples are ten milliseconds apart, and one that comes a little
/// early must not be missed.
pub(crate) const EVERY_READING: Duration = Duration::from_millis(9);
/// The smallest window.
pub(crate) const LEAST: Bytes = Bytes::from_kib(96);
/// The largest window.
pub(crate) const MOST: Bytes = Bytes::from_kib(16 * 1024);
/// A connection that has received less than this has no cap: the window of a short transfer never matters.
pub(crate) const WORTH_BOUNDING: Bytes = Bytes::from_kib(32);
/// For this long after the start, a connection's slow starts over cables overflow queues, and what they lose
/// blocks everything.
pub(crate) const SETTLES_FOR: Duration = Duration::from_secs(5);
/// The least room beyond the longest round trip.
pub(crate) const ROOM: Duration = Duration::from_millis(16);
/// Sixteenths of `Σ rate · longest RTT`: a quarter more than what is in flight when every link is full.
pub(crate) const USUAL: u64 = 20;
/// The same, without anything queued.
pub(crate) const PRODUCT: u64 = 16;
/// Interval between falls of the window, by an eighth each time.
pub(crate) const STEP: Duration = Duration::from_millis(100);
/// The divisor of the window while a subflow is being closed.
pub(crate) const NARROW: u64 = 4;

// growth.rs
/// Slow start continues while the links' rate reaches this percentage of the earlier one within [`STILL`].
pub(crate) const GROWN_PERCENT: u64 = 125;
/// The longest standstill: this many of the longest round trips, or this time.
pub(crate) const STILL: (u32, Duration) = (3, Duration::from_millis(50));
/// Over cables, slow start may show no growth for this many of the longest round trips after a link has
/// joined: the time from ten segments to its full rate.
pub(crate) const ROUNDS_TO_GROW: u32 = 10;
/// A standstill does not count while half of the window is out-of-order data, or shortly after a join over a
/// cable. This holds only for this long after the start.
pub(crate) const EXCUSED_FOR: Duration = Duration::from_millis(1_500);

// asked.rs
/// Percentage of the links' capacity below which the application is the limit.
pub(crate) const LITTLE_PERCENT: u64 = 40;
/// Interval over which arrivals are measured.
pub(crate) const SPAN: Duration = Duration::from_secs(1);
