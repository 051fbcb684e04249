//! Compares data structures for the deadlines of the medium. Each one runs the same saturated cells and a
//! large network, and all must give the same result. `cargo run --release -p sim --example queues`.
//!
//! The workload is that of the medium. Every frame cancels the deadlines of all stations that hear it and
//! sets them again when it ends. So four of five deadlines are never reached. Heaps keep a cancelled deadline
//! until it reaches the top (lazy deletion), and so pay for every deadline that is set. The blocks that the
//! medium uses pay for one store, and for a scan of what changed.

mod structures;

use std::time::Instant as Clock;

use links::air::Air;
use links::air::schedule::{Blocks, Schedule};
use sim::World;
use sim::cells::{Plan, cell, network};
use structures::{Binary, Calendar, Lazy, Radix, Wheel};
use units::wifi::Standard;
use units::{Bitrate, Duration};

struct Case {
    name: &'static str,
    plan: Plan,
    time: Duration,
}

fn saturated(name: &'static str, senders: u32) -> Case {
    Case {
        name,
        plan: cell(Standard::A, Bitrate::from_mbps(54), senders, 1_470),
        time: Duration::from_secs(10),
    }
}

fn large(name: &'static str, access_points: u32) -> Case {
    Case {
        name,
        plan: network(access_points, 10),
        time: Duration::from_secs(1),
    }
}

/// Packets received, and wall time in ns per frame on the air, best of three.
fn run<S: Schedule>(case: &Case) -> (u64, f64) {
    let mut best = f64::INFINITY;
    let mut received = 0;
    for _ in 0..3 {
        let mut world =
            World::<Air<S>>::scheduled(1, &case.plan.air, case.plan.flows.clone()).expect("a sound plan");
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
        saturated("1 station", 1),
        saturated("10 stations", 10),
        saturated("50 stations", 50),
        large("10 cells of 11", 10),
        large("100 cells of 11", 100),
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
