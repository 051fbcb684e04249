//! Thresholds of the estimators.

use units::{Bytes, Duration};

// arrivals.rs
/// Payload of a full segment on Ethernet with timestamps and a DSS option. An upper limit on narrower paths.
pub(crate) const SEGMENT: u64 = 1_448;
/// Number of bins of arrivals.
pub(crate) const BINS: usize = 32;
/// Width of a bin.
pub(crate) const BIN: Duration = Duration::from_millis(10);
/// A larger increase between two samples is a broken counter, not an arrival.
pub(crate) const READING: u64 = 1 << 40;
/// Fewer segments than this in the last 300 ms cannot cause a queue, and their absence is no silence.
pub(crate) const BUSY_SEGMENTS: u64 = 30;
/// In slow start, the current rate is measured over a round trip, or over this: data arrives in bursts.
pub(crate) const LATELY: Duration = Duration::from_millis(50);
/// How long a subflow's best rate stays valid, a queue's refutation of it, and at most a series of losses. A
/// queue comes and goes with its sender's congestion window, and random losses can pause by chance.
pub(crate) const MEMORY: Duration = Duration::from_secs(10);
/// How long a pause of a subflow counts: a few round trips. If it counted longer, the bursts of a slow start
/// would delay the promotion of a backup long after it.
pub(crate) const PAUSE_MEMORY: Duration = Duration::from_secs(1);

// carries.rs
/// If losses continue and less than this percentage of the believed rate arrives, the losses are the reason.
pub(crate) const GIVES_WAY_PERCENT: u64 = 50;

// losses.rs
/// This many losses within [`LOSSES_WITHIN`] are not chance.
pub(crate) const MANY_LOSSES: usize = 4;
/// Time span of [`MANY_LOSSES`].
pub(crate) const LOSSES_WITHIN: Duration = Duration::from_secs(3);
/// Percentage of the minimum round trip at which a round trip indicates a long queue.
pub(crate) const QUEUED_PERCENT: u32 = 160;
/// The queue causes the losses if segments are missing this many times as often with it.
pub(crate) const QUEUE_LOSES: u32 = 3;
/// Within this many round trips it is the same loss: one until the retransmission, half of one on average
/// before and after.
pub(crate) const ONE_LOSS_ROUNDS: u32 = 2;
/// How long a lost segment is missing, in quarters of a round trip: a round trip, and the quarter that RACK
/// waits (RFC 8985 §6.2).
pub(crate) const REPAIR_QUARTERS: u32 = 5;
/// Delay until out-of-order data is known: the sampling interval of a busy connection (longer only if there
/// are many).
pub(crate) const READ_EVERY: Duration = Duration::from_millis(10);
/// Weight of a new sample in the mean round trip: one part in this many.
pub(crate) const MEAN_OF: u32 = 64;

// segments.rs
/// The kernel's initial estimate of the segment size. It takes no round trip from smaller segments.
pub(crate) const FULL: u64 = 536;
/// Half-life of old arrivals. A loss holds back in-order bytes for a few round trips, which must be short
/// compared with this.
pub(crate) const SIZE_HALF_LIFE: Duration = Duration::from_secs(1);

// acked.rs
/// Shortest interval the rate covers. With a sample every 10 ms it covers 20 to 30 ms, and more if many
/// connections make samples rarer.
pub(crate) const STEP_MS: u64 = 15;
/// A subflow that has moved more than this at its first sample started long before. 100 Mb/s move this much
/// in 20 ms, and subflows are reported within that time.
pub(crate) const BEGUN: Bytes = Bytes::from_kib(256);

// gap.rs
/// Half-life of a remembered gap: one bad second must not delay detection for ever.
pub(crate) const GAP_HALF_LIFE: Duration = Duration::from_secs(60);
/// Upper limit: the user has waited long enough, whatever the link did before.
pub(crate) const LONGEST_GAP: Duration = Duration::from_secs(3);

// experiment.rs
/// Goodput this soon after the change does not count.
pub(crate) const SETTLE: Duration = Duration::from_millis(500);
/// From here on, a clear result ends the experiment.
pub(crate) const EARLY: Duration = Duration::from_secs(1);
/// The experiment ends here.
pub(crate) const MOST: Duration = Duration::from_secs(3);
/// A clear success, in percent of the goodput before.
pub(crate) const WON_PERCENT: u64 = 125;
/// A clear failure is below this.
pub(crate) const LOST_PERCENT: u64 = 75;

// beacons.rs
/// The window over which beacons are counted.
pub(crate) const BEACON_WINDOW: Duration = Duration::from_secs(2);
/// So many of the 20 in this window show that an access point is there.
pub(crate) const BEACONS_HEARD: usize = 3;

// bandwidth.rs
/// Minimum observation time for a verdict on what limits a link.
pub(crate) const LEAST_OBSERVED: Duration = Duration::from_millis(500);
