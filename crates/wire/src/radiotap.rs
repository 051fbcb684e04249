//! The radiotap header: reception metadata that a radio reports with a frame.
//!
//! # Sources
//! - radiotap.org: the header (version 0, fields in bit order, each aligned to its size from the start of the
//!   header), its namespaces and TLV fields, and the fields TSFT, flags, rate, channel, antenna signal,
//!   antenna, RX and TX flags, MCS, A-MPDU status, VHT, HE, 0-length PSDU, EHT and U-SIG.
//! - Linux 6.18 `net/mac80211/rx.c`, `ieee80211_add_rx_radiotap_header`: a per-antenna presence word has the
//!   signal and antenna bits.
//!
//! # Where we differ, and why
//! 1. The fields of a vendor namespace are skipped.
//! 2. If there are several antennas, the signal is the combined one from the first part of the header. If
//!    there is none, it is that of the antenna that hears best.
//! 3. A signal of 0 dBm or more is no measurement, and counts as unknown.
//! 4. A driver's word on the FCS is accepted: some set the flag and leave out the FCS, so a wrong sum proves
//!    nothing.
//! 5. A header that is shorter than its own fields is refused, because nothing in it can be trusted.
//! 6. Rates of 802.11ac and later are parsed and not written: no model of this house sends them.
//!
//! # Checked by
//! `tests`, `tests/radiotap_frames.rs` (what drivers do), `sim`'s captures, which tshark reads, and the fuzz
//! target `dot11`.

mod modern;
mod rate;

pub use rate::{Rate, Unit};

use alloc::vec::Vec;
use units::Dbm;

/// Reception metadata of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Radiotap {
    /// Arrival of the first bit, in µs of the radio's clock.
    pub tsft_us: Option<u64>,
    /// The frame ends with its FCS.
    pub has_fcs: bool,
    /// The frame's bytes are not what was sent: its FCS or its PLCP header was wrong, or it has none.
    pub broken: bool,
    /// The frame's header is padded to a multiple of four bytes.
    pub padded: bool,
    /// The radio has sent the frame itself.
    pub own: bool,
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

const TSFT: u32 = 0;
const FLAGS: u32 = 1;
const RATE: u32 = 2;
const CHANNEL: u32 = 3;
const SIGNAL: u32 = 5;
const ANTENNA: u32 = 11;
const RX_FLAGS: u32 = 14;
const TX_FLAGS: u32 = 15;
const MCS: u32 = 19;
const AGGREGATE: u32 = 20;
const VHT: u32 = 21;
const HE: u32 = 23;
const NO_PSDU: u32 = 26;
/// The rest of the header is a list of type, length and value.
const LIST: u32 = 28;
/// The next presence word begins anew with the fields of radiotap.
const SAME_KIND: u32 = 29;
/// The next presence word has fields of a vendor.
const VENDOR: u32 = 30;
/// Another presence word follows.
const MORE: u32 = 31;
/// Fields of a per-antenna presence word.
const OF_ANTENNA: u32 = 1 << SIGNAL | 1 << ANTENNA;

/// Size and alignment of each field, by bit.
const FIELDS: [(u8, u8); 28] = [
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
    (12, 2),
    (12, 2),
    (6, 2),
    (1, 1),
    (4, 2),
];

