//! Non-negative real numbers as a 32-bit mantissa and an exponent, in integer operations that BPF C can
//! repeat bit by bit.
//!
//! A value is `mantissa · 2^exponent` with the mantissa's top bit set, or zero. One operation is exact to one
//! part in 2³¹ and always rounds down, so a formula of n operations is exact to about n parts in 2³¹. Nothing
//! overflows: windows and round-trip times of any size can be squared and summed.
//!
//! # Checked by
//! `tests` below against `f64`. `golden/` against C.

/// A non-negative number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Soft {
    mantissa: u32,
    exponent: i32,
}

impl Soft {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };
    /// One.
    pub const ONE: Self = Self::new(1);

    /// An integer, rounded down to 32 significant bits.
    pub const fn new(value: u64) -> Self {
        Self::scaled(value, 0)
    }

    /// `value · 2^exponent`.
    const fn scaled(value: u64, exponent: i32) -> Self {
        if value == 0 {
            return Self::ZERO;
        }
        let shift = 32 - value.leading_zeros() as i32;
        let mantissa = if shift >= 0 {
            value >> shift
        } else {
            value << -shift
        };
        Self {
            mantissa: mantissa as u32,
            exponent: exponent + shift,
        }
    }

    /// `self · rhs`.
    pub const fn times(self, rhs: Self) -> Self {
        Self::scaled(
            self.mantissa as u64 * rhs.mantissa as u64,
            self.exponent + rhs.exponent,
        )
    }

    /// `self / rhs`. Division of or by zero gives zero: a path without a round-trip time has no rate.
    pub const fn over(self, rhs: Self) -> Self {
        if rhs.mantissa == 0 {
            return Self::ZERO;
        }
        Self::scaled(
            ((self.mantissa as u64) << 32) / rhs.mantissa as u64,
            self.exponent - rhs.exponent - 32,
        )
    }

    /// `self + rhs`.
    pub const fn plus(self, rhs: Self) -> Self {
        let (big, small) = if self.at_least(rhs) {
            (self, rhs)
        } else {
            (rhs, self)
        };
        let apart = big.exponent - small.exponent;
        if small.mantissa == 0 || apart >= 32 {
            return big;
        }
        // 31 spare bits keep the low bits of the smaller number.
        let sum = ((big.mantissa as u64) << 31) + (((small.mantissa as u64) << 31) >> apart);
        Self::scaled(sum, big.exponent - 31)
    }

    /// Whether `self ≥ rhs`.
    pub const fn at_least(self, rhs: Self) -> bool {
        match (self.mantissa, rhs.mantissa) {
            (_, 0) => true,
            (0, _) => false,
            (a, b) if self.exponent == rhs.exponent => a >= b,
            _ => self.exponent > rhs.exponent,
        }
    }

    /// The smaller of the two.
    pub const fn least(self, rhs: Self) -> Self {
        if self.at_least(rhs) { rhs } else { self }
    }

    /// The larger of the two.
    pub const fn most(self, rhs: Self) -> Self {
        if self.at_least(rhs) { self } else { rhs }
    }

    /// The value in units of 2⁻³², rounded down, at most 2³². This is the unit of window growth per
    /// acknowledged segment.
    pub const fn to_q32(self) -> u64 {
        // A mantissa has 32 bits: from an exponent of −31 up, the value is at least one.
        match self.exponent {
            _ if self.mantissa == 0 => 0,
            -31.. => 1 << 32,
            -63..=-32 => self.mantissa as u64 >> (-32 - self.exponent),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn real(soft: Soft) -> f64 {
        f64::from(soft.mantissa) * libm::exp2(f64::from(soft.exponent))
    }

    fn close(soft: Soft, exact: f64) -> bool {
        let got = real(soft);
        got <= exact * (1.0 + 1e-15) && got >= exact * (1.0 - 1.0 / 1_073_741_824.0)
    }

    #[test]
    fn small_integers_are_exact() {
        assert_eq!(real(Soft::new(10).over(Soft::new(5))), 2.0);
        assert_eq!(Soft::new(3).times(Soft::new(4)), Soft::new(12));
        assert_eq!(Soft::new(3).plus(Soft::new(4)), Soft::new(7));
        assert_eq!(Soft::ONE.over(Soft::new(4)).to_q32(), 1 << 30);
        assert_eq!(Soft::new(7).to_q32(), 1 << 32);
        assert_eq!(Soft::ONE.over(Soft::ZERO), Soft::ZERO);
    }

    proptest! {
        #[test]
        fn operations_are_exact_to_31_bits(a in 1u64.., b in 1u64..) {
            let (x, y) = (Soft::new(a), Soft::new(b));
            let (ra, rb) = (real(x), real(y));
            prop_assert!(close(x.times(y), ra * rb));
            prop_assert!(close(x.over(y), ra / rb));
            prop_assert!(close(x.plus(y), ra + rb));
            prop_assert_eq!(x.at_least(y), ra >= rb);
        }

        #[test]
        fn fixed_point_never_exceeds_one(a: u64, b in 1u64..) {
            prop_assert!(Soft::new(a).over(Soft::new(b)).to_q32() <= 1 << 32);
        }
    }
}
