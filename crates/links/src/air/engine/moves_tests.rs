use alloc::vec::Vec;

use super::*;
use crate::air::{AirConfig, Destination, Input, Output, Packet, StationConfig};
use crate::config::{Countdown, Eifs};
use units::Instant;
use units::wifi::Standard;

fn station(name: &str, x_mm: i64) -> StationConfig {
    StationConfig {
        also: Vec::from([40, 44]),
        ..StationConfig::new(name, Standard::A, Position { x_mm, y_mm: 0 })
    }
}

fn air() -> Air {
    let stations = Vec::from([
        station("ap", 0),
        station("laptop", 5_000),
        station("far", 500_000),
    ]);
    Air::new(1, &AirConfig::new(Standard::A, stations)).unwrap()
}

fn send(air: &mut Air, ms: u64, to: u32) {
    let packet = Packet::new(Destination::Station(StationId(to)), 1_500, ms);
    air.handle(Instant::from_millis(ms), Input::Send(StationId(0), packet));
}

fn received(air: &mut Air, ms: u64) -> Vec<u64> {
    air.tick(Instant::from_millis(ms));
    core::iter::from_fn(|| air.poll())
        .filter_map(|output| match output {
            Output::Received { packet, .. } => Some(packet.token),
            Output::Done { .. } => None,
        })
        .collect()
}

#[test]
fn who_comes_near_is_heard_and_who_leaves_is_not() {
    let mut air = air();
    send(&mut air, 0, 2);
    assert!(received(&mut air, 100).is_empty());
    let near = Position { x_mm: 6_000, y_mm: 0 };
    air.handle(Instant::from_millis(100), Input::Move(StationId(2), near));
    send(&mut air, 101, 2);
    assert_eq!(received(&mut air, 200), [101]);
    let gone = Position {
        x_mm: -700_000,
        y_mm: 0,
    };
    air.handle(Instant::from_millis(200), Input::Move(StationId(0), gone));
    send(&mut air, 201, 2);
    send(&mut air, 202, 1);
    assert!(received(&mut air, 400).is_empty());
}

#[test]
fn a_radio_hears_only_the_channel_that_it_is_on() {
    let mut air = air();
    let tune = |air: &mut Air, ms, station, channel| {
        air.handle(Instant::from_millis(ms), Input::Tune(StationId(station), channel));
    };
    tune(&mut air, 0, 1, Some(40));
    send(&mut air, 1, 1);
    assert!(received(&mut air, 100).is_empty());
    tune(&mut air, 100, 0, Some(40));
    send(&mut air, 101, 1);
    assert_eq!(received(&mut air, 200), [101]);
    // Packets queued while the radio is away wait for its return.
    tune(&mut air, 200, 0, None);
    send(&mut air, 201, 1);
    assert!(received(&mut air, 300).is_empty());
    tune(&mut air, 300, 0, Some(40));
    assert_eq!(received(&mut air, 400), [201]);
}

#[test]
fn a_radio_that_is_sending_finishes_its_exchange_before_it_turns() {
    let mut air = air();
    send(&mut air, 0, 1);
    air.handle(Instant::from_micros(100), Input::Tune(StationId(0), Some(44)));
    assert_eq!(received(&mut air, 1), [0]);
    assert_eq!(air.counters(StationId(0)).acknowledged, 1);
    send(&mut air, 2, 1);
    assert!(received(&mut air, 100).is_empty());
}

/// Another frame in place of the awaited answer ends the wait, but has to be answered first.
#[test]
fn a_radio_that_waits_for_an_answer_answers_another_frame_before_it_turns() {
    let stations = Vec::from([
        station("ap", 0),
        station("laptop", 5_000),
        station("far", 500_000),
    ]);
    let mut config = AirConfig::new(Standard::A, stations);
    // The laptop waits long enough for the other frame to begin meanwhile.
    config.rules.countdown = Countdown::BusyCountsAsSlot;
    config.rules.eifs = Eifs::AfterAnyError;
    let mut air = Air::new(0, &config).unwrap();
    let packet = |to, bytes| Packet::new(to, bytes, 0);
    let at = Instant::from_micros;
    let [ap, laptop, far] = [0, 1, 2].map(StationId);
    air.handle(at(0), Input::Send(laptop, packet(Destination::Station(far), 286)));
    air.handle(at(34), Input::Tune(laptop, None));
    air.handle(at(106), Input::Send(ap, packet(Destination::Everyone, 50)));
    air.handle(at(106), Input::Send(ap, packet(Destination::Station(laptop), 50)));
    air.tick(Instant::from_millis(10));
    assert_eq!(air.counters(laptop).failures, 1, "its own frame");
    assert_eq!(air.counters(ap).acknowledged, 1, "the other frame");
    // Then it is away.
    air.handle(
        Instant::from_millis(10),
        Input::Send(ap, packet(Destination::Station(laptop), 50)),
    );
    air.tick(Instant::from_millis(100));
    assert_eq!(air.counters(ap).acknowledged, 1);
}

#[test]
fn changes_in_the_middle_of_frames_leave_nothing_hanging() {
    let mut air = air();
    let mut rng = units::Rng::named(3, "chaos");
    for step in 0..20_000_u64 {
        let now = Instant::from_micros(step * 130);
        let station = StationId(rng.below(3) as u32);
        let input = match rng.below(6) {
            0 => Input::Tune(
                station,
                [None, Some(36), Some(40), Some(44)][rng.below(4) as usize],
            ),
            1 => {
                let x_mm = rng.below(60_000) as i64;
                Input::Move(station, Position { x_mm, y_mm: 0 })
            }
            2 => Input::Withdraw(station, StationId((station.0 + 1) % 3)),
            _ => {
                let to = Destination::Station(StationId((station.0 + 1) % 3));
                Input::Send(station, Packet::new(to, 800, step))
            }
        };
        air.handle(now, input);
        while air.poll().is_some() {}
    }
    // All together again, the stations continue as if nothing had happened.
    let end = Instant::from_secs(3);
    for number in 0..3 {
        air.handle(end, Input::Tune(StationId(number), Some(36)));
        air.handle(end, Input::Move(StationId(number), Position::default()));
    }
    air.tick(Instant::from_secs(6));
    while air.poll().is_some() {}
    assert!((0..3).all(|number| air.waiting(StationId(number)) == 0));
    let packet = Packet::new(Destination::Station(StationId(1)), 800, u64::MAX);
    air.handle(Instant::from_secs(7), Input::Send(StationId(0), packet));
    assert_eq!(received(&mut air, 7_010), [u64::MAX]);
}

#[test]
fn what_is_withdrawn_comes_back() {
    let mut air = air();
    for to in [1, 2, 1] {
        let packet = Packet::new(Destination::Station(StationId(to)), 1_500, u64::from(to));
        air.handle(Instant::ZERO, Input::Send(StationId(0), packet));
    }
    air.handle(Instant::ZERO, Input::Withdraw(StationId(0), StationId(1)));
    let back: Vec<_> = core::iter::from_fn(|| air.poll())
        .filter(|output| {
            matches!(
                output,
                Output::Done {
                    fate: crate::air::Fate::Withdrawn,
                    ..
                }
            )
        })
        .collect();
    assert_eq!(back.len(), 2);
    assert_eq!(air.waiting(StationId(0)), 1);
}
