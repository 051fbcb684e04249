//! 802.11n (high throughput): rates, preambles, air time of frames, and the framing of aggregates.
//!
//! # Sources
//! - IEEE 802.11-2020 §19.5 (tables of rate-dependent parameters), §19.3.6 and table 19-6 (subcarriers,
//!   symbols), §19.4.3 (TXTIME), §9.7.1 (A-MPDU subframes), §9.3.1.8 (compressed block ack), §10.6.11 and
//!   table 10-10 (the control response to an HT frame), table E-4 (40 MHz channels: classes 83, 116, 119, 122
//!   and 126, whose primary channel is the lower one).
//!
//! # Where we differ, and why
//! 1. HT-mixed format only: greenfield is deprecated, and mixed cells need the legacy preamble. All streams
//!    use the same modulation, BCC and no STBC, which is what access points of these years send.
//! 2. The primary channel of a 40 MHz channel is always its lower half.
//!
//! # Checked by
//! `units::tests`: the published rate tables, and durations computed by hand.

use super::Standard;
use crate::{Bitrate, Duration};

/// Bytes around an IP packet: QoS data header (26), LLC/SNAP (8) and FCS (4).
pub const QOS_DATA_OVERHEAD_BYTES: u32 = 38;
/// Length of a compressed block ack, FCS included.
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Length of the delimiter before each frame of an aggregate. The frame is then padded to a multiple of four
/// bytes.
pub const DELIMITER_BYTES: u32 = 4;
/// Maximum number of frames in one aggregate: the block-ack window.
pub const AGGREGATE_FRAMES: u32 = 64;
/// Maximum number of bytes in one aggregate.
pub const AGGREGATE_BYTES: u32 = 65_535;

/// Frequency band of a cell. It decides SIFS and signal extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 GHz.
    Ghz5,
}

/// Channel width.
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

/// Modulation and coding scheme with channel width and guard interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode {
    mcs: u8,
    width: Width,
    guard: Guard,
}

/// Coded bits per subcarrier, and numerator and denominator of the code rate. 802.11n uses the first 8 (IEEE
/// 802.11-2020 §19.5), 802.11ac and ax the first 12, 802.11be all.
pub const SCHEMES: [(u32, u32, u32); 14] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
    (12, 3, 4),
    (12, 5, 6),
];
/// Legacy rate with the same modulation and code (table 10-10), in kb/s. MCS 7 has no such rate and uses that
/// of MCS 6.
const LIKE_KBPS: [u64; 8] = [6_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000, 54_000];

impl Band {
    /// Legacy standard whose interframe spaces, slots and control frames an HT cell in this band uses.
    pub const fn legacy(self) -> Standard {
        match self {
            Self::Ghz2 => Standard::G,
            Self::Ghz5 => Standard::A,
        }
    }

    /// Band of a legacy standard.
    pub const fn of(standard: Standard) -> Self {
        match standard {
            Standard::B | Standard::G => Self::Ghz2,
            Standard::A => Self::Ghz5,
        }
    }

    /// Channel that is the upper half of the 40 MHz channel with `first` as its lower half. `None` if the
    /// band has no such channel.
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
    /// Mode for MCS 0 to 31 (one to four streams). `None` for any other MCS.
    pub const fn new(mcs: u8, width: Width, guard: Guard) -> Option<Self> {
        if mcs < 32 {
            Some(Self { mcs, width, guard })
        } else {
            None
        }
    }

    /// MCS index, 0 to 31.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// Channel width.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Guard interval.
    pub const fn guard(self) -> Guard {
        self.guard
    }

    /// Number of spatial streams, 1 to 4.
    pub const fn streams(self) -> u32 {
        self.mcs as u32 / 8 + 1
    }

    /// Data bits per symbol.
    pub const fn bits_per_symbol(self) -> u32 {
        let subcarriers = match self.width {
            Width::Mhz20 => 52,
            Width::Mhz40 => 108,
        };
        let (coded, numerator, denominator) = SCHEMES[self.mcs as usize % 8];
        subcarriers * coded * self.streams() * numerator / denominator
    }

    /// Data rate. A symbol lasts 4 µs, or 3.6 µs with the short guard interval.
    pub const fn rate(self) -> Bitrate {
        let bits = self.bits_per_symbol() as u64;
        Bitrate::from_bps(match self.guard {
            Guard::Long => bits * 250_000,
            Guard::Short => bits * 10_000_000 / 36,
        })
    }

    /// Duration of a symbol.
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(match self.guard {
            Guard::Long => 4_000,
            Guard::Short => 3_600,
        })
    }

    /// Duration of the HT-mixed preamble: legacy training and SIGNAL (20 µs), HT-SIGNAL (8 µs), HT-STF (4
    /// µs), and 1, 2, 4 or 4 HT-LTFs of 4 µs for 1, 2, 3 or 4 streams.
    pub const fn preamble(self) -> Duration {
        let training = match self.streams() {
            1 => 1,
            2 => 2,
            _ => 4,
        };
        Duration::from_micros(32 + 4 * training)
    }

    /// Air time of `psdu_bytes`, preamble included. The PSDU is one frame, or all frames of an aggregate with
    /// delimiters and padding.
    ///
    /// The data takes whole symbols for 16 service bits, the bytes, and 6 tail bits per encoder (two above
    /// 300 Mb/s). With the short guard interval the sum is rounded up to a multiple of 4 µs.
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

    /// Legacy rate of the ACK or block ack for a frame in this mode.
    pub const fn ack_rate(self, band: Band) -> Bitrate {
        band.legacy()
            .ack_rate(Bitrate::from_kbps(LIKE_KBPS[self.mcs as usize % 8]))
    }
}

/// Bytes that a frame of `mpdu_bytes` occupies inside an aggregate: delimiter, frame and padding.
pub const fn subframe_bytes(mpdu_bytes: u32) -> u32 {
    DELIMITER_BYTES + mpdu_bytes.next_multiple_of(4)
}
