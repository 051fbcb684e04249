//! Rates before 802.11n, and what an attempt at one of them takes of the air.
//!
//! # Sources
//! - Linux 6.12, `mac80211_hwsim.c`: the order of rates in each band.
//! - `units::wifi`: durations of frames and acknowledgements.
//!
//! # Where we differ, and why
//! 1. All preambles of DSSS are long, and no frame has protection: every station of the box knows OFDM.
//!
//! # Checked by
//! `tests`.

use units::wifi::{ACK_BYTES, Standard};
use units::{Bitrate, Duration};

use crate::hwsim::{RATES, Tries};

/// First channel of the band at 5 GHz, in MHz.
const BAND_5_GHZ: u32 = 5_000;
/// Rates of DSSS, which come first at 2.4 GHz.
const DSSS: usize = 4;
/// Length of the check sequence, which the kernel's frames do not have.
const FCS: u32 = 4;

/// The standard of stations on a channel.
pub const fn standard(mhz: u32) -> Standard {
    if mhz < BAND_5_GHZ {
        Standard::G
    } else {
        Standard::A
    }
}

/// A rate with its PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Index in the band.
    pub index: u8,
    /// Whose durations and error rates it has.
    pub phy: Standard,
    /// Its data rate.
    pub rate: Bitrate,
}

impl Mode {
    /// The rate with this index in the band of a channel. `None` if there is none.
    pub fn of(mhz: u32, index: i8) -> Option<Self> {
        let index = u8::try_from(index).ok()?;
        let place = usize::from(index);
        let (phy, place) = match standard(mhz) {
            Standard::A => (Standard::A, place),
            _ if place < DSSS => (Standard::B, place),
            _ => (Standard::G, place - DSSS),
        };
        let kbps = *phy.rates_kbps().get(place)?;
        let rate = Bitrate::from_kbps(kbps.into());
        Some(Self { index, phy, rate })
    }

    /// The first rate of a channel's band.
    pub const fn slowest(mhz: u32) -> Self {
        let phy = match standard(mhz) {
            Standard::A => Standard::A,
            Standard::B | Standard::G => Standard::B,
        };
        Self {
            index: 0,
            phy,
            rate: phy.basic_rate(),
        }
    }

    /// Busy air of one attempt with a frame of the kernel, and with its acknowledgement or the wait for it.
    pub fn attempt(self, mhz: u32, bytes: u32, acknowledged: bool) -> Duration {
        let frame = self.phy.frame_time(bytes + FCS, self.rate);
        if !acknowledged {
            return frame;
        }
        let ack = self.phy.frame_time(ACK_BYTES, self.phy.ack_rate(self.rate));
        frame + standard(mhz).sifs() + ack
    }
}

/// The rate index of an attempt, 0 being the first. `None` if the series is over.
pub fn index_of(series: &[Tries; RATES], attempt: u32) -> Option<i8> {
    let mut before = 0;
    let listed = series.iter().take_while(|tries| tries.rate >= 0);
    for tries in listed {
        before += u32::from(tries.count.max(1));
        if attempt < before {
            return Some(tries.rate);
        }
    }
    None
}

/// The attempts that were made, of a series.
pub fn made(series: &[Tries; RATES], attempts: u32) -> [Tries; RATES] {
    let mut left = attempts;
    let mut made = [Tries::NONE; RATES];
    for (made, tries) in made.iter_mut().zip(series) {
        if left == 0 || tries.rate < 0 {
            break;
        }
        let count = u32::from(tries.count.max(1)).min(left);
        *made = Tries {
            count: count as u8,
            ..*tries
        };
        left -= count;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: [Tries; RATES] = [
        Tries { rate: 11, count: 2 },
        Tries { rate: 7, count: 1 },
        Tries { rate: 4, count: 3 },
        Tries::NONE,
    ];

    #[test]
    fn a_series_is_used_in_its_order() {
        let used: Vec<_> = (0..8).map_while(|attempt| index_of(&SERIES, attempt)).collect();
        assert_eq!(used, [11, 11, 7, 4, 4, 4]);
        let mut expected = SERIES;
        expected[2].count = 1;
        assert_eq!(made(&SERIES, 4), expected);
        assert_eq!(made(&SERIES, 1)[1], Tries::NONE);
        assert_eq!(made(&SERIES, 6), SERIES);
    }

    #[test]
    fn indices_name_the_bands_rates() {
        let mbps = |mhz, index| Mode::of(mhz, index).map(|mode| mode.rate.as_bps() / 100_000);
        assert_eq!(mbps(2_437, 2), Some(55));
        assert_eq!(mbps(2_437, 4), Some(60));
        assert_eq!(mbps(2_437, 11), Some(540));
        assert_eq!(mbps(2_437, 12), None);
        assert_eq!(mbps(5_180, 0), Some(60));
        assert_eq!(mbps(5_180, -1), None);
    }

    #[test]
    fn an_attempt_takes_its_frame_and_its_acknowledgement() {
        // 1,532 bytes at 54 Mb/s in 802.11a: 248 µs, 16 µs of SIFS, an acknowledgement of 28 µs.
        let mode = Mode::of(5_180, 7).unwrap();
        let micros = |acknowledged| mode.attempt(5_180, 1_528, acknowledged).as_micros();
        assert_eq!((micros(false), micros(true)), (248, 248 + 16 + 28));
        // 96 bytes at 1 Mb/s with a long preamble.
        let beacon = Mode::of(2_437, 0).unwrap();
        assert_eq!(beacon.attempt(2_437, 96, false).as_micros(), 192 + 800);
    }
}
