//! Durations used in a station's contention, in ns.
//!
//! # Sources
//! - IEEE 802.11-2020 §10.3.2.3 (interframe spaces: DIFS = SIFS + 2 slots, EIFS = SIFS + AckTxTime + DIFS
//!   with the acknowledgement at the lowest mandatory rate), §10.3.2.11 (ACK timeout = SIFS + slot +
//!   aRxPHYStartDelay), §10.3.7 (a slot consists of CCA time, turnaround, processing and propagation), tables
//!   15-5, 16-4, 17-21 and 18-5 (the PHYs' characteristics).
//!
//! - Table 9-155: the best-effort class waits for SIFS and three slots, with the windows of DCF.
//!
//! # Where we differ, and why
//! 1. Signals arrive at once: 300 m are 1 µs, which the slot includes.
//! 2. Stations of 802.11n have one access category, best effort, for all traffic classes.

use units::Duration;
use units::wifi::{ACK_BYTES, Standard};

/// The timing that one standard requires of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::air) struct Timing {
    pub(in crate::air) slot: u32,
    pub(in crate::air) sifs: u64,
    pub(in crate::air) difs: u64,
    pub(in crate::air) eifs: u64,
    /// From the end of a frame until its sender knows that no acknowledgement has begun.
    pub(in crate::air) ack_timeout: u64,
    /// How long a transmission can be on the air before a station about to transmit notices it: CCA time plus
    /// turnaround.
    pub(in crate::air) blind: u64,
    /// From the start of a preamble until the PHY reports that a frame has begun.
    pub(in crate::air) start_delay: u64,
    pub(in crate::air) cw_min: u32,
    pub(in crate::air) cw_max: u32,
}

impl Timing {
    /// `qos`: the station has 802.11n, and contends with the AIFS of the best-effort class instead of DIFS.
    pub(in crate::air) fn of(standard: Standard, qos: bool) -> Self {
        let (slot, sifs, difs) = (
            nanos(standard.slot()),
            nanos(standard.sifs()),
            nanos(standard.difs()) + if qos { nanos(standard.slot()) } else { 0 },
        );
        let slowest_ack = nanos(standard.frame_time(ACK_BYTES, standard.basic_rate()));
        let start_delay = start_delay(standard);
        Self {
            slot: slot as u32,
            sifs,
            difs,
            eifs: sifs + slowest_ack + difs,
            ack_timeout: sifs + slot + start_delay,
            blind: blind(standard),
            start_delay,
            cw_min: standard.cw_min(),
            cw_max: standard.cw_max(),
        }
    }
}

pub(in crate::air) const fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// aRxPHYStartDelay.
const fn start_delay(standard: Standard) -> u64 {
    match standard {
        Standard::A | Standard::G => 20_000,
        Standard::B => 192_000,
    }
}

/// aCCATime + aRxTxTurnaroundTime: 4 + 2 µs in table 17-21, 4 + 5 in 18-5 (short slots), 15 + 5 in 16-4.
const fn blind(standard: Standard) -> u64 {
    match standard {
        Standard::A => 6_000,
        Standard::G => 9_000,
        Standard::B => 20_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eifs_and_timeouts_by_hand() {
        let a = Timing::of(Standard::A, false);
        // 16 + 44 (14 bytes at 6 Mb/s) + 34.
        assert_eq!((a.difs, a.eifs, a.ack_timeout), (34_000, 94_000, 45_000));
        let b = Timing::of(Standard::B, false);
        // 10 + (192 + 112) + 50.
        assert_eq!((b.difs, b.eifs, b.ack_timeout), (50_000, 364_000, 222_000));
        let g = Timing::of(Standard::G, false);
        assert_eq!((g.difs, g.eifs, g.ack_timeout), (28_000, 88_000, 39_000));
        let n = Timing::of(Standard::A, true);
        assert_eq!((n.difs, n.eifs, n.ack_timeout), (43_000, 103_000, 45_000));
    }

    #[test]
    fn nobody_is_blind_for_more_than_a_slot() {
        for standard in [Standard::A, Standard::B, Standard::G] {
            let timing = Timing::of(standard, true);
            assert!(timing.blind <= u64::from(timing.slot));
        }
    }
}
