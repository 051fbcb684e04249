//! 802.11n (high throughput): rates, preambles, frames' time on the air, and what surrounds an aggregate.
//!
//! # Sources
//! - IEEE 802.11-2020 §19.5 (tables of rate-dependent parameters), §19.3.6 and table 19-6 (subcarriers, symbols), §19.4.3 (TXTIME), §9.7.1
//!   (A-MPDU subframes), §9.3.1.8 (compressed block acknowledgement), §10.6.11 and table 10-10 (the control response of an HT frame), table E-4
//!   (channels of 40 MHz: classes 83, 116, 119, 122 and 126, in which the primary channel is the lower one).
//!
//! # Where we differ, and why
//! 1. HT-mixed format only: greenfield was deprecated, and mixed cells need the legacy preamble. Equal modulation on all streams, BCC, no STBC:
//!    what access points of these years send.
//! 2. The primary channel of 40 MHz is always its lower half.
//!
//! # Checked by
//! `units::tests`: the published tables of rates, durations by hand.

use super::Standard;
use crate::{Bitrate, Duration};

/// QoS data header (26), LLC/SNAP (8) and frame check sequence (4) around an IP packet.
pub const QOS_DATA_OVERHEAD_BYTES: u32 = 38;
/// A compressed block acknowledgement with its check sum.
pub const BLOCK_ACK_BYTES: u32 = 32;
/// What precedes each frame of an aggregate; the frame is then padded to four bytes.
pub const DELIMITER_BYTES: u32 = 4;
/// Most frames in one aggregate: the block-ack window.
pub const AGGREGATE_FRAMES: u32 = 64;
/// Most bytes in one aggregate.
pub const AGGREGATE_BYTES: u32 = 65_535;

/// Where a cell is: decides SIFS and signal extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 GHz.
    Ghz5,
}

/// Width of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
}

/// Guard interval between symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// 800 ns.
    Long,
    /// 400 ns.
    Short,
}

/// A modulation and coding scheme with its channel width and guard interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    mcs: u8,
    width: Width,
    guard: Guard,
}

/// Coded bits per subcarrier, and code rate as a fraction, of MCS 0 to 7.
const SCHEMES: [(u32, u32, u32); 8] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
];
/// The legacy rate of the same modulation and code (table 10-10), in kb/s; the last has none and takes the one below.
const LIKE_KBPS: [u64; 8] = [6_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000, 54_000];

impl Band {
    /// The standard whose interframe spaces, slots and control frames an HT cell uses here.
    pub const fn legacy(self) -> Standard {
        match self {
            Self::Ghz2 => Standard::G,
            Self::Ghz5 => Standard::A,
        }
    }

    /// Where a standard's channels are.
    pub const fn of(standard: Standard) -> Self {
        match standard {
            Standard::B | Standard::G => Self::Ghz2,
            Standard::A => Self::Ghz5,
        }
    }

    /// The channel that is the upper half of the 40 MHz whose lower half is `first`; `None` if the band has no such 40 MHz.
    pub const fn upper_half(self, first: u8) -> Option<u8> {
        match (self, first) {
            (Self::Ghz2, 1..=9)
            | (Self::Ghz5, 36 | 44 | 52 | 60 | 100 | 108 | 116 | 124 | 132 | 140 | 149 | 157) => {
                Some(first + 4)
            }
            _ => None,
        }
    }

    const fn signal_extension_us(self) -> u64 {
        match self {
            Self::Ghz2 => 6,
            Self::Ghz5 => 0,
        }
    }
}

impl Mode {
    /// MCS 0 to 31 (one to four streams); `None` for another.
    pub const fn new(mcs: u8, width: Width, guard: Guard) -> Option<Self> {
        if mcs < 32 {
            Some(Self { mcs, width, guard })
        } else {
            None
        }
    }

    /// Its index, 0 to 31.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Its channel width.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Its guard interval.
    pub const fn guard(self) -> Guard {
        self.guard
    }

    /// Spatial streams, 1 to 4.
    pub const fn streams(self) -> u32 {
        self.mcs as u32 / 8 + 1
    }

    /// Data bits in one symbol.
    pub const fn bits_per_symbol(self) -> u32 {
        let subcarriers = match self.width {
            Width::Mhz20 => 52,
            Width::Mhz40 => 108,
        };
        let (coded, numerator, denominator) = SCHEMES[self.mcs as usize % 8];
        subcarriers * coded * self.streams() * numerator / denominator
    }

    /// Data rate: a symbol lasts 4 µs, or 3.6 with the short guard interval.
    pub const fn rate(self) -> Bitrate {
        let bits = self.bits_per_symbol() as u64;
        Bitrate::from_bps(match self.guard {
            Guard::Long => bits * 250_000,
            Guard::Short => bits * 10_000_000 / 36,
        })
    }

    /// How long a symbol lasts.
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(match self.guard {
            Guard::Long => 4_000,
            Guard::Short => 3_600,
        })
    }

    /// Preamble of the HT-mixed format: legacy training and SIGNAL (20 µs), HT-SIGNAL (8), HT training (4 and 4 for each of 1, 2, 4, 4).
    pub const fn preamble(self) -> Duration {
        let training = match self.streams() {
            1 => 1,
            2 => 2,
            _ => 4,
        };
        Duration::from_micros(32 + 4 * training)
    }

    /// Air time of `psdu_bytes` (all frames of an aggregate with delimiters and padding, or one frame), preamble included.
    ///
    /// Whole symbols for 16 service bits, the bytes and 6 tail bits for each encoder (two above 300 Mb/s); with the short guard interval the
    /// whole is rounded up to 4 µs.
    pub const fn frame_time(self, psdu_bytes: u32, band: Band) -> Duration {
        let per_symbol = self.bits_per_symbol() as u64;
        let encoders = if per_symbol > 1_200 { 2 } else { 1 };
        let symbols = (psdu_bytes as u64 * 8 + 16 + 6 * encoders).div_ceil(per_symbol);
        let data_us = match self.guard {
            Guard::Long => 4 * symbols,
            Guard::Short => 4 * (9 * symbols).div_ceil(10),
        };
        Duration::from_micros(self.preamble().as_micros() as u64 + data_us + band.signal_extension_us())
    }

    /// The legacy rate of its acknowledgement or block acknowledgement.
    pub const fn ack_rate(self, band: Band) -> Bitrate {
        band.legacy()
            .ack_rate(Bitrate::from_kbps(LIKE_KBPS[self.mcs as usize % 8]))
    }
}

/// Bytes that a frame of `mpdu_bytes` takes inside an aggregate: delimiter, frame, padding.
pub const fn subframe_bytes(mpdu_bytes: u32) -> u32 {
    DELIMITER_BYTES + mpdu_bytes.next_multiple_of(4)
}
