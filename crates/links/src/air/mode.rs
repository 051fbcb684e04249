//! Modes: the ways in which a frame can be modulated and coded, and how long it then lasts.
//!
//! # Sources
//! - `units::wifi` has the standard's durations; IEEE 802.11-2020 §10.6.6.5 the rate of control responses.
//!
//! # Checked by
//! `tests`: every rate of every standard names one mode and back.

use units::wifi::Standard;
use units::{Bitrate, Duration};

/// One of the standards' modulation and coding schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(u8);

/// DSSS and CCK come first, then OFDM.
const OFDM: u8 = 4;
const LEGACY_KBPS: [u32; Mode::COUNT] = [
    1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000,
];

impl Mode {
    /// How many there are.
    pub const COUNT: usize = 12;

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
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

    /// The mode of frames to everybody and of the PHY's header: the slowest.
    pub(super) const fn basic(standard: Standard) -> Self {
        match standard {
            Standard::B => Self(0),
            Standard::A | Standard::G => Self(OFDM),
        }
    }

    /// Its data rate.
    pub const fn rate(self) -> Bitrate {
        Bitrate::from_kbps(LEGACY_KBPS[self.0 as usize] as u64)
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The standard whose PHY it belongs to.
    pub(super) const fn phy(self) -> Standard {
        if self.0 < OFDM { Standard::B } else { Standard::A }
    }

    /// The mode of the acknowledgement of a frame in this mode.
    pub(super) fn response(self) -> Self {
        let standard = self.phy();
        Self::of(standard, standard.ack_rate(self.rate())).unwrap_or(Self::basic(standard))
    }

    /// Air time of a frame of `bytes` (header and check sum included) from a station of `standard`, preamble included.
    pub fn time(self, standard: Standard, bytes: u32) -> Duration {
        let phy = match (self.phy(), standard) {
            (Standard::B, _) => Standard::B,
            (_, Standard::G) => Standard::G,
            _ => Standard::A,
        };
        phy.frame_time(bytes, self.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
