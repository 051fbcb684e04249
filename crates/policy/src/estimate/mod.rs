//! What is measured, one quantity a file.
//!
//! In go counters, beacons, frames and probes' replies, each with its time.
//! Out come rates, losses, signals, airtimes and energies, without any decision.

pub(crate) mod acked;
pub mod airtime;
pub(crate) mod arrivals;
pub mod bandwidth;
pub(crate) mod beacons;
pub(crate) mod carries;
pub mod delivery;
pub mod energy;
pub(crate) mod gap;
pub(crate) mod losses;
pub mod mobility;
pub mod phy;
pub(crate) mod segments;
pub(crate) mod signal;
pub(crate) mod trickle;
