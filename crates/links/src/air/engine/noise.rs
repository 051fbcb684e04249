//! Sources on a channel other than 802.11. They make the medium busy where they are strong, and disturb
//! reception everywhere.
//!
//! # Sources
//! - IEEE 802.11-2020 §17.3.10.6 (clear channel assessment: energy 20 dB above the weakest preamble makes the
//!   medium busy).
//! - ITU-R SM.2210 and Taher et al. 2008 ("Microwave oven signal modelling"): ovens radiate in half of each
//!   mains period.
//!
//! # Checked by
//! `disturbance_tests`.

use alloc::format;
use units::Rng;

use super::Air;
use super::exchange::Frame;
use crate::air::io::Kind;
use crate::air::phy::mode::Mode;
use crate::air::phy::timing::nanos;
use crate::air::schedule::Schedule;
use crate::air::sense::radio::Phase;
use crate::config::NoiseConfig;
use units::wifi::Standard;

/// On and off times of one source, in ns.
#[derive(Debug)]
pub(in crate::air) struct Noise {
    on: u64,
    off: u64,
    random: Option<Rng>,
}

impl Noise {
    pub(in crate::air) fn new(seed: u64, config: &NoiseConfig) -> Self {
        Self {
            on: nanos(config.on),
            off: nanos(config.off),
            random: config
                .random
                .then(|| Rng::named(seed, &format!("{}/noise", config.name))),
        }
    }

    fn draw(&mut self, mean: u64) -> u64 {
        match &mut self.random {
            None => mean,
            Some(rng) => (-libm::log(1.0 - rng.unit()) * mean as f64) as u64,
        }
        .max(1)
    }
}

impl<S: Schedule> Air<S> {
    /// Schedules the first noise of every source. The run begins in the middle of a pause.
    pub(super) fn start_noises(&mut self) {
        for number in 0..self.noises.len() {
            let pause = self.noises[number].off;
            self.schedule.set(
                self.first_noise + number,
                crate::air::sense::ears::starting(pause / 2),
            );
        }
    }

    /// Ends a source's pause. Does nothing for a station.
    pub(super) fn begin_noise(&mut self, place: usize) {
        let Some(number) = place.checked_sub(self.first_noise) else {
            return;
        };
        let mean = self.noises[number].on;
        let time = self.noises[number].draw(mean);
        let frame = Frame {
            to: None,
            kind: Kind::Noise,
            mode: Mode::basic(Standard::A),
            bytes: 0,
            count: 1,
            time,
            answer: 0,
            got: 0,
        };
        self.launch(place, frame);
    }

    /// Starts a source's pause.
    pub(super) fn end_noise(&mut self, place: usize) {
        self.radios[place].phase = Phase::Listening;
        let number = place - self.first_noise;
        let mean = self.noises[number].off;
        let pause = self.noises[number].draw(mean);
        self.schedule
            .set(place, crate::air::sense::ears::starting(self.now + pause));
    }
}
