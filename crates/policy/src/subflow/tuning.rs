//! Thresholds of replacements of subflows.

use units::Duration;

// renewal.rs
/// Round trips until missing bytes arrive over a new subflow: the join, its proof, and the end of the old
/// one.
pub(crate) const ROUNDS: u32 = 3;
/// The least gain that is worth a join.
pub(crate) const WORTH: Duration = Duration::from_millis(100);
/// Round trips without in-order data after which the missing bytes are not on their way.
pub(crate) const BLOCKED_ROUNDS: u32 = 2;
/// A pause of in-order data is attributed to a loss for this long.
pub(crate) const FRESH: Duration = Duration::from_secs(1);
/// A join that timed out may still succeed within this time.
pub(crate) const LATE: Duration = Duration::from_secs(10);
/// More segments of ours in flight mean an upload, for which the peer's queue does not matter.
pub(crate) const FEW_SEGMENTS: u32 = 8;

// membership.rs
/// A join without a result after this time has failed.
pub(crate) const JOIN_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest drain.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_millis(1_500);
/// REMOVE_ADDR is repeated this long after it was sent: it may travel on a slower path than the join.
pub(crate) const REPEAT_AFTER: Duration = Duration::from_millis(150);

// farewell.rs
/// An unused subflow that receives nothing for this long is empty.
pub(crate) const EMPTY_AFTER: Duration = Duration::from_millis(120);
/// A subflow that received something within this time carries traffic.
pub(crate) const FLOWING: Duration = Duration::from_millis(100);
