//! A number between 0 and 1 as an integer.

use core::fmt;

/// A probability or a share: 0..=2³² parts of 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u64);

impl Ratio {
    /// Never; nothing.
    pub const ZERO: Self = Self(0);
    /// Always; all of it.
    pub const ONE: Self = Self(1 << 32);

    /// From parts per million, at most a million.
    pub const fn from_ppm(ppm: u32) -> Self {
        Self::from_fraction(ppm as u64, 1_000_000)
    }

    /// `part / whole`, at most one; zero of nothing is zero.
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

    /// From a real number, clamped to 0..=1; not-a-number is 0.
    pub fn clamped(value: f64) -> Self {
        // A float-to-int cast saturates and sends NaN to zero.
        Self(((value * 4_294_967_296.0) as u64).min(Self::ONE.0))
    }

    /// Parts of 2³².
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The real number, for formulas and pictures.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }

    /// One minus this.
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
