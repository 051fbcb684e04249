//! What only WiFi needs: access points that share a channel, and radios that share their time.
//!
//! The inputs are packet times, goodputs and signals. The outputs are marks and backups for access points,
//! and plans of slots for radios. `steer` and `slot` are the arithmetic, without the engine. `steering` and
//! `radios` apply them to the state. `outlook` reports how each signal develops. `reach` chooses which access
//! points a radio should join.

pub(crate) mod outlook;
pub(crate) mod radios;
pub mod reach;
pub mod slot;
pub mod steer;
pub(crate) mod steering;
