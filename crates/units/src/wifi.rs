//! 802.11 constants that more than one room needs: rates, interframe spaces, contention, preambles.
//!
//! # Sources
//! - IEEE 802.11-2020: §15 (DSSS), §16 (HR/DSSS), §17 (OFDM), §18 (ERP), §10.3 (DCF), table 17-4 (rates), §9.3.3.2 (beacons).
//!
//! # Checked by
//! `tests`: published durations of frames.

pub mod ht;

use crate::{Bitrate, Duration};

/// A standard of the 802.11 family, as far as timing differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11b: DSSS/CCK at 2.4 GHz, long preamble.
    B,
    /// 802.11g: OFDM at 2.4 GHz, short slots, signal extension.
    G,
}

/// The usual time between two beacons: 100 time units of 1,024 µs.
pub const BEACON_INTERVAL: Duration = Duration::from_micros(102_400);

/// Thermal noise in 20 MHz (−174 dBm/Hz + 73 dB) with a receiver noise figure of 7 dB, in mBm.
pub const NOISE_FLOOR_MBM: i32 = -9_400;

/// An acknowledgement or clear-to-send: 14 bytes with its check sum.
pub const ACK_BYTES: u32 = 14;

/// 802.11 data header (24), LLC/SNAP (8) and frame check sequence (4) around an IP packet.
pub const DATA_OVERHEAD_BYTES: u32 = 36;

/// The centre of a 20 MHz channel, in MHz (§17.3.8.4.2, table 15-6).
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
    /// Data rates from slowest to fastest.
    pub const fn rates_kbps(self) -> &'static [u32] {
        match self {
            Self::A | Self::G => &OFDM_KBPS,
            Self::B => &DSSS_KBPS,
        }
    }

    /// Slot time (802.11g without 802.11b stations in sight uses the short one).
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

    /// Distributed interframe space: SIFS and two slots.
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

    /// Preamble and PLCP header: long DSSS 192 µs, OFDM 20 µs, in 802.11g with its 6 µs of signal extension.
    pub const fn preamble(self) -> Duration {
        Duration::from_micros(match self {
            Self::A => 20,
            Self::B => 192,
            Self::G => 26,
        })
    }

    /// Air time of one frame of `mpdu_bytes` (header and check sum included) at `rate`, preamble included.
    ///
    /// OFDM (§17.4.3): 20 µs of preamble and SIGNAL, then whole 4 µs symbols for 16 service bits, the frame and 6 tail bits; 6 µs of
    /// signal extension in 802.11g (§18.3.2.4). DSSS (§15.2.3): 192 µs of long preamble, then the frame.
    pub const fn frame_time(self, mpdu_bytes: u32, rate: Bitrate) -> Duration {
        let bits = mpdu_bytes as u64 * 8;
        let kbps = rate.as_bps() / 1_000;
        let micros = match self {
            Self::B => (bits * 1_000).div_ceil(kbps),
            Self::A | Self::G => 4 * (bits + 22).div_ceil(kbps * 4 / 1_000),
        };
        Duration::from_micros(self.preamble().as_micros() as u64 + micros)
    }

    /// The rate of the acknowledgement of a frame sent at `rate`: the fastest mandatory rate that is not faster (§10.6.6.5).
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

    /// The rate of beacons and other frames to everybody: the slowest.
    pub const fn basic_rate(self) -> Bitrate {
        Bitrate::from_kbps(self.rates_kbps()[0] as u64)
    }
}
