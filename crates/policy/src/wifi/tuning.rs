//! Thresholds for access points that are left.

use units::Duration;

// departures.rs
/// How long an access point must have faded, and carried nothing, before it is left.
pub(crate) const LEAVE_AFTER: Duration = Duration::from_secs(10);
