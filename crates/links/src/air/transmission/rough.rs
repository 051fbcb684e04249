//! Powers of a distance within a few per cent, in four instructions. The bits of a floating-point number,
//! read as an integer, are nearly its logarithm. An integer read as such bits is nearly a power of 2.
//!
//! # Sources
//! - Mitchell 1962 ("Computer multiplication and division using binary logarithms"): between powers of 2 a
//!   straight line replaces the logarithm, which makes it too small by 0.0861 at most.
//! - Schraudolph 1999 ("A fast, compact approximation of the exponential function"): the same in the other
//!   direction.
//!
//! # Where we differ, and why
//! 1. Half of the combined error of both is subtracted in advance, so results are as much too large as too
//!    small.
//!
//! # Checked by
//! `tests`: against the formula, and that the bound holds but is not much wider than needed.

use core::array::from_fn;

use super::four::Four;

/// The maximum of log₂(1 + t) − t from 0 to 1, at t = 1/ln 2 − 1.
const EXCESS: f64 = 0.086_071_332_1;
/// Steps of a result's logarithm between powers of 2: as fine as single precision counts exactly for all its
/// exponents.
const STEPS: f64 = 16_384.0;
/// From this number to twice it, numbers in single precision are integers.
const INTEGERS: f64 = 8_388_608.0;
/// The exponent 0, as single precision writes it.
const BIAS: f64 = 127.0;

/// x⁻ᵉ for one exponent.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Rough {
    origin: f32,
    slope: f32,
    /// Largest relative error of a result, apart from that of single precision.
    pub(in crate::air) off: f64,
}

impl Rough {
    pub(in crate::air) fn new(exponent: f64) -> Self {
        let excess = (1.0 + exponent) * EXCESS / 2.0;
        let origin = (BIAS * (1.0 + exponent) - excess) * STEPS + INTEGERS;
        Self {
            origin: origin as f32,
            slope: (exponent * STEPS / f64::from(1_u32 << 23)) as f32,
            off: libm::exp2((1.0 + exponent.abs()) * EXCESS / 2.0) - 1.0,
        }
    }

    /// Valid for x ≥ 1 if the result is a normal number. Otherwise the result is arbitrary.
    #[inline]
    pub(in crate::air) fn of(&self, x: Four) -> Four {
        Four(from_fn(|lane| {
            let bits = x.0[lane].to_bits().cast_signed() as f32;
            f32::from_bits((self.origin - self.slope * bits).to_bits() << 9)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_off_by_no_more_than_it_says() {
        for exponent in [-0.5, 0.25, 0.55, 1.0, 2.0, 4.0] {
            let rough = Rough::new(exponent);
            let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
            for step in 0..40_000 {
                let x = libm::exp2f(step as f32 / 1_600.0);
                let [power, ..] = rough.of(Four::all(x)).0;
                let ratio = f64::from(power) / libm::pow(f64::from(x), -exponent);
                (least, most) = (least.min(ratio), most.max(ratio));
            }
            let off = rough.off + 3e-4;
            assert!(
                most <= 1.0 + off && least >= 1.0 / (1.0 + off),
                "{exponent}: {least} {most}"
            );
            assert!(most - least > rough.off, "{exponent}: {least} {most}");
        }
    }
}