const HAS_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const PADDED: u8 = 0x20;
const BAD_PLCP: u8 = 0x02;
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
        let words = 1 + header[4..]
            .chunks_exact(4)
            .take_while(|word| word[3] >> 7 == 1)
            .count();
        let mut reader = Reader {
            header,
            at: 4 + 4 * words,
        };
        let (mut found, mut space, mut best) = (Self::default(), Space::Radiotap, None);
        for place in 0..words {
            let word = u32::from_le_bytes(array(header, 4 + 4 * place)?);
            let is_set = |bit: u32| word >> bit & 1 == 1;
            if space == Space::Unknown && word & !(1 << MORE | 1 << SAME_KIND | 1 << VENDOR) != 0 {
                break;
            }
            if space == Space::Radiotap {
                reader.fields(word, |bit, field| found.take(&mut best, place == 0, (bit, field)))?;
                if place > 0 && word & OF_ANTENNA == OF_ANTENNA {
                    found.antennas = found.antennas.saturating_add(1);
                }
            }
            if is_set(LIST) && space == Space::Radiotap {
                let list = header.get(reader.at.next_multiple_of(4)..).unwrap_or_default();
                found.rate = modern::in_list(list).or(found.rate);
                break;
            }
            if is_set(VENDOR) && is_set(MORE) {
                reader.skip_vendor()?;
            }
            space = match (is_set(VENDOR), is_set(SAME_KIND)) {
                (true, _) => Space::Vendor,
                (false, true) => Space::Radiotap,
                (false, false) if space == Space::Vendor => Space::Vendor,
                (false, false) => Space::Unknown,
            };
        }
        found.signal = found.signal.or(best);
        Some((found, frame))
    }

    /// Takes in a field. Later presence words repeat the signal for each antenna.
    fn take(&mut self, best: &mut Option<Dbm>, first: bool, (bit, field): (u32, &[u8])) {
        match bit {
            SIGNAL => {
                let signal = ((field[0] as i8) < 0).then(|| Dbm::from_dbm(i32::from(field[0] as i8)));
                if first {
                    self.signal = signal;
                } else {
                    *best = (*best).max(signal);
                }
            }
            _ if first => self.take_first(bit, field),
            _ => {}
        }
    }

    fn take_first(&mut self, bit: u32, field: &[u8]) {
        match bit {
            TSFT => self.tsft_us = array(field, 0).map(u64::from_le_bytes),
            FLAGS => {
                self.has_fcs = field[0] & HAS_FCS != 0;
                self.broken |= field[0] & BAD_FCS != 0;
                self.padded = field[0] & PADDED != 0;
            }
            RATE => self.rate = Some(Rate::Legacy(field[0])),
            CHANNEL => self.frequency_mhz = array(field, 0).map(u16::from_le_bytes),
            RX_FLAGS => self.broken |= field[0] & BAD_PLCP != 0,
            TX_FLAGS => self.own = true,
            MCS => self.rate = modern::ht(field).or(self.rate),
            AGGREGATE => self.aggregate = array(field, 0).map(u32::from_le_bytes),
            VHT => self.rate = modern::vht(field).or(self.rate),
            HE => self.rate = modern::he(field).or(self.rate),
            NO_PSDU => self.broken = true,
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
        let padded = if self.padded { PADDED } else { 0 };
        writer.field(FLAGS, &[fcs | broken | padded]);
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
        if self.own {
            writer.field(TX_FLAGS, &[0, 0]);
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

/// Whose fields a presence word has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    /// Radiotap's, from bit 0.
    Radiotap,
    /// A vendor's. They have been skipped.
    Vendor,
    /// Radiotap's from bit 32, which are not defined: their sizes are unknown.
    Unknown,
}

/// Reads the fields behind the presence words.
struct Reader<'h> {
    header: &'h [u8],
    at: usize,
}

impl<'h> Reader<'h> {
    /// Passes each field of this presence word to `take`. `None` if the header ends before.
    fn fields(&mut self, word: u32, mut take: impl FnMut(u32, &'h [u8])) -> Option<()> {
        for (bit, (size, align)) in (0..).zip(FIELDS) {
            if word >> bit & 1 == 1 {
                take(bit, self.next(usize::from(size), usize::from(align))?);
            }
        }
        Some(())
    }

    /// Skips the fields of a vendor: its identifier, their length, and the fields.
    fn skip_vendor(&mut self) -> Option<()> {
        let about = self.next(6, 2)?;
        let length = u16::from_le_bytes(array(about, 4)?);
        self.next(usize::from(length), 1).map(|_| ())
    }

    fn next(&mut self, size: usize, align: usize) -> Option<&'h [u8]> {
        let at = self.at.next_multiple_of(align);
        self.at = at + size;
        self.header.get(at..self.at)
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

    /// A header with these presence words and fields, which begin behind the words.
    fn header(words: &[u32], fields: &[u8]) -> Vec<u8> {
        let mut bytes = alloc::vec![0; 4];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(fields);
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn parsed(words: &[u32], fields: &[u8]) -> Radiotap {
        Radiotap::parse(&header(words, fields)).unwrap().0
    }

    fn kbps(radiotap: &Radiotap) -> Option<u64> {
        Some(radiotap.rate?.bitrate()?.as_bps() / 1_000)
    }

    #[test]
    fn without_a_combined_signal_the_best_antenna_counts() {
        // Flags, then signal and number of two antennas.
        let antennas = [0, 0xb0, 0, 0xc4, 1];
        let words = [0xa000_0002, 0xa000_0820, 0x0000_0820];
        let best = parsed(&words, &antennas);
        assert_eq!((best.signal, best.antennas), (Some(Dbm::from_dbm(-60)), 2));
        let combined = parsed(&[0xa000_0020, 0x0000_0820], &[0xba, 0xc4, 0]);
        assert_eq!(combined.signal, Some(Dbm::from_dbm(-70)));
    }

    #[test]
    fn fields_behind_a_vendor_are_found() {
        // Flags; a vendor with four bytes of its own, whose word has the bits of an antenna; then an antenna.
        let fields = [0, 0, 0x11, 0x22, 0x33, 0, 4, 0, 0x7a, 0x7a, 0x7a, 0x7a, 0xc4, 1];
        let found = parsed(&[0xc000_0002, 0xa000_0820, 0x0000_0820], &fields);
        assert_eq!((found.signal, found.antennas), (Some(Dbm::from_dbm(-60)), 1));
        // The vendor's length is longer than the header.
        let mut lying = header(&[0xc000_0002, 0x0000_0820], &fields);
        lying[18] = 200;
        assert_eq!(Radiotap::parse(&lying), None);
    }

    #[test]
    fn modulations_of_802_11ax_and_be_have_their_rates() {
        // HE: MCS 11 in 80 MHz, 2 streams, guard interval 0.8 µs; then the MCS is unknown.
        let he = |known: u8| [known, 0x40, 0x02, 0, 0, 0x0b, 0, 0, 0x02, 0, 2, 0];
        assert_eq!(kbps(&parsed(&[1 << HE], &he(0x20))), Some(1_200_980));
        assert_eq!(parsed(&[1 << HE], &he(0)).rate, None);
        // U-SIG: 160 MHz. EHT: MCS 13, 2 streams, guard interval 0.8 µs.
        let mut list = alloc::vec![33, 0, 12, 0, 0x02, 0x80, 0x01, 0];
        list.extend([0; 8]);
        list.extend([34, 0, 44, 0, 0x04, 0, 0, 0]);
        list.extend([0; 36]);
        list.extend([0x12, 0, 0xd0, 0x02]);
        assert_eq!(kbps(&parsed(&[1 << LIST], &list)), Some(2_882_352));
        // Cut off in the middle of a value.
        assert_eq!(parsed(&[1 << LIST], &list[..40]).rate, None);
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
            frequency_mhz in prop::option::of(2_000_u16..6_000), dbm in prop::option::of(-128_i32..0),
            antennas in 0_u8..9, aggregate: Option<u32>, [padded, own]: [bool; 2], frame in prop::collection::vec(any::<u8>(), 0..20), before in 0_usize..9,
        ) {
            let radiotap = Radiotap {
                tsft_us, has_fcs, broken, padded, own, rate, frequency_mhz, signal: dbm.map(Dbm::from_dbm),
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
