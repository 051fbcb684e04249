//! Which rules an access point's frames follow: what a monitor interface's rates alone do not say.
//!
//! # Sources
//! - IEEE 802.11-2020 §15 to §19 through `units::wifi`.
//!
//! # Where we differ, and why
//! 1. Until a world says otherwise, an access point on channels 1 to 14 follows 802.11g, above 802.11a. What is sent at less than 6 Mb/s is
//!    802.11b's, whoever sends it: OFDM knows no such rate.
//! 2. The rate is a mean of those heard. In 802.11n the airtime is that of the fastest mode that is not faster.
//!
//! # Checked by
//! `tests` below.

pub use crate::io::air::Phy;

use super::airtime::{Contention, Exchange};
use super::delivery;
use units::Bitrate;
use units::wifi::Standard;
use units::wifi::ht::{Guard, Mode, Width};

/// The last channel at 2.4 GHz.
const LAST_AT_2_GHZ: u16 = 14;

impl Phy {
    /// The oldest that is likely on this channel.
    pub const fn of_channel(channel: Option<u16>) -> Self {
        match channel {
            Some(channel) if channel > LAST_AT_2_GHZ => Self::Legacy(Standard::A),
            _ => Self::Legacy(Standard::G),
        }
    }

    /// What it takes to bring an IP packet across at this rate, one of `frames_milli` thousandths in an aggregate.
    pub fn exchange(self, rate: Bitrate, ip_bytes: u32, frames_milli: u32) -> Exchange {
        match self {
            Self::Legacy(standard) => {
                let standard = standard_at(standard, rate);
                Exchange::legacy(standard, rate, ip_bytes)
            }
            Self::Ht { band, width, guard } => {
                Exchange::ht(mode_at(rate, width, guard), band, ip_bytes, frames_milli)
            }
        }
    }

    /// How its stations contend.
    pub const fn contention(self) -> Contention {
        Contention::dcf(match self {
            Self::Legacy(standard) => standard,
            Self::Ht { band, .. } => band.legacy(),
        })
    }

    /// How its frames are to be watched.
    pub const fn watched(self) -> delivery::Config {
        match self {
            Self::Legacy(_) => delivery::Config::LEGACY,
            Self::Ht { .. } => delivery::Config::HT,
        }
    }
}

fn standard_at(standard: Standard, rate: Bitrate) -> Standard {
    if rate < Standard::G.basic_rate() && standard == Standard::G {
        Standard::B
    } else {
        standard
    }
}

/// The fastest mode that is not faster; the slowest if all are.
fn mode_at(rate: Bitrate, width: Width, guard: Guard) -> Mode {
    let modes = (0..32).filter_map(|mcs| Mode::new(mcs, width, guard));
    let slowest = modes.clone().min_by_key(|mode| mode.rate());
    let fits = modes
        .filter(|mode| mode.rate() <= rate)
        .max_by_key(|mode| (mode.rate(), core::cmp::Reverse(mode.mcs())));
    fits.or(slowest).expect("there are modes 0 to 31")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::airtime::Form;
    use units::Ratio;
    use units::wifi::ht::Band;

    const HT20: Phy = Phy::Ht {
        band: Band::Ghz5,
        width: Width::Mhz20,
        guard: Guard::Long,
    };

    #[test]
    fn a_channel_suggests_the_band() {
        assert_eq!(Phy::of_channel(Some(6)), Phy::Legacy(Standard::G));
        assert_eq!(Phy::of_channel(None), Phy::Legacy(Standard::G));
        assert_eq!(Phy::of_channel(Some(36)), Phy::Legacy(Standard::A));
    }

    #[test]
    fn a_known_rate_gives_the_known_exchange() {
        let g = Phy::of_channel(Some(1));
        let fast = Bitrate::from_mbps(54);
        assert_eq!(
            g.exchange(fast, 1_500, 1_000),
            Exchange::legacy(Standard::G, fast, 1_500)
        );
        let slow = Bitrate::from_mbps(2);
        assert_eq!(
            g.exchange(slow, 1_500, 1_000),
            Exchange::legacy(Standard::B, slow, 1_500)
        );
        let mode = Mode::new(7, Width::Mhz20, Guard::Long).unwrap();
        assert_eq!(
            HT20.exchange(Bitrate::from_mbps(65), 1_500, 16_000),
            Exchange::ht(mode, Band::Ghz5, 1_500, 16_000)
        );
    }

    #[test]
    fn any_rate_gives_an_airtime() {
        for phy in [
            Phy::Legacy(Standard::A),
            Phy::Legacy(Standard::B),
            Phy::Legacy(Standard::G),
            HT20,
        ] {
            for bps in [0, 1, 999, 1_000_000, 33_333_333, 300_000_000, u64::from(u32::MAX)] {
                let exchange = phy.exchange(Bitrate::from_bps(bps), 1_500, 7_300);
                let airtime = exchange.airtime(Form::PerDelivered, Ratio::ZERO);
                assert!(
                    airtime.is_some_and(|time| !time.is_zero()),
                    "{phy:?} at {bps} b/s"
                );
            }
        }
    }
}
