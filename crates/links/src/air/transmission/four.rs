//! Four numbers side by side: an operation on all of them compiles to one vector instruction.
//!
//! # Where we differ, and why
//! 1. Numbers are compared by the sign of their difference, and a mask clears the bits of the others.
//!    Comparisons and selections sometimes compile to a branch for each of the four, and then all that
//!    follows is scalar, too.
//!
//! # Checked by
//! `tests`.

use core::array::from_fn;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// Four numbers, with operations on each of them separately.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(16))]
pub(in crate::air) struct Four(pub(in crate::air) [f32; 4]);

impl Four {
    #[inline]
    pub(in crate::air) fn all(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline]
    fn map(self, each: impl Fn(f32) -> f32) -> Self {
        Self(from_fn(|lane| each(self.0[lane])))
    }

    #[inline]
    fn with(self, other: Self, each: impl Fn(f32, f32) -> f32) -> Self {
        Self(from_fn(|lane| each(self.0[lane], other.0[lane])))
    }

    /// Where finite numbers are less than those of `limit`.
    #[inline]
    pub(in crate::air) fn less(self, limit: Self) -> Mask {
        Mask(from_fn(|lane| {
            let sign = (self.0[lane] - limit.0[lane]).to_bits().cast_signed() >> 31;
            sign.cast_unsigned()
        }))
    }

    #[inline]
    pub(in crate::air) fn at_least(self, least: Self) -> Self {
        self.with(least, |value, least| if value > least { value } else { least })
    }

    #[inline]
    pub(super) fn at_most(self, most: Self) -> Self {
        self.with(most, |value, most| if value < most { value } else { most })
    }

    /// 2 to the power of `reference − exponent·log₂ x`, for x ≥ 1 and results that are normal numbers. It is
    /// within 0.04 % for exponents up to 3. Both functions are polynomials through Chebyshev nodes.
    #[inline]
    pub(in crate::air) fn power(self, reference: f32, exponent: f32) -> Self {
        /// log₂(1 + x) from 0 to 1, within 1.2·10⁻⁴.
        const LOG: [f32; 5] = [
            0.000_114_58,
            1.436_874_9,
            -0.670_882_7,
            0.312_269_5,
            -0.078_440_68,
        ];
        /// 2ˣ from −½ to ½, within 10⁻⁴ of it.
        const EXP: [f32; 4] = [0.999_924_56, 0.693_136_7, 0.242_639_48, 0.055_838_283];
        /// Near this number, adjacent values differ by 1, so the lowest bits of the representation count
        /// integers.
        const INTEGERS: f32 = 12_582_912.0;
        let whole = self.map(|x| ((x.to_bits() >> 23) as i32 - 127) as f32);
        let part = self.map(|x| f32::from_bits(x.to_bits() & 0x007f_ffff | 0x3f80_0000) - 1.0);
        let log = whole + part.polynomial(LOG);
        let result = Self::all(reference) - Self::all(exponent) * log;
        let rounded = result.map(|x| x + INTEGERS);
        let rest = result.with(rounded, |x, rounded| x - (rounded - INTEGERS));
        rest.polynomial(EXP).with(rounded, |x, rounded| {
            f32::from_bits(x.to_bits().wrapping_add(rounded.to_bits() << 23))
        })
    }

    #[inline]
    fn polynomial<const N: usize>(self, terms: [f32; N]) -> Self {
        let mut sum = Self::all(terms[N - 1]);
        for term in terms.iter().rev().skip(1) {
            sum = sum * self + Self::all(*term);
        }
        sum
    }

    /// Whether any of them is not 0. None may be negative or −0.
    #[inline]
    pub(super) fn has_any(self) -> bool {
        let [one, two, three, four] = self.0.map(f32::to_bits);
        one | two | three | four != 0
    }

    pub(in crate::air) fn sum(self) -> f64 {
        self.0.iter().map(|&each| f64::from(each)).sum()
    }
}

/// Where a condition holds: all bits of a number, or none.
#[derive(Debug, Clone, Copy)]
pub(in crate::air) struct Mask([u32; 4]);

impl Mask {
    /// Where a number differs from `one`.
    #[inline]
    pub(in crate::air) fn unlike(numbers: &[u32; 4], one: u32) -> Self {
        Self(from_fn(|lane| u32::from(numbers[lane] != one).wrapping_neg()))
    }

    /// The numbers where it holds, and 0 elsewhere.
    #[inline]
    pub(in crate::air) fn keep(self, numbers: Four) -> Four {
        Four(from_fn(|lane| {
            f32::from_bits(numbers.0[lane].to_bits() & self.0[lane])
        }))
    }

    /// The numbers where it does not hold, and 0 elsewhere.
    #[inline]
    pub(in crate::air) fn drop(self, numbers: Four) -> Four {
        Four(from_fn(|lane| {
            f32::from_bits(numbers.0[lane].to_bits() & !self.0[lane])
        }))
    }
}

impl Add for Four {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        self.with(other, |one, other| one + other)
    }
}

impl AddAssign for Four {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Four {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        self.with(other, |one, other| one - other)
    }
}

impl Mul for Four {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        self.with(other, |one, other| one * other)
    }
}

impl Div for Four {
    type Output = Self;

    #[inline]
    fn div(self, other: Self) -> Self {
        self.with(other, |one, other| one / other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_formula() {
        for exponent in [1.0, 1.55, 2.5, 3.0] {
            for step in 0..4_000 {
                let x = libm::exp2f(step as f32 / 110.0);
                let [power, ..] = Four::all(x).power(-15.5, exponent).0;
                let exact = libm::exp2(-15.5 - f64::from(exponent) * libm::log2(f64::from(x)));
                let off = f64::from(power) / exact - 1.0;
                assert!(off.abs() < 4e-4, "{x} {exponent}: {off}");
            }
        }
    }

    #[test]
    fn lanes_do_not_meet() {
        let [one, two] = [Four([1.0, 2.0, 3.0, 4.0]), Four([2.0, 2.0, 8.0, 0.5])];
        assert_eq!((one + two).0, [3.0, 4.0, 11.0, 4.5]);
        assert_eq!((one - two).0, [-1.0, 0.0, -5.0, 3.5]);
        assert_eq!((one * two).0, [2.0, 4.0, 24.0, 2.0]);
        assert_eq!((one / two).0, [0.5, 1.0, 0.375, 8.0]);
        assert_eq!(one.less(two).keep(one).0, [1.0, 0.0, 3.0, 0.0]);
        assert_eq!(one.less(two).drop(one).0, [0.0, 2.0, 0.0, 4.0]);
        assert_eq!(Mask::unlike(&[7, 8, 7, 9], 7).keep(one).0, [0.0, 2.0, 0.0, 4.0]);
        assert_eq!(two.at_least(Four::all(1.0)).0, [2.0, 2.0, 8.0, 1.0]);
        assert_eq!(two.at_most(one).0, [1.0, 2.0, 3.0, 0.5]);
        assert_eq!(one.sum(), 10.0);
    }
}
