//! Which links are alive.
//!
//! The inputs are silent subflows, hosts that do not reply, and results of checks. The outputs are probes,
//! checks, and a verdict for each link: alive, doubted, dead, or held out. `silence` watches links that carry
//! data, `reserves` watches backups, and `idle` with `suspicion` watches links without connections. `flows`
//! watches flows without MPTCP, and `portal` finds captive portals.

pub(crate) mod flows;
pub(crate) mod idle;
pub(crate) mod portal;
pub(crate) mod reserves;
pub(crate) mod silence;
mod suspicion;
mod tuning;
