//! The floor plan.

use units::{Db, Dbm, Duration};

/// A position, in millimetres east and north of the plan's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Point {
    /// East.
    pub x_mm: i64,
    /// North.
    pub y_mm: i64,
}

impl Point {
    /// The point at this many whole metres.
    pub const fn from_m(x: i64, y: i64) -> Self {
        Self {
            x_mm: x * 1_000,
            y_mm: y * 1_000,
        }
    }

    /// Metres east and north, for people and pictures.
    pub fn as_m_f64(self) -> (f64, f64) {
        (self.x_mm as f64 / 1e3, self.y_mm as f64 / 1e3)
    }

    /// The distance in millimetres, rounded down.
    pub fn distance_mm(self, to: Self) -> u64 {
        let square = |a: i64, b: i64| {
            let difference = u128::from(a.abs_diff(b));
            difference * difference
        };
        (square(self.x_mm, to.x_mm) + square(self.y_mm, to.y_mm)).isqrt() as u64
    }
}

/// The walls between the radios, the labels on the picture, and the sources of noise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The walls.
    pub walls: Vec<Wall>,
    /// The words.
    pub labels: Vec<Label>,
    /// Sources on the air that are not WiFi.
    pub noises: Vec<Noise>,
}

/// Something on a channel that is not 802.11: a microwave oven, a video link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noise {
    /// Its name.
    pub name: String,
    /// Its position.
    pub at: Point,
    /// The channel that it is on.
    pub channel: u8,
    /// Its power within that channel.
    pub power: Dbm,
    /// How long it is on.
    pub on: Duration,
    /// How long it is off.
    pub off: Duration,
    /// Both times are exponentially distributed with these means, not always the same.
    pub random: bool,
}

/// A wall, seen from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// One end.
    pub from: Point,
    /// The other end.
    pub to: Point,
    /// What a signal loses in it.
    pub loss: Db,
}

/// A word on the picture ("stairs").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// What it says.
    pub text: String,
    /// The position of its centre.
    pub at: Point,
}
