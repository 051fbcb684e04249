//! Circles around the stations that hear a sender: the distance from all of them decides what is near and
//! what is far for a frame.
//!
//! # Where we differ, and why
//! 1. It is not the smallest circle. The centre is that of the bounding rectangle, or the sender's place if
//!    that makes a smaller circle.
//! 2. The sender stands within twice the radius, so it always counts as near.
//!
//! # Checked by
//! `tests`.

use crate::Position;

/// A circle around some places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::air) struct Circle {
    pub(in crate::air) middle: Position,
    pub(in crate::air) radius_mm: f64,
}

/// No circle is smaller: the position error of single precision must be small in comparison.
const LEAST_MM: f64 = 5e3;

impl Circle {
    /// A circle around those at this one place.
    pub(in crate::air) const fn at(middle: Position) -> Self {
        Self {
            middle,
            radius_mm: LEAST_MM,
        }
    }

    /// Around all these places, not wider than a circle centred on `sender` would have to be. The sender is
    /// within twice the radius.
    pub(in crate::air) fn around(sender: Position, places: impl Iterator<Item = Position> + Clone) -> Self {
        let Some(middle) = middle(places.clone()) else {
            return Self::at(sender);
        };
        let [mut own, other] = [middle, sender].map(|middle| Self::with(middle, places.clone()));
        let half = libm::sqrt(squared_mm(middle, sender)) / 2.0;
        own.radius_mm = own.radius_mm.max(libm::ceil(half));
        if own.radius_mm < other.radius_mm {
            own
        } else {
            other
        }
    }

    fn with(middle: Position, places: impl Iterator<Item = Position>) -> Self {
        let squares = places.map(|place| squared_mm(middle, place));
        let farthest = libm::ceil(libm::sqrt(squares.fold(0.0, f64::max)));
        Self {
            middle,
            radius_mm: farthest.max(LEAST_MM),
        }
    }

    pub(in crate::air) fn contains(&self, place: Position) -> bool {
        squared_mm(self.middle, place) <= self.radius_mm * self.radius_mm
    }
}

/// The centre of the bounding rectangle of these places.
fn middle(places: impl Iterator<Item = Position>) -> Option<Position> {
    let corners = places
        .map(|place| (place, place))
        .reduce(|(least, most), (place, _)| {
            let least = Position {
                x_mm: least.x_mm.min(place.x_mm),
                y_mm: least.y_mm.min(place.y_mm),
            };
            let most = Position {
                x_mm: most.x_mm.max(place.x_mm),
                y_mm: most.y_mm.max(place.y_mm),
            };
            (least, most)
        });
    corners.map(|(least, most)| Position {
        x_mm: least.x_mm.midpoint(most.x_mm),
        y_mm: least.y_mm.midpoint(most.y_mm),
    })
}

fn squared_mm(from: Position, to: Position) -> f64 {
    let (x, y) = millimetres(from, to);
    x * x + y * y
}

/// From one place to another.
pub(in crate::air) fn millimetres(from: Position, to: Position) -> (f64, f64) {
    ((to.x_mm - from.x_mm) as f64, (to.y_mm - from.y_mm) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn places() -> impl Strategy<Value = Vec<Position>> {
        let place = (-90_000_i64..90_000, -90_000_i64..90_000);
        let place = place.prop_map(|(x_mm, y_mm)| Position { x_mm, y_mm });
        prop::collection::vec(place, 0..20)
    }

    proptest! {
        #[test]
        fn all_are_in_it_and_it_is_not_wider_than_around_the_sender(places in places()) {
            let sender = Position::default();
            let circle = Circle::around(sender, places.iter().copied());
            prop_assert!(places.iter().all(|&place| circle.contains(place)));
            let farthest = places.iter().map(|&place| squared_mm(sender, place)).fold(0.0, f64::max);
            prop_assert!(circle.radius_mm <= (libm::sqrt(farthest) + 1.0).max(LEAST_MM));
            prop_assert!(squared_mm(sender, circle.middle) <= 4.0 * circle.radius_mm * circle.radius_mm);
        }
    }

    #[test]
    fn a_sender_at_the_rim_is_not_in_the_middle() {
        let places = [(10_000, 0), (20_000, 10_000), (30_000, 0)];
        let places = places.map(|(x_mm, y_mm)| Position { x_mm, y_mm });
        let circle = Circle::around(Position::default(), places.into_iter());
        assert_eq!(
            circle.middle,
            Position {
                x_mm: 20_000,
                y_mm: 5_000
            }
        );
        assert!((11_180.0..11_182.0).contains(&circle.radius_mm));
        assert!(!circle.contains(Position::default()));
        assert_eq!(
            Circle::around(places[0], core::iter::empty()),
            Circle::at(places[0])
        );
    }
}
