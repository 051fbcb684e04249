//! Modes: modulation and coding of a frame, and the air time that follows.
//!
//! # Sources
//! - `units::wifi` has the standards' durations. IEEE 802.11-2020 §10.6.6.5 has the rate of control
//!   responses.
//!
//! # Checked by
//! `tests`: every rate of every standard names one mode and back.

use units::wifi::{Standard, ht};
use units::{Bitrate, Duration};

/// One of the standards' modulation and coding schemes. For 802.11n, also its channel width and guard
/// interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(u8);

/// DSSS and CCK come first, then OFDM, then 802.11n: four modes for each MCS.
const OFDM: u8 = 4;
const HT: u8 = 12;
/// OFDM modes with the modulations and codes of MCS 0 to 6. MCS 7 has a curve of its own.
const LIKE: [usize; 8] = [4, 6, 7, 8, 9, 10, 11, 12];
const LEGACY_KBPS: [u32; HT as usize] = [
    1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000,
];

impl Mode {
    /// All modes before 802.11n.
    pub fn legacy() -> impl Iterator<Item = Self> {
        (0..HT).map(Self)
    }

    /// A mode of 802.11n.
    pub const fn of_ht(mode: ht::Mode) -> Self {
        let wide = matches!(mode.width(), ht::Width::Mhz40) as u8;
        let short = matches!(mode.guard(), ht::Guard::Short) as u8;
        Self(HT + mode.mcs() * 4 + wide * 2 + short)
    }

    /// The 802.11n mode, if it is one.
    pub const fn as_ht(self) -> Option<ht::Mode> {
        if self.0 < HT {
            return None;
        }
        let place = self.0 - HT;
        let width = [ht::Width::Mhz20, ht::Width::Mhz40][(place / 2 % 2) as usize];
        let guard = [ht::Guard::Long, ht::Guard::Short][(place % 2) as usize];
        ht::Mode::new(place / 4, width, guard)
    }

    /// The mode of `standard` with this rate, if the standard has it.
    pub fn of(standard: Standard, rate: Bitrate) -> Option<Self> {
        let first = match standard {
            Standard::B => 0,
            Standard::A | Standard::G => OFDM,
        };
        let place = standard
            .rates_kbps()
            .iter()
            .position(|&kbps| Bitrate::from_kbps(kbps.into()) == rate)?;
        Some(Self(first + place as u8))
    }

    /// The slowest mode: of broadcast frames and of the PHY header.
    pub(in crate::air) const fn basic(standard: Standard) -> Self {
        match standard {
            Standard::B => Self(0),
            Standard::A | Standard::G => Self(OFDM),
        }
    }

    /// Data rate of the mode.
    pub const fn rate(self) -> Bitrate {
        match self.as_ht() {
            Some(mode) => mode.rate(),
            None => Bitrate::from_kbps(LEGACY_KBPS[self.0 as usize] as u64),
        }
    }

    /// Index of its bit error curve, below [`Self::CURVES`]: those of the modes before 802.11n, and one more.
    pub(in crate::air) const fn curve(self) -> usize {
        if self.0 < HT {
            self.0 as usize
        } else {
            LIKE[((self.0 - HT) / 4 % 8) as usize]
        }
    }

    /// How many curves there are.
    pub(super) const CURVES: usize = HT as usize + 1;

    /// Spatial streams, among which a sender divides its power.
    pub(in crate::air) const fn streams(self) -> u32 {
        if self.0 < HT {
            1
        } else {
            ((self.0 - HT) / 32 + 1) as u32
        }
    }

    /// The noise in its channel, as a multiple of that in 20 MHz.
    pub(in crate::air) const fn noise(self) -> f64 {
        if self.0 >= HT && (self.0 - HT) / 2 % 2 == 1 {
            2.0
        } else {
            1.0
        }
    }

    /// The standard whose PHY it belongs to.
    pub(in crate::air) const fn phy(self) -> Standard {
        if self.0 < OFDM { Standard::B } else { Standard::A }
    }

    /// The mode of the acknowledgement of a frame in this mode.
    pub(in crate::air) fn response(self) -> Self {
        let standard = self.phy();
        let rate = match self.as_ht() {
            Some(mode) => mode.ack_rate(band(standard)),
            None => standard.ack_rate(self.rate()),
        };
        Self::of(standard, rate).unwrap_or(Self::basic(standard))
    }

    /// Duration of preamble and header, which are sent at the slowest rate.
    pub(in crate::air) const fn preamble(self) -> Duration {
        match self.as_ht() {
            Some(mode) => mode.preamble(),
            None => self.phy().preamble(),
        }
    }

    /// Air time of a frame of `bytes` (headers and checksum included) or of an aggregate from a station of
    /// `standard`, preamble included.
    pub fn time(self, standard: Standard, bytes: u32) -> Duration {
        if let Some(mode) = self.as_ht() {
            return mode.frame_time(bytes, band(standard));
        }
        let phy = match (self.phy(), standard) {
            (Standard::B, _) => Standard::B,
            (_, Standard::G) => Standard::G,
            _ => Standard::A,
        };
        phy.frame_time(bytes, self.rate())
    }
}

const fn band(standard: Standard) -> ht::Band {
    match standard {
        Standard::A => ht::Band::Ghz5,
        Standard::B | Standard::G => ht::Band::Ghz2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_802_11n_has_a_place_of_its_own() {
        let mut places = std::collections::BTreeSet::new();
        for mcs in 0..32 {
            for width in [ht::Width::Mhz20, ht::Width::Mhz40] {
                for guard in [ht::Guard::Long, ht::Guard::Short] {
                    let ht = ht::Mode::new(mcs, width, guard).unwrap();
                    let mode = Mode::of_ht(ht);
                    assert!(places.insert(mode.0));
                    assert_eq!((mode.as_ht(), mode.rate()), (Some(ht), ht.rate()));
                    assert_eq!(mode.streams(), ht.streams());
                    assert_eq!(mode.noise() == 2.0, width == ht::Width::Mhz40);
                    assert!(mode.curve() < Mode::CURVES);
                    assert_eq!(mode.response().rate(), ht.ack_rate(ht::Band::Ghz5));
                }
            }
        }
    }

    #[test]
    fn every_rate_names_a_mode_and_back() {
        for standard in [Standard::A, Standard::B, Standard::G] {
            for &kbps in standard.rates_kbps() {
                let rate = Bitrate::from_kbps(kbps.into());
                let mode = Mode::of(standard, rate).unwrap();
                assert_eq!(mode.rate(), rate);
                assert_eq!(mode.response().rate(), standard.ack_rate(rate));
                assert_eq!(mode.time(standard, 100), standard.frame_time(100, rate));
            }
        }
        assert_eq!(Mode::of(Standard::B, Bitrate::from_mbps(54)), None);
    }
}
