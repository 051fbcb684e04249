//! The modulation of a frame, and the bit rate that follows from it.
//!
//! # Sources
//! - IEEE 802.11-2020 §17.2.3.3, §16.2.3.5 (rates of 802.11a, b, g), §19.5 (HT), §21.5 (VHT: data
//!   subcarriers, bits and coding rate of each MCS); IEEE 802.11ax-2021 §27.5 (HE), IEEE 802.11be-2024 §36.5
//!   (EHT).
//!
//! # Where we differ, and why
//! 1. A legacy rate that no standard defines counts as unknown: old drivers write an HT index there.
//! 2. MCS 14 of EHT (a duplicate in 6 GHz) and unequal modulation of HT count as unknown.
//!
//! # Checked by
//! `tests` below, with rates of the standards' tables.

use units::Bitrate;
use units::wifi::ht::{self, SCHEMES};

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
    /// 802.11ac.
    Vht {
        /// MCS index, 0..12.
        mcs: u8,
        /// Spatial streams, 1..9.
        streams: u8,
        /// Bandwidth: 20, 40, 80 or 160 MHz.
        mhz: u16,
        /// Short guard interval.
        short_guard: bool,
    },
    /// 802.11ax.
    He(Unit),
    /// 802.11be.
    Eht(Unit),
}

/// Modulation of one resource unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// MCS index, 0..16.
    pub mcs: u8,
    /// Spatial streams, 1..16.
    pub streams: u8,
    /// Size of the resource unit in subcarriers, 26 to 3,984. The whole of 20 MHz is 242.
    pub tones: u16,
    /// Guard interval: 800, 1,600 or 3,200 ns.
    pub guard_ns: u16,
    /// Each bit is sent twice, on two subcarriers.
    pub dual_carrier: bool,
}

/// Rates of 802.11a, b and g, in units of 500 kb/s.
const LEGACY: [u8; 12] = [2, 4, 11, 22, 12, 18, 24, 36, 48, 72, 96, 108];
/// Highest MCS of VHT, with the two that vendors added.
const HIGHEST_VHT: u8 = 11;
/// Highest MCS of HE.
const HIGHEST_HE: u8 = 11;
/// EHT: the MCS that is MCS 0 on two subcarriers.
const EHT_DUAL_CARRIER: u8 = 15;
/// HT: the MCS that repeats 20 MHz in 40 MHz, for one bit in two.
const HT_DUPLICATE: u8 = 32;
/// Duration of a symbol without its guard interval, in ns.
const VHT_SYMBOL_NS: u64 = 3_200;
const HE_SYMBOL_NS: u64 = 12_800;

impl Rate {
    /// The bit rate. `None` if the standards have no such modulation.
    pub fn bitrate(self) -> Option<Bitrate> {
        match self {
            Self::Legacy(units) => LEGACY
                .contains(&units)
                .then(|| Bitrate::from_kbps(u64::from(units) * 500)),
            Self::Ht {
                mcs,
                wide,
                short_guard,
            } => ht_rate(mcs, wide, short_guard),
            Self::Vht {
                mcs,
                streams,
                mhz,
                short_guard,
            } => {
                let coded = SCHEMES[..=usize::from(HIGHEST_VHT)].get(usize::from(mcs))?;
                let guard_ns = if short_guard { 400 } else { 800 };
                let tones = match mhz {
                    20 => 52,
                    40 => 108,
                    80 => 234,
                    160 => 468,
                    _ => return None,
                };
                rate(tones, *coded, streams, VHT_SYMBOL_NS + guard_ns)
            }
            Self::He(unit) => unit.bitrate(*SCHEMES[..=usize::from(HIGHEST_HE)].get(usize::from(unit.mcs))?),
            Self::Eht(unit) if unit.mcs == EHT_DUAL_CARRIER => {
                let halved = Unit {
                    dual_carrier: true,
                    ..unit
                };
                halved.bitrate(SCHEMES[0])
            }
            Self::Eht(unit) => unit.bitrate(*SCHEMES.get(usize::from(unit.mcs))?),
        }
    }
}

