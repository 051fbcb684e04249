//! Estimators, one quantity per file.
//!
//! Input: counters, beacons, frames and probe replies, each with its time. Output: rates, losses, signals,
//! airtimes and energies, without any decision.

pub(crate) mod acked;
pub mod airtime;
pub(crate) mod arrivals;
pub mod bandwidth;
pub(crate) mod beacons;
pub(crate) mod carries;
pub mod delivery;
pub mod energy;
pub(crate) mod experiment;
pub(crate) mod gap;
pub(crate) mod losses;
pub(crate) mod meter;
pub mod mobility;
pub mod phy;
pub(crate) mod segments;
pub(crate) mod signal;
pub(crate) mod tuning;
