//! 802.11 constants shared by several crates: rates, interframe spaces, contention windows, preambles.
//!
//! # Sources
//! - IEEE 802.11-2020: §15 (DSSS), §16 (HR/DSSS), §17 (OFDM), §18 (ERP), §10.3 (DCF), table 17-4 (rates),
//!   §9.3.3.2 (beacons).
//!
//! # Checked by
//! `tests`: published frame durations.

pub mod ht;

use crate::{Bitrate, Duration};

/// 802.11 standard, as far as its timing differs from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11b: DSSS/CCK at 2.4 GHz, long preamble.
    B,
    /// 802.11g: OFDM at 2.4 GHz, short slots, signal extension.
    G,
}

/// Usual beacon interval: 100 time units of 1,024 µs.
pub const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// Noise floor in mBm: thermal noise in 20 MHz (−174 dBm/Hz + 73 dB) with a receiver noise figure of 7 dB.
pub const NOISE_FLOOR_MBM: i32 = -9_400;

/// Length of an ACK or CTS frame: 14 bytes, FCS included.
pub const ACK_BYTES: u32 = 14;

/// Bytes around an IP packet: 802.11 data header (24), LLC/SNAP (8) and FCS (4).
pub const DATA_OVERHEAD_BYTES: u32 = 36;

/// Centre frequency of a 20 MHz channel, in MHz (§17.3.8.4.2, table 15-6).
pub const fn channel_mhz(number: u8) -> u16 {
    match number {
        14 => 2_484,
        1..=13 => 2_407 + 5 * number as u16,
        _ => 5_000 + 5 * number as u16,
    }
}

const OFDM_KBPS: [u32; 8] = [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
const DSSS_KBPS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];

impl Standard {
    /// Data rates in kb/s, from slowest to fastest.
    pub const fn rates_kbps(self) -> &'static [u32] {
        match self {
            Self::A | Self::G => &OFDM_KBPS,
            Self::B => &DSSS_KBPS,
        }
    }

    /// Slot time. 802.11g uses the short slot, as it does when no 802.11b station is in range.
    pub const fn slot(self) -> Duration {
        Duration::from_micros(match self {
            Self::A | Self::G => 9,
            Self::B => 20,
        })
    }

    /// Short interframe space.
    pub const fn sifs(self) -> Duration {
        Duration::from_micros(match self {
            Self::A => 16,
            Self::B | Self::G => 10,
        })
    }

    /// Distributed interframe space: SIFS plus two slots.
    pub const fn difs(self) -> Duration {
        Duration::from_nanos((self.sifs().as_nanos() + 2 * self.slot().as_nanos()) as u64)
    }

    /// Smallest contention window, in slots.
    pub const fn cw_min(self) -> u32 {
        match self {
            Self::A | Self::G => 15,
            Self::B => 31,
        }
    }

    /// Largest contention window, in slots.
    pub const fn cw_max(self) -> u32 {
        1023
    }

    /// Duration of preamble and PLCP header: 192 µs for long DSSS, 20 µs for OFDM, 26 µs for 802.11g, which
    /// includes 6 µs of signal extension.
    pub const fn preamble(self) -> Duration {
        Duration::from_micros(match self {
            Self::A => 20,
            Self::B => 192,
            Self::G => 26,
        })
    }

    /// Air time of one frame of `mpdu_bytes` (header and FCS included) at `rate`, preamble included.
    ///
    /// OFDM (§17.4.3): 20 µs of preamble and SIGNAL, then whole 4 µs symbols for 16 service bits, the frame
    /// and 6 tail bits. 802.11g adds 6 µs of signal extension (§18.3.2.4). DSSS (§15.2.3): 192 µs of long
    /// preamble, then the frame.
    pub const fn frame_time(self, mpdu_bytes: u32, rate: Bitrate) -> Duration {
        let bits = mpdu_bytes as u64 * 8;
        let kbps = rate.as_bps() / 1_000;
        let micros = match self {
            Self::B => (bits * 1_000).div_ceil(kbps),
            Self::A | Self::G => 4 * (bits + 22).div_ceil(kbps * 4 / 1_000),
        };
        Duration::from_micros(self.preamble().as_micros() as u64 + micros)
    }

    /// Rate of the ACK for a frame sent at `rate`: the fastest mandatory rate that is not faster (§10.6.6.5).
    pub const fn ack_rate(self, rate: Bitrate) -> Bitrate {
        let kbps = rate.as_bps() / 1_000;
        Bitrate::from_kbps(match self {
            Self::A | Self::G => {
                if kbps >= 24_000 {
                    24_000
                } else if kbps >= 12_000 {
                    12_000
                } else {
                    6_000
                }
            }
            Self::B => {
                if kbps >= 2_000 {
                    2_000
                } else {
                    1_000
                }
            }
        })
    }

    /// Rate of beacons and other broadcast frames: the slowest.
    pub const fn basic_rate(self) -> Bitrate {
        Bitrate::from_kbps(self.rates_kbps()[0] as u64)
    }
}
