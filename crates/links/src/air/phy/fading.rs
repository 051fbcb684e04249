//! Fading of links: Rayleigh and Rice, with the Doppler spectrum of Clarke and Jakes, one process for each
//! pair of stations.
//!
//! # Sources
//! - Clarke 1968, Jakes 1974 §1.1: waves scattered from all directions correlate as J₀(2π·f·τ), where f is
//!   the largest Doppler shift.
//! - Xiao, Zheng and Beaulieu 2006 ("Novel sum-of-sinusoids simulation models for Rayleigh and Rician fading
//!   channels", §II and §III): N waves with random angles (2πn + θₙ)/N and random phases φₙ. For Rice, a
//!   line-of-sight wave with its own angle and phase.
//!
//! # Where we differ, and why
//! 1. The Doppler shift follows from the plan's coherence time, in which the correlation falls to 1/e:
//!    J₀(1.7517) = 1/e.
//! 2. A value holds for a hundredth of the coherence time, because many stations look up the same frame. It
//!    changes by a few percent in that time.
//! 3. Carrier sense (who finds the medium busy) follows the mean power. Reception, interference and capture
//!    follow the fading.
//! 4. A link is the same in both directions. Its random stream is named after its two ends, so an additional
//!    station changes nobody's fading.
//! 5. The fading at the start of a frame holds until its end, even for an aggregate of milliseconds.
//!
//! # Checked by
//! `tests`: mean power, distribution, correlation against J₀, independence of pairs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::f64::consts::PI;
use units::Rng;

use crate::wifi::Fading;

/// Number of waves in the scattered part.
const WAVES: usize = 16;
/// J₀(x) = 1/e.
const COHERENT: f64 = 1.751_7;
/// No fade is deeper than this: 60 dB.
const DEEPEST: f64 = 1e-6;

/// The fading of all pairs of stations. Pairs that are never used take no memory.
#[derive(Debug)]
pub(in crate::air) struct Fades {
    config: Fading,
    seed: u64,
    names: Box<[String]>,
    links: BTreeMap<(u32, u32), Link>,
}

impl Fades {
    pub(in crate::air) fn new(seed: u64, config: Fading, names: impl Iterator<Item = String>) -> Self {
        Self {
            config,
            seed,
            names: names.collect(),
            links: BTreeMap::new(),
        }
    }

    /// The gain between two stations at a given time, as a ratio of powers with mean 1.
    pub(in crate::air) fn gain(&mut self, one: u32, other: u32, now: u64) -> f64 {
        let pair = (one.min(other), one.max(other));
        let link = self.links.entry(pair).or_insert_with(|| {
            let mut names = [&self.names[pair.0 as usize], &self.names[pair.1 as usize]];
            names.sort_unstable();
            let rng = Rng::named(self.seed, &format!("{}~{}/fading", names[0], names[1]));
            Link::new(&self.config, rng)
        });
        link.gain(now)
    }
}

#[derive(Debug)]
struct Link {
    /// Doppler shift in radians a nanosecond, and phase, of each scattered wave.
    waves: [(f64, f64); WAVES],
    steady: (f64, f64),
    /// Amplitude of the line-of-sight wave, and of each scattered one.
    amplitudes: (f64, f64),
    /// A value holds for this many ns, from a multiple of it on. The result does not depend on who queries
    /// it, or how often.
    hold: u64,
    step: Option<u64>,
    held: f64,
}

impl Link {
    fn new(config: &Fading, mut rng: Rng) -> Self {
        let coherence = (config.coherence.as_nanos() as u64).max(1);
        let shift = COHERENT / coherence as f64;
        let mut angle = || PI * (2.0 * rng.unit() - 1.0);
        let waves = core::array::from_fn(|wave| {
            let from = (2.0 * PI * wave as f64 + angle()) / WAVES as f64;
            (shift * libm::cos(from), angle())
        });
        let steady = (shift * libm::cos(angle()), angle());
        Self {
            waves,
            steady,
            amplitudes: amplitudes(config),
            hold: (coherence / 100).max(1),
            step: None,
            held: 0.0,
        }
    }

    fn gain(&mut self, now: u64) -> f64 {
        let step = now / self.hold;
        if self.step != Some(step) {
            self.held = self.power((step * self.hold) as f64);
            self.step = Some(step);
        }
        self.held
    }

    fn power(&self, now: f64) -> f64 {
        let (steady, scattered) = self.amplitudes;
        let (mut re, mut im) = (0.0, 0.0);
        for (shift, phase) in self.waves {
            let (sin, cos) = libm::sincos(libm::fmod(shift * now, 2.0 * PI) + phase);
            (re, im) = (re + cos, im + sin);
        }
        let (sin, cos) = libm::sincos(libm::fmod(self.steady.0 * now, 2.0 * PI) + self.steady.1);
        (re, im) = (re * scattered + cos * steady, im * scattered + sin * steady);
        (re * re + im * im).max(DEEPEST)
    }
}