impl Unit {
    fn bitrate(self, (bits, of, parts): (u32, u32, u32)) -> Option<Bitrate> {
        let data = match self.tones {
            26 => 24,
            52 => 48,
            106 => 102,
            242 => 234,
            484 => 468,
            996 => 980,
            1_992 => 1_960,
            3_984 => 3_920,
            _ => return None,
        };
        let times = if self.dual_carrier { 2 } else { 1 };
        let symbol = HE_SYMBOL_NS + u64::from(self.guard_ns);
        rate(data, (bits, of, parts * times), self.streams, symbol)
    }
}

fn ht_rate(mcs: u8, wide: bool, short_guard: bool) -> Option<Bitrate> {
    let width = if wide { ht::Width::Mhz40 } else { ht::Width::Mhz20 };
    let guard = if short_guard {
        ht::Guard::Short
    } else {
        ht::Guard::Long
    };
    if mcs == HT_DUPLICATE && wide {
        return Some(Bitrate::from_kbps(if short_guard { 6_667 } else { 6_000 }));
    }
    ht::Mode::new(mcs, width, guard).map(ht::Mode::rate)
}

/// Rate of `streams` streams with this many data subcarriers.
fn rate(tones: u64, (bits, of, parts): (u32, u32, u32), streams: u8, symbol_ns: u64) -> Option<Bitrate> {
    const MOST_STREAMS: u8 = 16;
    if !(1..=MOST_STREAMS).contains(&streams) {
        return None;
    }
    let bits_a_symbol_times_parts = tones * u64::from(bits * of) * u64::from(streams);
    Some(Bitrate::from_kbps(
        bits_a_symbol_times_parts * 1_000_000 / (u64::from(parts) * symbol_ns),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kbps(rate: Rate) -> Option<u64> {
        rate.bitrate().map(|rate| rate.as_bps() / 1_000)
    }

    const fn unit(mcs: u8, streams: u8, tones: u16, guard_ns: u16) -> Unit {
        Unit {
            mcs,
            streams,
            tones,
            guard_ns,
            dual_carrier: false,
        }
    }

    const fn vht(mcs: u8, streams: u8, mhz: u16, short_guard: bool) -> Rate {
        Rate::Vht {
            mcs,
            streams,
            mhz,
            short_guard,
        }
    }

    #[test]
    fn rates_are_those_of_the_standards() {
        let dual = Unit {
            dual_carrier: true,
            ..unit(0, 1, 242, 800)
        };
        for (rate, expected) in [
            (Rate::Legacy(108), 54_000),
            (Rate::Legacy(11), 5_500),
            (vht(0, 1, 20, false), 6_500),
            (vht(9, 1, 80, true), 433_333),
            (vht(9, 4, 160, true), 3_466_666),
            (Rate::He(unit(11, 1, 996, 800)), 600_490),
            (Rate::He(unit(11, 2, 1_992, 800)), 2_401_960),
            (Rate::He(unit(0, 1, 26, 3_200)), 750),
            (Rate::He(dual), 4_301),
            (Rate::Eht(unit(13, 2, 3_984, 800)), 5_764_705),
            (Rate::Eht(unit(15, 1, 242, 800)), 4_301),
        ] {
            assert_eq!(kbps(rate), Some(expected), "{rate:?}");
        }
    }

    #[test]
    fn modulations_that_do_not_exist_have_no_rate() {
        let ht = |mcs, wide| Rate::Ht {
            mcs,
            wide,
            short_guard: false,
        };
        assert_eq!(kbps(ht(32, true)), Some(6_000));
        for rate in [
            Rate::Legacy(0),
            Rate::Legacy(255),
            Rate::Legacy(0x87),
            ht(32, false),
            ht(255, true),
            vht(12, 1, 80, false),
            vht(3, 0, 80, false),
            vht(3, 1, 30, false),
            Rate::He(unit(12, 1, 242, 800)),
            Rate::He(unit(3, 1, 243, 800)),
            Rate::Eht(unit(14, 1, 242, 800)),
        ] {
            assert_eq!(kbps(rate), None, "{rate:?}");
        }
    }
}
