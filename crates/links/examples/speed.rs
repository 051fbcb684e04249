//! Measures how many packets per second each kind of link handles on one core:
//! `cargo run --release -p links --example speed`.
#![expect(
    clippy::disallowed_methods,
    reason = "it drives the room from outside and measures wall time"
)]

use std::time::Instant as Clock;

use links::wifi::Fading;
use links::*;
use units::{Bitrate, Duration, Instant};

/// Packets per measured run.
const PACKETS: u64 = 2_000_000;

/// A sender that keeps `window` packets in the link and follows the driver's contract.
fn pass(network: &mut Network, from: Instant, packets: u64, window: u64) -> Instant {
    let (mut now, mut sent, mut left) = (from, 0, 0);
    while left < packets {
        while sent < packets && sent - left < window {
            let packet = Packet {
                link: LinkId(0),
                direction: Direction::Down,
                bytes: 1_500,
                ect: false,
                flow: 0,
                token: sent,
            };
            network.handle(now, Input::Packet(packet));
            sent += 1;
        }
        let Some((at, _)) = network.wake_at() else { break };
        now = at;
        network.tick(now);
        while let Some(output) = network.poll() {
            left += u64::from(matches!(
                output,
                Output::Delivered { .. } | Output::Dropped { .. }
            ));
        }
    }
    now
}

fn measure(name: &str, config: impl Into<NetworkConfig>, packets: u64, window: u64) {
    let mut network = Network::new(1, config).expect("the links of this example are sound");
    network.handle(Instant::ZERO, Input::Associate(LinkId(0)));
    network.tick(Instant::from_secs(2));
    let warm = pass(&mut network, Instant::from_secs(2), packets / 20, window);
    let mut best = f64::MAX;
    let mut now = warm;
    for _ in 0..5 {
        let clock = Clock::now();
        now = pass(&mut network, now, packets, window);
        best = best.min(clock.elapsed().as_secs_f64());
    }
    println!("{name:32} {:6.2} M packets/s", packets as f64 / best / 1e6);
}

/// Access points on one channel, 15 m apart, with the client next to the first one. All send beacons.
fn wireless(aps: i64, medium: Medium) -> NetworkConfig {
    let ap = |n: i64| {
        let x_mm = n * 15_000;
        LinkConfig::Wifi(WifiConfig::new(&format!("ap{n}"), Position { x_mm, y_mm: 0 }))
    };
    NetworkConfig {
        links: (0..aps).map(ap).collect(),
        medium,
        ..NetworkConfig::default()
    }
}

/// Measures how long a move of the client among five access points takes. The driver waits for it.
fn measure_moves(name: &str, fading: Option<Fading>) {
    let access_point = |n: i64| {
        let mut config = WifiConfig::new(
            &format!("ap{n}"),
            Position {
                x_mm: n * 15_000,
                y_mm: 0,
            },
        );
        config.propagation.fading = fading;
        LinkConfig::Wifi(config)
    };
    let clock = Clock::now();
    let links: Vec<_> = (0..5).map(access_point).collect();
    let mut network = Network::new(1, links).expect("the links of this example are sound");
    println!(
        "{name:24} {:6.2} ms to build",
        clock.elapsed().as_secs_f64() * 1e3
    );
    let clock = Clock::now();
    for x_mm in 0..1_000 {
        network.handle(
            Instant::ZERO,
            Input::Moved(Position {
                x_mm: x_mm * 60,
                y_mm: 0,
            }),
        );
    }
    println!(
        "{name:24} {:6.2} us per move",
        clock.elapsed().as_secs_f64() * 1e3
    );
}

fn main() {
    let rate = Bitrate::from_mbps(250);
    let delay = Duration::from_millis(10);
    let cable = CableConfig::symmetric("cable", rate, delay);
    let mut managed = cable.clone();
    managed.down.queue = QueueConfig::codel(false);
    let trace: Vec<_> = (1..=10_000).map(|n| Duration::from_micros(n * 100)).collect();
    measure("cable", vec![LinkConfig::Cable(cable)], PACKETS, 600);
    measure("cable, CoDel", vec![LinkConfig::Cable(managed)], PACKETS, 600);
    measure(
        "cell, constant",
        vec![LinkConfig::Cell(CellConfig::constant("cell", rate, delay))],
        PACKETS,
        600,
    );
    measure(
        "cell, trace",
        vec![LinkConfig::Cell(CellConfig::traced(
            "cell",
            trace.clone(),
            trace,
            delay,
        ))],
        PACKETS,
        300,
    );
    for (aps, name) in [(1, "one access point"), (5, "five of one channel")] {
        for medium in [Medium::Exchanges, Medium::Frames] {
            let how = match medium {
                Medium::Exchanges => "wifi",
                Medium::Frames => "every frame",
                Medium::Weighted => "packet times",
            };
            measure(
                &format!("{how}, {name}"),
                wireless(aps, medium),
                PACKETS / 10,
                100,
            );
        }
    }
    let fading = Fading {
        k_factor: None,
        coherence: Duration::from_millis(30),
    };
    measure_moves("five access points", None);
    measure_moves("the same, fading", Some(fading));
}
