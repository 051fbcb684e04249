//! Numbers between 0 and 1 as integers.

use core::fmt;

/// Probability or share, in units of 2⁻³²: 0..=2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u64);

impl Ratio {
    /// Zero: never, or nothing.
    pub const ZERO: Self = Self(0);
    /// One: always, or everything.
    pub const ONE: Self = Self(1 << 32);

    /// Ratio from parts per million, capped at one.
    pub const fn from_ppm(ppm: u32) -> Self {
        Self::from_fraction(ppm as u64, 1_000_000)
    }

    /// `part / whole`, capped at one. Zero if `whole` is zero.
    pub const fn from_fraction(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let scaled = ((part as u128) << 32) / whole as u128;
        if scaled > Self::ONE.0 as u128 {
            Self::ONE
        } else {
            Self(scaled as u64)
        }
    }

    /// Ratio from a real number, clamped to 0..=1. NaN gives 0.
    pub fn clamped(value: f64) -> Self {
        // A float-to-int cast saturates and turns NaN into zero.
        Self(((value * 4_294_967_296.0) as u64).min(Self::ONE.0))
    }

    /// Value in units of 2⁻³².
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// Value as a real number, for formulas and plots.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }

    /// One minus this ratio.
    pub const fn complement(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 10_000) >> 32;
        write!(f, "{}.{:02} %", hundredths / 100, hundredths % 100)
    }
}
