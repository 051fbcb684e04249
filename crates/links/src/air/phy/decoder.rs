//! How a receiver decodes a signal: curves of bit error rate over the signal-to-interference-and-noise ratio,
//! looked up in tables instead of computed.
//!
//! # Sources
//! - `wifi::phy` has the error models and their references (Proakis; Frenger, Orten and Ottosson 1999; Pei
//!   and Henderson 2010).
//!
//! # Where we differ, and why
//! 1. Interference counts as noise of the same power, as in every published error-rate model of packet
//!    simulators.
//! 2. With several streams, each has its share of the sender's power and of the ratio. That is the mean
//!    result of a zero-forcing receiver with as many antennas as streams (Winters, Salz and Gitlin 1994). Its
//!    larger variance is left out.
//! 3. A curve is a table of 64 steps per octave (0.05 dB) with linear interpolation. The error against the
//!    formula is below 0.01 dB. The index comes from the ratio's bits, without a logarithm.
//!
//! # Checked by
//! `tests`: the table against the formula at ratios between its steps.

use alloc::boxed::Box;

use super::mode::Mode;
use crate::config::ErrorModel;
use crate::wifi::phy;

/// Steps in each octave: the six top bits of a float's fraction.
const STEP_BITS: u32 = 6;
/// The lowest ratio in the table: −15 dB. Below it nothing is received.
const LEAST: f64 = 1.0 / 32.0;
const FIRST: u64 = step_of(LEAST);
/// 20 octaves reach to 45 dB.
const STEPS: usize = 20 << STEP_BITS;

const fn step_of(ratio: f64) -> u64 {
    ratio.to_bits() >> (52 - STEP_BITS)
}

/// The ratio at a step.
const fn ratio(step: usize) -> f64 {
    f64::from_bits((FIRST + step as u64) << (52 - STEP_BITS))
}
/// If a bit error is at most this likely, the frame is received: 65,535 bytes are then lost less than once in
/// 10⁹.
const SURE_HAZARD: f64 = 1.9e-15;

/// The curves of all modes.
#[derive(Debug)]
pub(in crate::air) struct Decoder {
    curves: Box<[Curve]>,
}

#[derive(Debug)]
struct Curve {
    /// −ln(1 − bit error rate), by step. Infinite where nothing is received.
    hazard: Box<[f32]>,
    /// The linear ratio above which every frame is received.
    sure: f64,
}

impl Decoder {
    pub(in crate::air) fn new(model: ErrorModel) -> Self {
        Self {
            curves: (0..Mode::CURVES).map(|curve| Curve::new(model, curve)).collect(),
        }
    }

    /// The linear ratio above which every frame in this mode is received.
    pub(in crate::air) fn sure(&self, mode: Mode) -> f64 {
        self.curves[mode.curve()].sure * f64::from(mode.streams())
    }

    /// −ln of the probability that one bit is received correctly at this linear ratio.
    pub(in crate::air) fn hazard(&self, mode: Mode, ratio: f64) -> f64 {
        let curve = &self.curves[mode.curve()];
        let ratio = ratio / f64::from(mode.streams());
        if ratio >= curve.sure {
            return 0.0;
        }
        if ratio.is_nan() || ratio < LEAST {
            return f64::INFINITY;
        }
        let index = ((step_of(ratio) - FIRST) as usize).min(STEPS - 2);
        let (low, high) = (f64::from(curve.hazard[index]), f64::from(curve.hazard[index + 1]));
        let fraction = ratio.to_bits() & ((1 << (52 - STEP_BITS)) - 1);
        if low.is_finite() {
            low + (high - low) * (fraction as f64 / (1_u64 << (52 - STEP_BITS)) as f64)
        } else {
            low
        }
    }
}

impl Curve {
    fn new(model: ErrorModel, curve: usize) -> Self {
        let at = |step| hazard(model, curve, ratio(step)) as f32;
        let hazard: Box<[f32]> = (0..STEPS).map(at).collect();
        let sure = (0..STEPS)
            .find(|&step| f64::from(hazard[step]) < SURE_HAZARD)
            .unwrap_or(STEPS);
        Self {
            hazard,
            sure: ratio(sure),
        }
    }
}

fn hazard(model: ErrorModel, curve: usize, ratio: f64) -> f64 {
    let error = match Mode::legacy().nth(curve) {
        Some(mode) => phy::bit_error(model, mode.phy(), mode.rate(), ratio),
        None => phy::bit_error_five_sixths(model, ratio),
    };
    if error >= 0.5 {
        f64::INFINITY
    } else {
        -libm::log1p(-error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::wifi::ht;

    /// All modes before 802.11n, and the fastest with one stream.
    fn all() -> impl Iterator<Item = Mode> {
        let fastest = ht::Mode::new(7, ht::Width::Mhz20, ht::Guard::Long).map(Mode::of_ht);
        Mode::legacy().chain(fastest)
    }

    #[test]
    fn streams_share_the_power() {
        let decoder = Decoder::new(ErrorModel::Nist);
        let mode = |mcs| Mode::of_ht(ht::Mode::new(mcs, ht::Width::Mhz20, ht::Guard::Long).unwrap());
        for mcs in 0..8 {
            assert_eq!(
                decoder.hazard(mode(mcs), 10.0),
                decoder.hazard(mode(mcs + 24), 40.0)
            );
            assert_eq!(decoder.sure(mode(mcs + 8)), 2.0 * decoder.sure(mode(mcs)));
        }
    }

    #[test]
    fn the_table_is_as_good_as_the_formula() {
        let decoder = Decoder::new(ErrorModel::Nist);
        for mode in all() {
            let mut previous = f64::INFINITY;
            for tenth in 0..450 {
                let at = f64::from(tenth) / 10.0 + 0.023 - 10.0;
                let looked_up = decoder.hazard(mode, libm::exp10(at / 10.0));
                assert!(looked_up <= previous, "{mode:?} at {at}");
                previous = looked_up;
                // The formula's range for a hundredth of a decibel to either side.
                let formula = |db: f64| hazard(ErrorModel::Nist, mode.curve(), libm::exp10(db / 10.0));
                let (worse, better) = (formula(at - 0.06), formula(at + 0.06));
                let sure = better < SURE_HAZARD;
                assert!(
                    sure || looked_up <= worse && looked_up >= better,
                    "{mode:?} at {at}"
                );
            }
        }
    }

    #[test]
    fn a_strong_signal_is_sure_and_a_weak_one_is_nothing() {
        let decoder = Decoder::new(ErrorModel::Nist);
        for mode in all() {
            assert_eq!(decoder.hazard(mode, decoder.sure(mode)), 0.0);
            assert!(decoder.hazard(mode, decoder.sure(mode) / 2.0) > 0.0);
            assert_eq!(decoder.hazard(mode, 0.01), f64::INFINITY);
        }
    }
}
