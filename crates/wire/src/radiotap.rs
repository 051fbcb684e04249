//! The radiotap header: reception metadata that a radio reports with a frame.
//!
//! # Sources
//! - radiotap.org: the header (version 0, fields in bit order, each aligned to its size from the start of the
//!   header), the fields TSFT, flags, rate, channel, antenna signal, antenna, MCS and A-MPDU status, and the
//!   extra presence word per antenna.
//! - Linux 6.18 `net/mac80211/rx.c`, `ieee80211_add_rx_radiotap_header`: a per-antenna presence word has the
//!   signal and antenna bits.
//!
//! # Where we differ, and why
//! 1. Fields after a vendor namespace are not parsed, because only the vendor knows their sizes.
//! 2. If there are several antennas, the signal is the combined one from the first part of the header. The
//!    per-antenna words are only counted.
//!
//! # Checked by
//! `tests`, `sim`'s captures, which tshark reads, and the fuzz target `dot11`.

use alloc::vec::Vec;
use units::Dbm;

/// Reception metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Radiotap {
    /// Arrival of the first bit, in µs of the radio's clock.
    pub tsft_us: Option<u64>,
    /// The frame ends with its FCS.
    pub has_fcs: bool,
    /// The FCS was wrong.
    pub broken: bool,
    /// Modulation.
    pub rate: Option<Rate>,
    /// Centre frequency of the channel, in MHz.
    pub frequency_mhz: Option<u16>,
    /// Signal strength, in whole dBm.
    pub signal: Option<Dbm>,
    /// Number of per-antenna presence words. When written, every antenna reports the same signal.
    pub antennas: u8,
    /// Reference number of the A-MPDU that contained the frame.
    pub aggregate: Option<u32>,
}

/// Modulation of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// 802.11a, b or g: rate in units of 500 kb/s.
    Legacy(u8),
    /// 802.11n.
    Ht {
        /// MCS index, 0..77.
        mcs: u8,
        /// 40 MHz channel.
        wide: bool,
        /// Short guard interval.
        short_guard: bool,
    },
}

const TSFT: u32 = 0;
const FLAGS: u32 = 1;
const RATE: u32 = 2;
const CHANNEL: u32 = 3;
const SIGNAL: u32 = 5;
const ANTENNA: u32 = 11;
const MCS: u32 = 19;
const AGGREGATE: u32 = 20;
/// The next presence word continues in the same namespace.
const SAME_KIND: u32 = 29;
/// Another presence word follows.
const MORE: u32 = 31;
/// Fields of a per-antenna presence word.
const OF_ANTENNA: u32 = 1 << SIGNAL | 1 << ANTENNA;

/// Size and alignment of each field, by bit. The fields of VHT and later standards follow these and are not
/// parsed.
const FIELDS: [(u8, u8); 23] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (8, 4),
    (3, 1),
    (8, 4),
    (12, 2),
    (12, 8),
];

const HAS_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
/// Known parts of the MCS field: bandwidth, index, guard interval.
const MCS_KNOWN: u8 = 0x07;
const WIDE: u8 = 0x01;
const SHORT_GUARD: u8 = 0x04;
/// Channel flags: OFDM or CCK, and the band.
const OFDM: u16 = 0x0040;
const CCK: u16 = 0x0020;
const AT_2_GHZ: u16 = 0x0080;
const AT_5_GHZ: u16 = 0x0100;
/// 802.11b rates, in units of 500 kb/s.
const CCK_RATES: [u8; 4] = [2, 4, 11, 22];

