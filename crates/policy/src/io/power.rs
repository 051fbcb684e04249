//! What the radio of a link draws from the battery.

use units::Duration;

/// The power of a radio in its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Doing nothing, in milliwatts.
    pub idle_mw: u32,
    /// Before the first bit.
    pub promotion: Phase,
    /// Active at rate zero, in milliwatts.
    pub active_mw: u32,
    /// For each Mb/s received, in milliwatts.
    pub down_mw_per_mbps: u32,
    /// For each Mb/s sent, in milliwatts.
    pub up_mw_per_mbps: u32,
    /// After the last bit.
    pub tail: Phase,
}

/// A state that lasts a while at a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// In milliwatts.
    pub mw: u32,
    /// How long.
    pub lasts: Duration,
}
