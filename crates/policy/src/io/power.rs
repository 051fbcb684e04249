//! The power that the radio of a link draws from the battery.

use units::Duration;

/// The power of a radio in each of its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// When idle, in milliwatts.
    pub idle_mw: u32,
    /// The promotion phase, which precedes the first bit.
    pub promotion: Phase,
    /// When active at rate zero, in milliwatts.
    pub active_mw: u32,
    /// Per Mb/s received, in milliwatts.
    pub down_mw_per_mbps: u32,
    /// Per Mb/s sent, in milliwatts.
    pub up_mw_per_mbps: u32,
    /// The tail phase, which follows the last bit.
    pub tail: Phase,
}

/// A state with a fixed power and duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Its power, in milliwatts.
    pub mw: u32,
    /// Its duration.
    pub lasts: Duration,
}
