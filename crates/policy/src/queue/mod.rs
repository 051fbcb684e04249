//! Keeps queues short: at the peer, on each link, and in this host.
//!
//! The inputs are round-trip times, rates and backlogs of subflows. The outputs are congestion marks,
//! windows, limits on unsent data, and caps on pacing. `queues` watches links, `aqm` computes their marks,
//! and `mark` spreads marks over packets. `windows` and `unsent` limit connections. `pacing` slows down an
//! upload's slow start.

pub(crate) mod aqm;
pub mod mark;
pub(crate) mod pacing;
pub(crate) mod queues;
pub(crate) mod tuning;
mod unsent;
pub(crate) mod windows;