impl Radiotap {
    /// Parses the header at the start of `bytes`. Returns it with the frame behind it.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let length = usize::from(u16::from_le_bytes(array(bytes, 2)?));
        if *bytes.first()? != 0 || length < 8 {
            return None;
        }
        let (header, frame) = (bytes.get(..length)?, &bytes[length..]);
        let first = u32::from_le_bytes(array(header, 4)?);
        let (mut at, mut word) = (8, first);
        let mut found = Self::default();
        while word >> MORE == 1 {
            word = u32::from_le_bytes(array(header, at)?);
            at += 4;
            found.antennas = found
                .antennas
                .saturating_add(u8::from(word & OF_ANTENNA == OF_ANTENNA));
        }
        for (bit, (size, align)) in FIELDS.into_iter().enumerate() {
            if first >> bit & 1 == 1 {
                at = at.next_multiple_of(usize::from(align));
                found.take(bit as u32, header.get(at..at + usize::from(size))?);
                at += usize::from(size);
            }
        }
        Some((found, frame))
    }

    fn take(&mut self, bit: u32, field: &[u8]) {
        match bit {
            TSFT => self.tsft_us = array(field, 0).map(u64::from_le_bytes),
            FLAGS => {
                self.has_fcs = field[0] & HAS_FCS != 0;
                self.broken = field[0] & BAD_FCS != 0;
            }
            RATE => self.rate = Some(Rate::Legacy(field[0])),
            CHANNEL => self.frequency_mhz = array(field, 0).map(u16::from_le_bytes),
            SIGNAL => self.signal = Some(Dbm::from_dbm(i32::from(field[0] as i8))),
            MCS if field[0] & MCS_KNOWN == MCS_KNOWN => {
                self.rate = Some(Rate::Ht {
                    mcs: field[2],
                    wide: field[1] & 0x03 == WIDE,
                    short_guard: field[1] & SHORT_GUARD != 0,
                });
            }
            AGGREGATE => self.aggregate = array(field, 0).map(u32::from_le_bytes),
            _ => {}
        }
    }

    /// Appends the header.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let words = 1 + usize::from(self.antennas);
        out.resize(start + 4 + 4 * words, 0);
        let mut writer = Writer {
            out,
            start,
            present: 0,
        };
        if let Some(tsft) = self.tsft_us {
            writer.field(TSFT, &tsft.to_le_bytes());
        }
        let fcs = if self.has_fcs { HAS_FCS } else { 0 };
        let broken = if self.broken { BAD_FCS } else { 0 };
        writer.field(FLAGS, &[fcs | broken]);
        if let Some(Rate::Legacy(rate)) = self.rate {
            writer.field(RATE, &[rate]);
        }
        if let Some(frequency) = self.frequency_mhz {
            let [a, b] = frequency.to_le_bytes();
            let [c, d] = self.channel_flags(frequency).to_le_bytes();
            writer.field(CHANNEL, &[a, b, c, d]);
        }
        let signal = self.signal.map(whole_db);
        if let Some(signal) = signal {
            writer.field(SIGNAL, &[signal]);
        }
        if let Some(Rate::Ht {
            mcs,
            wide,
            short_guard,
        }) = self.rate
        {
            let wide = if wide { WIDE } else { 0 };
            let guard = if short_guard { SHORT_GUARD } else { 0 };
            writer.field(MCS, &[MCS_KNOWN, wide | guard, mcs]);
        }
        if let Some(aggregate) = self.aggregate {
            let [a, b, c, d] = aggregate.to_le_bytes();
            writer.field(AGGREGATE, &[a, b, c, d, 0, 0, 0, 0]);
        }
        for antenna in 0..self.antennas {
            writer
                .out
                .extend_from_slice(&[signal.unwrap_or_default(), antenna]);
        }
        writer.finish(usize::from(self.antennas));
    }

    const fn channel_flags(&self, frequency: u16) -> u16 {
        let band = if frequency > 3_000 { AT_5_GHZ } else { AT_2_GHZ };
        let [a, b, c, d] = CCK_RATES;
        match self.rate {
            Some(Rate::Legacy(rate)) if rate == a || rate == b || rate == c || rate == d => band | CCK,
            _ => band | OFDM,
        }
    }
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    present: u32,
}

impl Writer<'_> {
    fn field(&mut self, bit: u32, bytes: &[u8]) {
        let align = usize::from(FIELDS[bit as usize].1);
        let at = (self.out.len() - self.start).next_multiple_of(align);
        self.out.resize(self.start + at, 0);
        self.out.extend_from_slice(bytes);
        self.present |= 1 << bit;
    }

    fn finish(self, antennas: usize) {
        let length = (self.out.len() - self.start) as u16;
        self.out[self.start + 2..self.start + 4].copy_from_slice(&length.to_le_bytes());
        for place in 0..=antennas {
            let bits = if place == 0 { self.present } else { OF_ANTENNA };
            let more = if place < antennas {
                1 << MORE | 1 << SAME_KIND
            } else {
                0
            };
            let at = self.start + 4 + 4 * place;
            self.out[at..at + 4].copy_from_slice(&(bits | more).to_le_bytes());
        }
    }
}

