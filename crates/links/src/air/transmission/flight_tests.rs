use super::*;
use crate::air::io::Kind;
use units::wifi::Standard;

fn at(x_mm: i64) -> Position {
    Position { x_mm, y_mm: 0 }
}

fn flight(from: u32, x_mm: i64, start: u64, end: u64) -> Flight {
    flying(from, at(x_mm), (start, end))
}

/// A frame of 1 mW from there.
pub(in crate::air) fn flying(from: u32, position: Position, (start, end): (u64, u64)) -> Flight {
    Flight {
        from,
        to: None,
        kind: Kind::Data,
        mode: Mode::basic(Standard::A),
        channel: 0,
        bytes: 100,
        count: 1,
        got: 0,
        position,
        circle: Circle::at(position),
        milliwatts: 1.0,
        rings: Rings::NEAR,
        start,
        payload: start,
        end,
        nav: end,
        sure: true,
        alone: None,
        over: false,
    }
}

fn flights() -> Flights {
    Flights::new(1, Grid::new([at(0), at(10_000)].into_iter(), 1_000))
}

fn senders(flights: &Flights, id: u16) -> Vec<u32> {
    let flight = flights.get(id);
    let around = flights.around(0, flight.position, 1_000);
    let around = around.flatten();
    let beside = around.filter(|other| other.disturbs(flight));
    let mut senders: Vec<u32> = beside.map(|other| other.from).collect();
    senders.sort_unstable();
    senders
}

#[test]
fn frames_that_overlap_are_remembered_until_nothing_is_left_that_they_overlap() {
    let mut flights = flights();
    let long = flights.begin(flight(1, 0, 0, 1_000));
    for n in 0..20 {
        let short = flights.begin(flight(2 + n, 10, u64::from(n) * 50, u64::from(n) * 50 + 40));
        assert_eq!(senders(&flights, short), [1]);
        flights.end(short);
    }
    assert_eq!(senders(&flights, long).len(), 20);
    flights.end(long);
    let next = flights.begin(flight(50, 0, 2_000, 3_000));
    assert!(senders(&flights, next).is_empty());
    flights.end(next);
    assert!(flights.all.len() == 2 && flights.channels[0].order.is_empty());
}

#[test]
fn a_frame_is_alone_until_another_begins() {
    let mut flights = flights();
    let one = flights.begin(flight(1, 0, 0, 100));
    assert!(flights.is_alone(one));
    let other = flights.begin(flight(2, 10_000, 50, 150));
    assert!(!flights.is_alone(one) && !flights.is_alone(other));
    flights.end(one);
    assert!(!flights.is_alone(other));
}

#[test]
fn what_is_too_far_to_matter_is_not_asked() {
    let mut flights = flights();
    let near = flights.begin(flight(1, 0, 0, 100));
    let far = flights.begin(flight(2, 10_000, 0, 100));
    assert!(senders(&flights, near).is_empty());
    flights.begin(flight(3, 9_500, 0, 100));
    assert_eq!(senders(&flights, far), [3]);
}
