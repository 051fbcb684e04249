//! Who is where at what time.

use super::{Point, SingleRadio, Thresholds};
use units::{Bitrate, Dbm, Duration};

/// Somebody with a radio, and the way they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walker {
    /// Who; the client is called `client`.
    pub name: String,
    /// Transmit power of the radio, antenna gain included.
    pub tx_power: Dbm,
    /// The rate at which the walker's radio sends in virtual time. `None`: as the access point sends.
    pub rate: Option<WalkerRate>,
    /// Whether the walker's radio sleeps between beacons.
    pub power_save: bool,
    /// The radio that serves all access points in turn. `None`: a radio on each channel.
    pub radio: Option<SingleRadio>,
    /// What their radio senses, and when it asks before it sends.
    pub thresholds: Thresholds,
    /// Whether they are associated already with what is in reach when the run begins, in virtual time.
    pub associated: bool,
    /// Where they are when: at least one, times never decrease, straight lines between.
    pub way: Vec<Waypoint>,
}

/// Rate at which a walker's radio sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkerRate {
    /// The one with the most goodput at the signal of the walker's first place.
    Auto,
    /// Always this rate.
    Fixed(Bitrate),
}

/// A point of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waypoint {
    /// When, since the start of the run.
    pub at: Duration,
    /// Where.
    pub point: Point,
}

impl Walker {
    /// The position: the first point before the walk begins, the last one after it ends. Of two points with
    /// the same time the later one counts.
    pub fn position(&self, at: Duration) -> Point {
        let next = self.way.partition_point(|waypoint| waypoint.at <= at);
        match (next.checked_sub(1).map(|last| self.way[last]), self.way.get(next)) {
            (Some(last), Some(next)) => between(last, *next, at),
            (Some(only), None) => only.point,
            (None, first) => first.map_or_else(Point::default, |first| first.point),
        }
    }
}

fn between(from: Waypoint, to: Waypoint, at: Duration) -> Point {
    let (gone, whole) = (
        (at - from.at).as_nanos() as i128,
        (to.at - from.at).as_nanos() as i128,
    );
    let part = |a: i64, b: i64| a + ((i128::from(b) - i128::from(a)) * gone / whole) as i64;
    Point {
        x_mm: part(from.point.x_mm, to.point.x_mm),
        y_mm: part(from.point.y_mm, to.point.y_mm),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walker(points: &[(u64, i64, i64)]) -> Walker {
        let waypoint = |&(s, x, y): &(u64, i64, i64)| Waypoint {
            at: Duration::from_secs(s),
            point: Point::from_m(x, y),
        };
        Walker {
            name: "client".into(),
            tx_power: Dbm::from_dbm(15),
            rate: None,
            power_save: false,
            radio: None,
            thresholds: Thresholds::default(),
            associated: true,
            way: points.iter().map(waypoint).collect(),
        }
    }

    #[test]
    fn walks_straight_lines_and_stays_at_the_ends() {
        let walker = walker(&[(2, 0, 0), (4, 10, -20), (6, 10, -20), (7, 10, 0)]);
        let at = |ms| walker.position(Duration::from_millis(ms));
        assert_eq!(at(0), Point::from_m(0, 0));
        assert_eq!(at(3_000), Point::from_m(5, -10));
        assert_eq!(at(5_000), Point::from_m(10, -20));
        assert_eq!(at(6_500), Point::from_m(10, -10));
        assert_eq!(at(90_000), Point::from_m(10, 0));
    }

    #[test]
    fn a_jump_takes_no_time() {
        let walker = walker(&[(0, 0, 0), (1, 1, 0), (1, 9, 0), (2, 9, 0)]);
        assert_eq!(walker.position(Duration::from_secs(1)), Point::from_m(9, 0));
    }

    proptest! {
        #[test]
        fn walkers_stay_on_their_path(ms in 0u64..20_000, x in -1_000i64..1_000, y in -1_000i64..1_000) {
            let walker = walker(&[(0, 0, 0), (10, x, y)]);
            let here = walker.position(Duration::from_millis(ms));
            let way = Point::from_m(0, 0).distance_mm(here) + here.distance_mm(Point::from_m(x, y));
            prop_assert!(way <= Point::from_m(0, 0).distance_mm(Point::from_m(x, y)) + 4);
        }
    }
}
