//! Amounts of data and bit rates.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::time::Duration;

/// Amount of data, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// Amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Amount from kibibytes (1,024 bytes each).
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib * 1024)
    }

    /// Number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Number of bits. Saturates.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// `self − rhs`, or zero if `rhs` is larger.
    pub const fn saturating_sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }

    /// Mean rate of moving this amount in `time`. Zero if `time` is zero.
    pub fn per(self, time: Duration) -> Bitrate {
        match time.as_nanos() {
            0 => Bitrate::ZERO,
            ns => Bitrate::from_bps(clamp(u128::from(self.0) * 8 * 1_000_000_000 / ns)),
        }
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Bytes {
    type Output = Self;

    /// Saturates at zero, so that counters read in the wrong order do not wrap.
    fn sub(self, rhs: Self) -> Self {
        self.saturating_sub(rhs)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;

    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Bytes {
    type Output = Self;

    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} B", self.0),
            1_000..1_000_000 => write!(f, "{}.{} kB", self.0 / 1_000, self.0 % 1_000 / 100),
            _ => write!(f, "{}.{} MB", self.0 / 1_000_000, self.0 % 1_000_000 / 100_000),
        }
    }
}

/// Rate, in bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Rate from bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Rate from kb/s (1,000 bit/s).
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps.saturating_mul(1_000))
    }

    /// Rate from Mb/s (1,000,000 bit/s).
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }

    /// Rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Rate in Mb/s, for display and plots only.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Time to move `bytes` at this rate, rounded up. `None` if the rate is zero.
    pub fn time_for(self, bytes: Bytes) -> Option<Duration> {
        let bit_ns = u128::from(bytes.get()) * 8 * 1_000_000_000;
        (self.0 != 0).then(|| Duration::from_nanos(clamp(bit_ns.div_ceil(u128::from(self.0)))))
    }

    /// `percent` percent of this rate.
    pub const fn percent(self, percent: u64) -> Self {
        Self((self.0 as u128 * percent as u128 / 100) as u64)
    }
}

const fn clamp(value: u128) -> u64 {
    if value > u64::MAX as u128 {
        u64::MAX
    } else {
        value as u64
    }
}

impl Mul<Duration> for Bitrate {
    type Output = Bytes;

    /// Amount moved in that time, rounded down.
    fn mul(self, rhs: Duration) -> Bytes {
        Bytes::new(clamp(u128::from(self.0) * rhs.as_nanos() / 8_000_000_000))
    }
}

impl Add for Bitrate {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Bitrate {
    type Output = Self;

    /// Saturates at zero.
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Sum for Bitrate {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000_000 => write!(f, "{}.{} kb/s", self.0 / 1_000, self.0 % 1_000 / 100),
            _ => write!(f, "{}.{} Mb/s", self.0 / 1_000_000, self.0 % 1_000_000 / 100_000),
        }
    }
}

/// An 802.11 sequence number: 12 bits that wrap (IEEE 802.11-2020 §9.2.4.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNum(u16);

impl SeqNum {
    /// Number of distinct sequence numbers.
    pub const MODULUS: u16 = 4096;

    /// Sequence number from the low 12 bits of `number`.
    pub const fn new(number: u16) -> Self {
        Self(number % Self::MODULUS)
    }

    /// The number, 0 to 4095.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Next sequence number, which wraps to 0 after 4095.
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }

    /// Number of increments from `earlier` to `self`, 0..4096.
    pub const fn distance_from(self, earlier: Self) -> u16 {
        (self.0 + Self::MODULUS - earlier.0) % Self::MODULUS
    }
}
