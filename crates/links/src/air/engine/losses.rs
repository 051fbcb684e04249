//! Losses that a plan states between two stations, whatever the signal.
//!
//! # Where we differ, and why
//! 1. A lost frame is decoded and then ignored, so it leaves no EIFS behind. The receiver's monitor does not
//!    show it. Monitors of other stations do.
//! 2. Only data frames are lost. Answers to them are as good as the signal.
//!
//! # Checked by
//! `tests` below; `sim`'s `tests/losses.rs`.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use units::{Ratio, Rng};

use super::Air;
use crate::air::io::Kind;
use crate::air::schedule::Schedule;
use crate::air::sense::ears::Heard;
use crate::air::transmission::flight::Flight;
use crate::config::AirConfig;

/// The losses of an air, by sender and receiver.
#[derive(Debug)]
pub(super) struct Losses(BTreeMap<(u32, u32), (Ratio, Rng)>);

impl Losses {
    /// `None` if the plan states none between its stations.
    pub(super) fn of(seed: u64, config: &AirConfig) -> Option<Box<Self>> {
        let numbered = || (0..).zip(&config.stations);
        let number = |name: &str| {
            numbered()
                .find(|(_, station)| station.name == name)
                .map(|(number, _)| number)
        };
        let losses = config.losses.iter().filter_map(|loss| {
            let pair = (number(&loss.from)?, number(&loss.to)?);
            let rng = Rng::named(seed, &format!("{}/{}/losses", loss.from, loss.to));
            Some((pair, (loss.share, rng)))
        });
        let losses: BTreeMap<_, _> = losses.collect();
        (!losses.is_empty()).then(|| Box::new(Self(losses)))
    }

    /// Which of the first `count` frames are left of those that arrived, one bit each.
    pub(super) fn left(&mut self, from: u32, to: u32, got: u64, count: u32) -> u64 {
        let Some((share, rng)) = self.0.get_mut(&(from, to)) else {
            return got;
        };
        let left = (0..count).filter(|order| got >> order & 1 == 1 && !rng.chance(*share));
        left.fold(0, |bits, order| bits | 1 << order)
    }
}

impl<S: Schedule> Air<S> {
    /// Removes what the plan loses of the frame that has just ended, at its receivers and their monitors.
    pub(super) fn lose(&mut self, flight: &Flight) {
        let Some(losses) = self.losses.as_mut().filter(|_| flight.kind == Kind::Data) else {
            return;
        };
        for (station, heard) in &mut self.heard {
            let Heard::Frame(got) = heard else { continue };
            *got = losses.left(flight.from, *station, *got, flight.count);
            let own = self
                .overheard
                .iter_mut()
                .filter(|(monitor, _)| monitor == station);
            own.for_each(|(_, shown)| *shown = *got);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;
    use crate::config::{Loss, StationConfig};
    use alloc::vec;
    use units::wifi::Standard;

    #[test]
    fn the_share_is_lost_in_one_direction_only() {
        let stations =
            ["one", "other"].map(|name| StationConfig::new(name, Standard::A, Position::default()));
        let loss = |from: &str, share| Loss {
            from: from.into(),
            to: "other".into(),
            share,
        };
        let mut config = AirConfig::new(Standard::A, stations.into());
        config.losses = vec![loss("nobody", Ratio::ONE)];
        assert!(Losses::of(1, &config).is_none());
        config.losses = vec![loss("one", Ratio::from_ppm(250_000))];
        let mut losses = Losses::of(1, &config).unwrap();
        assert_eq!(losses.left(1, 0, 0b1011, 4), 0b1011);
        let left: u32 = (0..1_000)
            .map(|_| losses.left(0, 1, 0b1011, 4).count_ones())
            .sum();
        assert!((2_150..2_350).contains(&left), "{left}");
        // Single frames have all bits where no error was possible.
        let left = (0..1_000).filter(|_| losses.left(0, 1, u64::MAX, 1) == 1).count();
        assert!((700..800).contains(&left), "{left}");
    }
}
