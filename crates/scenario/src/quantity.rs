//! Numbers with units as a file writes them, with the bounds beyond which they are a mistake.

use crate::document::Value;

/// A kind of number: its unit in the file, the fine unit that plans count in, and its bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantity {
    /// The unit in the file, for people.
    pub unit: &'static str,
    /// Fine units in one unit of the file.
    pub scale: f64,
    /// The least, in the unit of the file.
    pub min: f64,
    /// The most, in the unit of the file.
    pub max: f64,
}

impl Quantity {
    const fn new(unit: &'static str, scale: f64, min: f64, max: f64) -> Self {
        Self {
            unit,
            scale,
            min,
            max,
        }
    }

    /// Megabits per second, counted in bits per second: 1 kb/s to 100 Gb/s.
    pub const MBPS: Self = Self::new("Mb/s", 1e6, 0.001, 100_000.0);
    /// Milliseconds, counted in nanoseconds: up to a minute.
    pub const MS: Self = Self::new("ms", 1e6, 0.0, 60_000.0);
    /// Milliseconds that pass: at least 0.1.
    pub const SOME_MS: Self = Self::new("ms", 1e6, 0.1, 60_000.0);
    /// Milliseconds that a packet takes: at least a microsecond.
    pub const PACKET_MS: Self = Self::new("ms", 1e6, 0.001, 1_000.0);
    /// A point in time in seconds, counted in nanoseconds: up to a day.
    pub const S: Self = Self::new("s", 1e9, 0.0, 86_400.0);
    /// Seconds that pass: at least 1 ms.
    pub const SOME_S: Self = Self::new("s", 1e9, 0.001, 86_400.0);
    /// Metres, counted in millimetres: a place of 200 km.
    pub const M: Self = Self::new("m", 1e3, -100_000.0, 100_000.0);
    /// Metres of a length.
    pub const SOME_M: Self = Self::new("m", 1e3, 0.1, 100_000.0);
    /// Metres per second, counted in millimetres per second.
    pub const M_PER_S: Self = Self::new("m/s", 1e3, 0.01, 200.0);
    /// Transmit power in dBm, counted in mBm: up to what the most generous regulator allows.
    pub const DBM: Self = Self::new("dBm", 100.0, -30.0, 36.0);
    /// A power that receivers sense in dBm, counted in mBm: from below a channel's noise to the power beside
    /// the sender.
    pub const SENSED_DBM: Self = Self::new("dBm", 100.0, -110.0, 0.0);
    /// What a signal must exceed others by in dB, counted in hundredths.
    pub const MARGIN_DB: Self = Self::new("dB", 100.0, 0.0, 60.0);
    /// A loss in dB, counted in hundredths.
    pub const LOSS_DB: Self = Self::new("dB", 100.0, 0.0, 200.0);
    /// A Rice factor in dB, counted in hundredths.
    pub const K_DB: Self = Self::new("dB", 100.0, -20.0, 40.0);
    /// A path loss exponent, counted in hundredths: from a wave guide to a cluttered building.
    pub const EXPONENT: Self = Self::new("", 100.0, 1.0, 8.0);
    /// Percent, counted in parts per million.
    pub const PERCENT: Self = Self::new("%", 1e4, 0.0, 100.0);
    /// Percent that leave something over, counted in parts per million.
    pub const SOME_PERCENT: Self = Self::new("%", 1e4, 0.0, 99.9);
    /// Kilobytes (1,000 bytes), counted in bytes: at least one byte.
    pub const KB: Self = Self::new("kB", 1e3, 0.001, 1e9);
    /// Bytes of a datagram: what fits into an IPv4 packet.
    pub const DATAGRAM: Self = Self::new("bytes", 1.0, 1.0, 65_507.0);
    /// Megabytes (1,000,000 bytes), counted in bytes: at least one byte.
    pub const MB: Self = Self::new("MB", 1e6, 0.000_001, 1e7);
    /// A factor, counted in thousandths.
    pub const TIMES: Self = Self::new("", 1e3, 0.001, 1_000.0);

    /// The amount in fine units; `None` if the value is no number or out of bounds.
    pub fn of(&self, value: &Value) -> Option<i64> {
        let number = match *value {
            Value::Integer(whole) => whole? as f64,
            Value::Float(number) => number,
            _ => return None,
        };
        (number >= self.min && number <= self.max).then(|| (number * self.scale).round() as i64)
    }

    /// What would be right, for people.
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() { "" } else { " " };
        format!("a number from {} to {}{unit}{}", self.min, self.max, self.unit)
    }
}
