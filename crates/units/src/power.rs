//! Received power and gain, in hundredths of a decibel.

use core::fmt;
use core::ops::{Add, Neg, Sub};

/// Power in mBm (1/100 dBm), the unit in which nl80211 reports a BSS.
///
/// Two powers cannot be added. Their difference is a gain, [`Db`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dbm(i32);

/// Gain or power ratio, in 1/100 dB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Db(i32);

impl Dbm {
    /// Power from whole dBm.
    pub const fn from_dbm(dbm: i32) -> Self {
        Self(dbm * 100)
    }

    /// Power from hundredths of a dBm.
    pub const fn from_mbm(mbm: i32) -> Self {
        Self(mbm)
    }

    /// Power in hundredths of a dBm.
    pub const fn as_mbm(self) -> i32 {
        self.0
    }

    /// Power in dBm, for formulas and plots.
    pub fn as_dbm_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl Db {
    /// Gain from whole decibels.
    pub const fn from_db(db: i32) -> Self {
        Self(db * 100)
    }

    /// Gain from hundredths of a decibel.
    pub const fn from_centi(centi: i32) -> Self {
        Self(centi)
    }

    /// Gain of `db` decibels, rounded to the nearest hundredth. Saturates at the range of `i32`.
    pub fn round_from(db: f64) -> Self {
        Self(libm::round(db * 100.0) as i32)
    }

    /// Gain in hundredths of a decibel.
    pub const fn as_centi(self) -> i32 {
        self.0
    }

    /// Gain in decibels, for formulas and plots.
    pub fn as_db_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Ratio of powers, 10^(dB/10).
    pub fn linear(self) -> f64 {
        libm::exp10(self.as_db_f64() / 10.0)
    }
}

impl Sub for Dbm {
    type Output = Db;

    fn sub(self, rhs: Self) -> Db {
        Db(self.0.saturating_sub(rhs.0))
    }
}

impl Add<Db> for Dbm {
    type Output = Self;

    fn add(self, rhs: Db) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub<Db> for Dbm {
    type Output = Self;

    fn sub(self, rhs: Db) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Add for Db {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Db {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Neg for Db {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

fn write_centi(f: &mut fmt::Formatter<'_>, centi: i32, unit: &str) -> fmt::Result {
    let sign = if centi < 0 { "-" } else { "" };
    write!(
        f,
        "{sign}{}.{:02} {unit}",
        centi.unsigned_abs() / 100,
        centi.unsigned_abs() % 100
    )
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_centi(f, self.0, "dBm")
    }
}

impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_centi(f, self.0, "dB")
    }
}
