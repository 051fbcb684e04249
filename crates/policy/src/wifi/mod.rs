//! What only WiFi needs: access points that share a channel, and radios that share their time.
//!
//! In go packet times, goodputs and signals. Out come marks and backups for access points, and plans of slots
//! for radios. `steer` and `slot` are the arithmetic, without the engine. `steering` and `radios` apply them
//! to what is known. `outlook` reports where each signal is going.

pub(crate) mod outlook;
pub(crate) mod radios;
pub mod slot;
pub mod steer;
pub(crate) mod steering;