/// Rounds to the nearest dBm, the resolution of radiotap.
fn whole_db(signal: Dbm) -> u8 {
    let whole = (f64::from(signal.as_mbm()) / 100.0).clamp(-128.0, 127.0);
    (whole + if whole < 0.0 { -0.5 } else { 0.5 }) as i8 as u8
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_has_the_documented_bytes() {
        // Presence 0x2e: flags, rate, channel (aligned to 2) and signal.
        let bytes = [
            0, 0, 15, 0, 0x2e, 0, 0, 0, 0x10, 108, 0x3c, 0x14, 0x40, 0x01, 0xc4, 0xaa,
        ];
        let (radiotap, frame) = Radiotap::parse(&bytes).unwrap();
        let expected = Radiotap {
            has_fcs: true,
            rate: Some(Rate::Legacy(108)),
            frequency_mhz: Some(5_180),
            signal: Some(Dbm::from_dbm(-60)),
            ..Radiotap::default()
        };
        assert_eq!((radiotap, frame), (expected, &bytes[15..]));
        let mut written = Vec::new();
        expected.write(&mut written);
        assert_eq!(written, bytes[..15]);
    }

    #[test]
    fn further_presence_words_are_skipped() {
        // Flags and signal, then the signal of a second antenna in a second presence word.
        let bytes = [0, 0, 15, 0, 0x22, 0, 0, 0x80, 0x20, 0, 0, 0, 0, 0xc4, 0xc0, 0x99];
        let (radiotap, frame) = Radiotap::parse(&bytes).unwrap();
        assert_eq!(radiotap.signal, Some(Dbm::from_dbm(-60)));
        assert_eq!(frame, [0x99]);
    }

    #[test]
    fn two_antennas_as_mac80211_writes_them() {
        let radiotap = Radiotap {
            signal: Some(Dbm::from_dbm(-60)),
            antennas: 2,
            ..Radiotap::default()
        };
        let mut written = Vec::new();
        radiotap.write(&mut written);
        // Flags and combined signal, then one presence word per antenna. The antenna fields follow all
        // presence words.
        let expected = [
            0, 0, 22, 0, 0x22, 0, 0, 0xa0, 0x20, 0x08, 0, 0xa0, 0x20, 0x08, 0, 0, 0, 0xc4, 0xc4, 0, 0xc4, 1,
        ];
        assert_eq!(written, expected);
        assert_eq!(Radiotap::parse(&written), Some((radiotap, &[][..])));
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        prop_oneof![
            any::<u8>().prop_map(Rate::Legacy),
            (0_u8..77, any::<bool>(), any::<bool>()).prop_map(|(mcs, wide, short_guard)| Rate::Ht {
                mcs,
                wide,
                short_guard
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_written_header_parses_to_itself(
            tsft_us: Option<u64>, [has_fcs, broken]: [bool; 2], rate in prop::option::of(any_rate()),
            frequency_mhz in prop::option::of(2_000_u16..6_000), dbm in prop::option::of(-128_i32..=127),
            antennas in 0_u8..9, aggregate: Option<u32>, frame in prop::collection::vec(any::<u8>(), 0..20), before in 0_usize..9,
        ) {
            let radiotap = Radiotap {
                tsft_us, has_fcs, broken, rate, frequency_mhz, signal: dbm.map(Dbm::from_dbm),
                antennas, aggregate,
            };
            let mut bytes = alloc::vec![0xff; before];
            radiotap.write(&mut bytes);
            bytes.extend(&frame);
            prop_assert_eq!(Radiotap::parse(&bytes[before..]), Some((radiotap, &frame[..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Radiotap::parse(&bytes);
        }
    }
}
