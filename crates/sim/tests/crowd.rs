//! Crowds of saturated stations that upload to one access point: nobody loses its association, and the
//! throughput is that of the slot-by-slot simulation. The chain agrees with both at a hundred stations. At
//! 500 it is a third lower, because it assumes that stations are independent.
//!
//! Neither has beacons. These take 0.4 % of the air: 9.77 a second, each 357 µs at 6 Mb/s, and DIFS.

mod common;

use std::fmt::Write as _;

use sim::theory::{After, Cell, Costs, Prediction, countdown, monte_carlo};
use sim::{Play, Played, play};
use trace::PolicyName;
use units::Bitrate;
use units::wifi::Standard;

const PAYLOAD: u32 = 1_470;

/// All stations stand in one place, so that no frame captures the receiver.
fn crowd(stations: u32, seconds: u32) -> Played {
    let mut text = format!(
        "sentence = \"Saturated stations in one place.\"\nduration_s = {seconds}\n\n[aps.near]\nat_m = [0, 0]\n\
         standard = \"a\"\nchannel = 36\nrate_mbps = 54\nbackhaul = {{ rate_mbps = 1000, rtt_ms = 2 }}\n"
    );
    for number in 0..stations {
        let name = match number {
            0 => "client".to_owned(),
            _ => format!("other{number}"),
        };
        write!(
            text,
            "\n[walkers.{name}]\nat_m = [5, 0]\n\n[flows.up{number}]\ntransport = \"udp\"\nover = \"near\"\nby = \"{name}\"\n\
             direction = \"up\"\npayload_bytes = {PAYLOAD}\n"
        )
        .unwrap();
    }
    let plan = common::plan(&text, &[]);
    play(&Play {
        events: false,
        ..Play::new(&plan, PolicyName::Slowhand)
    })
    .unwrap()
}

/// Cell, costs and throughput that a crowd should reach.
fn theory(stations: u32) -> (Cell, Costs, Prediction) {
    let cell = Cell::of(Standard::A, stations, Some(7));
    let costs = Costs::of(Standard::A, Bitrate::from_mbps(54), PAYLOAD, After::Difs);
    (cell, costs, monte_carlo::predict(&cell, &costs, 150_000, 1))
}

fn assert_agrees(what: &str, mbps: f64, theory: Prediction) {
    assert!(
        (mbps / theory.throughput - 1.0).abs() < 0.02,
        "{what}: {mbps} {theory:?}"
    );
}

fn assert_stays_and_agrees(stations: u32, seconds: u32) -> f64 {
    let played = crowd(stations, seconds);
    let notes = played.run.notes.iter();
    let lost: Vec<&String> = notes.filter(|note| note.contains("lost it")).collect();
    assert!(lost.is_empty(), "{} of {stations}: {lost:?}", lost.len());
    let bytes: u64 = played.run.flows.iter().map(|flow| flow.bytes).sum();
    let mbps = bytes as f64 * 8e-6 / played.run.duration_s;
    let (.., drawn) = theory(stations);
    let link = &played.run.links[0];
    let collided = link.collisions as f64 / link.frames as f64;
    println!("{stations} stations: {mbps:.3} Mb/s, {collided:.4} collided; {drawn:?}; {link:?}");
    assert_agrees("simulated slots", mbps, drawn);
    assert!((collided - drawn.collision).abs() < 0.01, "{collided} {drawn:?}");
    assert!(
        link.retries < link.frames && link.airtime_share <= 1.0,
        "{link:?}"
    );
    assert!(played.record.events.is_empty());
    mbps
}

#[test]
fn a_hundred_saturated_stations_stay_associated() {
    let mbps = assert_stays_and_agrees(100, 20);
    let (cell, costs, _) = theory(100);
    assert_agrees("the chain", mbps, countdown::predict(&cell, &costs));
}

#[test]
fn five_hundred_saturated_stations_stay_associated() {
    assert_stays_and_agrees(500, 20);
}
