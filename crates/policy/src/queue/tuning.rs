//! Thresholds of queues, and of limits on windows, unsent data and pacing.

use units::{Bytes, Duration};

// queues.rs, slow/mod.rs
/// A link without a queue that carries less than this percentage of its recent goodput is starved.
pub(crate) const STARVED_PERCENT: u64 = 75;
/// A queue that returns within this time is not worth reporting again.
pub(crate) const SAME: Duration = Duration::from_secs(10);

// aqm.rs
/// Interval between ticks.
pub(crate) const EVERY: Duration = Duration::from_millis(50);
/// The permitted queue: this percentage of the base round trip. Three quarters idle a link for a hundredth
/// of the time after a mark (`aqm`, point 1).
pub(crate) const TARGET_PERCENT: u32 = 75;
/// The least permitted queue.
pub(crate) const LEAST_TARGET: Duration = Duration::from_millis(5);
/// The permitted queue beside a starved link: this percentage of that link's base round trip (`aqm`,
/// point 6). Two windows of memory last about 2.6 round trips at the pacing rate of congestion avoidance,
/// which is 1.2 times the delivery rate.
pub(crate) const STARVED_BESIDE_PERCENT: u32 = 33;
/// The longest permitted queue.
pub(crate) const MOST_TARGET: Duration = Duration::from_millis(200);
/// Round trips until a mark shows its effect: one until the response, one while the window shrinks, one until
/// that arrives.
pub(crate) const ROUNDS_TO_SEE: u32 = 3;
/// A queue of this percentage of the base round trip ends slow start.
pub(crate) const START_PERCENT: u32 = 25;
/// At most one packet in this many is marked, however few there are.
pub(crate) const RAREST: u64 = 16;

// windows.rs
/// Fewer segments than this in the last 300 ms echo old timestamps.
pub(crate) const TELLING_SEGMENTS: u64 = 8;

// pacing.rs
/// Cap as a percentage of the acknowledged rate. What was sent before the sign is more than fills the link,
/// and has to drain.
pub(crate) const HELD_PERCENT: u64 = 70;
/// Duration of the cap in round trips. The controller needs three whole ones, which lengthen with the queue.
/// BBR forgets after ten what it measured without the cap.
pub(crate) const ROUNDS: u32 = 8;
/// The longest cap, whatever a round trip takes.
pub(crate) const LONGEST: Duration = Duration::from_secs(2);

// unsent.rs
/// Unsent bytes above which a cap is worthwhile.
pub(crate) const BACKLOG_WORTH_BOUNDING: Bytes = Bytes::from_kib(256);
/// The cap on each subflow: enough for a burst, and too little to matter when a path dies.
pub(crate) const UNSENT_LIMIT: Bytes = Bytes::from_kib(64);
