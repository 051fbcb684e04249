//! Which structure keeps the air's deadlines best: each one runs the same saturated cells and a large network, and must give the same
//! result. `cargo run --release -p sim --example queues`.
//!
//! The stream is the medium's own: every frame takes away the deadlines of all who hear it and sets them anew when it ends, so that of
//! five deadlines set four are never reached. Heaps keep what was taken away until it comes up (lazy deletion); they pay for every
//! deadline that is set. The blocks that the air uses pay for one store, and for a scan of what changed.

mod structures;

use std::time::Instant as Clock;

use links::Position;
use links::air::schedule::{Blocks, Schedule};
use links::air::{AirConfig, Destination, StationConfig, StationId};
use sim::{Flow, Pace, World};
use structures::{Binary, Calendar, Lazy, Radix, Wheel};
use units::wifi::Standard;
use units::{Duration, Instant};

struct Case {
    name: &'static str,
    config: AirConfig,
    flows: Vec<Flow>,
    time: Duration,
}

fn flow(from: u32, to: u32) -> Flow {
    Flow {
        from: StationId(from),
        to: Destination::Station(StationId(to)),
        payload: 1_470,
        pace: Pace::Saturated,
        start: Instant::ZERO,
    }
}

fn at(x: u32, y: u32) -> Position {
    Position {
        x_mm: i64::from(x) * 1_000,
        y_mm: i64::from(y) * 1_000,
    }
}

fn cell(name: &'static str, senders: u32, time: Duration) -> Case {
    let station = |number| StationConfig::new(&format!("{number}"), Standard::A, at(0, 0));
    Case {
        name,
        config: AirConfig::new(Standard::A, (0..=senders).map(station).collect()),
        flows: (1..=senders).map(|number| flow(number, 0)).collect(),
        time,
    }
}

/// Cells of eleven stations, one every 100 m.
fn network(name: &'static str, side: u32, time: Duration) -> Case {
    let place = |cell: u32, number: u32| at(cell % side * 100 + number, cell / side * 100);
    let numbers = 0..side * side * 11;
    let station = |number| {
        let name = format!("{number}");
        StationConfig::new(&name, Standard::A, place(number / 11, number % 11))
    };
    Case {
        name,
        config: AirConfig::new(Standard::A, numbers.clone().map(station).collect()),
        flows: numbers
            .filter(|number| number % 11 > 0)
            .map(|number| flow(number, number / 11 * 11))
            .collect(),
        time,
    }
}

/// Packets received, and nanoseconds of wall time for each frame on the air, best of three.
fn run<S: Schedule>(case: &Case) -> (u64, f64) {
    let mut best = f64::INFINITY;
    let mut received = 0;
    for _ in 0..3 {
        let mut world = World::<S>::scheduled(1, &case.config, case.flows.clone()).expect("a sound plan");
        let clock = Clock::now();
        world.run_for(case.time);
        let frames = world.air().transmissions() as f64;
        best = best.min(clock.elapsed().as_secs_f64() * 1e9 / frames);
        received = world.total().received;
    }
    (received, best)
}

fn main() {
    let cases = [
        cell("1 station", 1, Duration::from_secs(20)),
        cell("10 stations", 10, Duration::from_secs(10)),
        cell("50 stations", 50, Duration::from_secs(10)),
        network("100 cells of 11", 10, Duration::from_millis(1_000)),
    ];
    println!(
        "{:18} {:>9} {:>9} {:>9} {:>9} {:>9}   ns for each frame on the air",
        "", "blocks", "binary", "radix", "wheel", "calendar"
    );
    for case in &cases {
        let results = [
            run::<Blocks>(case),
            run::<Lazy<Binary>>(case),
            run::<Lazy<Radix>>(case),
            run::<Lazy<Wheel>>(case),
            run::<Lazy<Calendar>>(case),
        ];
        print!("{:18}", case.name);
        results.iter().for_each(|(_, nanos)| print!(" {nanos:9.0}"));
        println!();
        assert!(
            results.iter().all(|(received, _)| *received == results[0].0),
            "{results:?}"
        );
    }
}