/// Amplitude of the line-of-sight wave, and of each scattered one.
fn amplitudes(config: &Fading) -> (f64, f64) {
    let k = config.k_factor.map_or(0.0, units::Db::linear);
    (
        libm::sqrt(k / (k + 1.0)),
        libm::sqrt(1.0 / ((k + 1.0) * WAVES as f64)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use units::{Db, Duration};

    const COHERENCE: Duration = Duration::from_millis(10);

    fn links(k_factor: Option<Db>) -> Vec<Link> {
        let config = Fading {
            k_factor,
            coherence: COHERENCE,
        };
        (0..4_000)
            .map(|seed| Link::new(&config, Rng::named(seed, "a~b/fading")))
            .collect()
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    }

    #[test]
    fn the_mean_power_is_one_and_fades_are_as_deep_as_rayleighs() {
        let links = links(None);
        let powers: Vec<_> = links.iter().map(|link| link.power(5e9)).collect();
        assert!((mean(powers.iter().copied()) - 1.0).abs() < 0.05);
        // An exponential is below a tenth of its mean with probability 1 − e^−0.1.
        let deep = powers.iter().filter(|&&power| power < 0.1).count() as f64 / powers.len() as f64;
        assert!((deep - 0.095).abs() < 0.015, "{deep}");
    }

    #[test]
    fn a_steady_wave_makes_fades_milder() {
        let powers: Vec<_> = links(Some(Db::from_db(10)))
            .iter()
            .map(|link| link.power(7e9))
            .collect();
        assert!((mean(powers.iter().copied()) - 1.0).abs() < 0.05);
        // The variance of a Rice power is (2K + 1) / (K + 1)².
        let variance = mean(powers.iter().map(|power| (power - 1.0) * (power - 1.0)));
        assert!((variance - 21.0 / 121.0).abs() < 0.02, "{variance}");
    }

    /// The power of a Rayleigh process correlates as J₀².
    #[test]
    fn correlation_falls_as_clarkes() {
        let links = links(None);
        for (coherences, bessel) in [(0.25, 0.953), (0.5, 0.817), (1.0, 0.3679), (1.372_8, 0.0)] {
            let later = 5e9 + 1e7 * coherences;
            let product = mean(links.iter().map(|link| link.power(5e9) * link.power(later)));
            let expected = 1.0 + bessel * bessel;
            assert!(
                (product - expected).abs() < 0.1,
                "{coherences}: {product} {expected}"
            );
        }
    }

    #[test]
    fn pairs_are_independent_and_named_after_their_ends() {
        let config = Fading {
            k_factor: None,
            coherence: COHERENCE,
        };
        let fades = |names: &[&str]| Fades::new(3, config, names.iter().map(|&name| String::from(name)));
        let (mut few, mut many) = (fades(&["a", "b", "c"]), fades(&["new", "c", "a", "b"]));
        for moment in 0..20 {
            let now = moment * 40_000_000;
            assert_eq!(few.gain(0, 1, now), few.gain(1, 0, now));
            assert_eq!(few.gain(0, 1, now), many.gain(2, 3, now));
            assert_eq!(few.gain(2, 0, now), many.gain(2, 1, now));
            assert_ne!(few.gain(0, 1, now), few.gain(0, 2, now));
        }
    }

    /// The power of one pair does not correlate with another pair's at the same time, with one end in common
    /// or none.
    #[test]
    fn pairs_do_not_correlate() {
        let config = Fading {
            k_factor: None,
            coherence: COHERENCE,
        };
        let gains: Vec<[f64; 3]> = (0..4_000)
            .map(|seed| {
                let names = ["ap-1", "ap-2", "client", "other"].map(String::from);
                let mut fades = Fades::new(seed, config, names.into_iter());
                [(0, 2), (1, 2), (1, 3)].map(|(one, other)| fades.gain(one, other, 5_000_000_000))
            })
            .collect();
        let correlation = |one: usize, other: usize| {
            mean(
                gains
                    .iter()
                    .map(|gains| (gains[one] - 1.0) * (gains[other] - 1.0)),
            )
        };
        assert!((correlation(0, 0) - 1.0).abs() < 0.2, "{}", correlation(0, 0));
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let found = correlation(one, other);
            // Four standard deviations of a mean of 4,000.
            assert!(found.abs() < 0.064, "{one} {other}: {found}");
        }
    }
}
