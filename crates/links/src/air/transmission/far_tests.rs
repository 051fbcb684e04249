use proptest::prelude::*;
use units::wifi::Standard;
use units::{Bitrate, Dbm};

use super::*;
use crate::Position;
use crate::air::io::Kind;
use crate::air::phy::mode::Mode;
use crate::air::place::circle::millimetres;
use crate::air::place::geometry::Geometry;
use crate::air::place::grid::Grid;
use crate::air::rx::arrival::Arrival;
use crate::air::rx::foresight::Border;
use crate::air::rx::reception::milliwatts;
use crate::air::transmission::flight::{Flight, Flights, Source};
use crate::wifi::Propagation;
use alloc::vec::Vec;

const fn place(x_mm: i64, y_mm: i64) -> Position {
    Position { x_mm, y_mm }
}

fn flight(from: u32, position: Position, (start, end): (u64, u64)) -> Flight {
    Flight {
        from,
        to: None,
        kind: Kind::Data,
        mode: Mode::of(Standard::A, Bitrate::from_mbps(6)).expect("a rate of 802.11a"),
        channel: 0,
        bytes: 100,
        count: 1,
        got: 0,
        position,
        circle: Circle::at(position),
        milliwatts: milliwatts(Dbm::from_dbm(15)),
        rings: Rings::NEAR,
        start,
        payload: start,
        end,
        nav: end,
        sure: false,
        alone: None,
        over: false,
    }
}

fn noise() -> f64 {
    milliwatts(Dbm::from_dbm(-94))
}

/// A geometry with that path-loss exponent, in hundredths, its limits, and the rings of its sources.
fn limits(exponent_centi: u32) -> (Geometry, Limits, Rings) {
    let propagation = Propagation {
        exponent_centi,
        ..Propagation::indoor(Standard::A)
    };
    let geometry = Geometry::new(propagation, &[]);
    let mut limits = Limits::new(geometry.law(), 43_500, 1_000_000);
    let rings = limits.rings(milliwatts(Dbm::from_dbm(15)), noise(), noise() / 100.0);
    (geometry, limits, rings)
}

/// What one source adds to the mean over a frame, summed in the usual way.
fn exact(geometry: &Geometry, frame: &Flight, source: &Source, place: Position) -> f64 {
    let power = source.milliwatts * geometry.gain(source.position, place);
    let time = source.end.min(frame.end) - source.start.max(frame.start);
    if power > noise() / 100.0 {
        power * time as f64 / (frame.end - frame.start) as f64
    } else {
        0.0
    }
}

fn sources() -> impl Strategy<Value = Vec<(i64, i64, u64)>> {
    prop::collection::vec((-600_000_i64..600_000, -600_000_i64..600_000, 0_u64..900), 1..200)
}

proptest! {
    #[test]
    fn the_exact_sum_lies_within_the_bounds(
        at in sources(),
        (x, y) in (-30_000_i64..30_000, -30_000_i64..30_000),
        other in (-30_000_i64..30_000, -30_000_i64..30_000),
        exponent_centi in 260_u32..420,
    ) {
        let (geometry, limits, rings) = limits(exponent_centi);
        let circle = Circle::around(place(0, 0), [place(x, y), place(other.0, other.1)].into_iter());
        let flight = |from, at, time| Flight { rings, circle, ..flight(from, at, time) };
        let corners = [place(-600_000, -600_000), place(600_000, 600_000)];
        let mut flights = Flights::new(1, Grid::new(corners.into_iter(), 100_000_000));
        let frame = flight(0, place(0, 0), (1_000, 2_000));
        flights.begin(frame);
        for (number, &(x, y, start)) in at.iter().enumerate() {
            flights.begin(flight(1 + number as u32, place(x, y), (start + 200, start + 1_300)));
        }
        let (mut field, mut far) = (FarField::default(), Vec::new());
        let (receiver, mut arrival) = (place(x, y), Arrival::default());
        let at = flights.fine(receiver).expect("a small plan");
        for sources in flights.fields(0) {
            let sight = flights.sight(sources, &frame);
            for stretch in flights.within(sources, circle.middle, limits.scope_mm(&circle)) {
                let mut near = Nearby::default();
                field.add(&sight, &stretch, limits.rest, &mut near);
                arrival.add(&sight, at, &stretch, (&limits, Border::at(noise() / 100.0)));
                let near = near.places();
                let rest = (0..).zip(stretch.sources).filter(|(place, _)| !near.contains(place));
                far.extend(rest.map(|(_, source)| *source).filter(|source| source.disturbs(&frame)));
            }
        }
        let exact = |source: &Source| exact(&geometry, &frame, source, receiver);
        let sum: f64 = far.iter().map(exact).sum();
        let from_middle = millimetres(circle.middle, receiver);
        let [least, most] = field.over(1_000, &circle, &limits).at(&limits, from_middle);
        prop_assert!(least <= sum * (1.0 + 1e-9) && sum <= most * (1.0 + 1e-9), "{least} {sum} {most}");
        let [fewest, all] = arrival.over(1_000);
        prop_assert!(fewest <= sum && sum <= all, "{fewest} {sum} {all}");
        // A source at the border of what counts may be included or not.
        let at_border = |source: &&Source| {
            let power = source.milliwatts * geometry.gain(source.position, receiver);
            (power / (noise() / 100.0) - 1.0).abs() < 0.01
        };
        let doubt = far.iter().filter(at_border).count() as f64 * noise() / 50.0;
        prop_assert!(all - fewest <= 0.01 * sum + doubt, "{fewest} {sum} {all}");
        let strong = far.iter().any(|source| exact(source) > noise());
        prop_assert!(!strong, "what is stronger than noise is near");
        // Near the centre the bounds are tight.
        let close = libm::hypot(from_middle.0, from_middle.1) <= limits.nearest_mm(circle.radius_mm).0 / 10.0;
        prop_assert!(!close || sum < noise() || most < 1.5 * sum, "{most} {sum}");
    }
}
