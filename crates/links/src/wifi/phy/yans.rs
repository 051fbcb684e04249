//! Bit errors as in the simulator Yans.
//!
//! # Sources
//! - Lacage and Henderson 2006 ("Yet another network simulator", §3.3.3): energy per bit over noise density
//!   from the spread of the signal over 20 MHz, errors of M-QAM from those of its two amplitudes, hard
//!   decisions with the first terms of the code's distance spectrum (Proakis, Digital Communications, §8.2).
//! - The class `YansErrorRateModel` of ns-3 3.37: which distances and weights it uses.
//!
//! # Where we differ, and why
//! 1. Modes of 802.11n have the uncoded bit rate of 802.11a, apart from code rate 5/6. With the long guard
//!    interval theirs is 8 % higher, which is 0.35 dB.
//!
//! # Checked by
//! `phy_tests`, with `golden/frame-errors.csv`.

use libm::{erfc, sqrt};

/// A modulation with a code rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// Bits per symbol of a subcarrier.
    bits: u32,
    /// Uncoded bits per second, in units of 20 Mb/s.
    spread: f64,
    /// Free distance of the code.
    distance: u32,
    /// Number of paths at the free distance, and at the next one.
    paths: [f64; 2],
}

const fn scheme(bits: u32, uncoded_mbps: f64, distance: u32, paths: [f64; 2]) -> Scheme {
    Scheme {
        bits,
        spread: uncoded_mbps / 20.0,
        distance,
        paths,
    }
}

/// BPSK at rates 1/2 and 3/4, QPSK and 16-QAM at the same, 64-QAM at 2/3, 3/4 and 5/6.
pub(super) const BPSK: [Scheme; 2] = [scheme(1, 12.0, 10, [11.0, 0.0]), scheme(1, 12.0, 5, [8.0, 0.0])];
pub(super) const QPSK: [Scheme; 2] = [scheme(2, 24.0, 10, [11.0, 0.0]), scheme(2, 24.0, 5, [8.0, 31.0])];
pub(super) const QAM16: [Scheme; 2] = [scheme(4, 48.0, 10, [11.0, 0.0]), scheme(4, 48.0, 5, [8.0, 31.0])];
pub(super) const QAM64: [Scheme; 3] = [
    scheme(6, 72.0, 6, [1.0, 16.0]),
    scheme(6, 72.0, 5, [8.0, 31.0]),
    scheme(6, 78.0, 4, [14.0, 69.0]),
];

impl Scheme {
    /// Probability of a bit error after the decoder, at a linear SNR.
    pub(super) fn bit_error(&self, snr: f64) -> f64 {
        let raw = self.raw(snr / self.spread);
        let [first, next] = self.paths;
        let error = first * wrong_path(raw, self.distance) + next * wrong_path(raw, self.distance + 1);
        error.min(1.0)
    }

    /// Bit errors before the decoder, from the energy per bit over the noise density.
    fn raw(&self, per_bit: f64) -> f64 {
        if self.bits == 1 {
            return 0.5 * erfc(sqrt(per_bit));
        }
        let (points, bits) = (f64::from(1_u32 << self.bits), f64::from(self.bits));
        let argument = sqrt(1.5 * bits * per_bit / (points - 1.0));
        let amplitude = (1.0 - 1.0 / sqrt(points)) * erfc(argument);
        (1.0 - (1.0 - amplitude) * (1.0 - amplitude)) / bits
    }
}

/// Probability that hard decisions prefer a path at this distance from the right one.
fn wrong_path(raw: f64, distance: u32) -> f64 {
    let right = 1.0 - raw;
    let power = |base: f64, times: u32| (0..times).fold(1.0, |product, _| product * base);
    // C(d, 0), C(d, 1), …
    let mut ways = 1.0;
    let mut sum = 0.0;
    for errors in 0..=distance {
        let weight = match (2 * errors).cmp(&distance) {
            core::cmp::Ordering::Less => 0.0,
            core::cmp::Ordering::Equal => 0.5,
            core::cmp::Ordering::Greater => 1.0,
        };
        sum += weight * ways * power(raw, errors) * power(right, distance - errors);
        ways *= f64::from(distance - errors) / f64::from(errors + 1);
    }
    sum
}
