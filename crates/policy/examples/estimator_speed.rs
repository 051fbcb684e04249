//! How many frames per second of one core pass through the delivery estimator:
//! `cargo run --release -p policy --example estimator_speed`.

use std::hint::black_box;
use std::time::Instant as Clock;

use policy::estimate::delivery::{Config, Delivery, Estimate, Frame, Receiver, Scope};
use units::{Bitrate, Duration, Instant, MacAddr, Ratio, Rng, SeqNum};

const FRAMES: usize = 1 << 16;
const ROUNDS: usize = 64;

/// What an access point sends, at 50,000 frames a second: a fifth is lost, a fifth of the rest comes late with the retry bit set.
fn stream(stations: u32, tid: Option<u8>) -> Vec<Frame> {
    let mut rng = Rng::named(1, "stream");
    let mut frames = Vec::with_capacity(FRAMES);
    let mut numbers = vec![SeqNum::default(); stations as usize + 1];
    while frames.len() < FRAMES {
        let station = rng.below(u64::from(stations) + 1) as u32;
        let counter = tid.map_or(0, |_| station as usize);
        numbers[counter] = numbers[counter].next();
        if rng.chance(Ratio::from_ppm(200_000)) {
            continue;
        }
        frames.push(Frame {
            receiver: match station {
                0 => Receiver::Us,
                station => Receiver::Other(MacAddr::local(station)),
            },
            tid,
            number: numbers[counter],
            retry: rng.chance(Ratio::from_ppm(200_000)),
            rate: Bitrate::from_mbps(54),
            bytes: 1_536,
            aggregate: tid.map(|_| frames.len() as u32 / 16),
        });
    }
    swap_some(&mut rng, &mut frames);
    frames
}

/// One frame in ten comes up to eight places late.
fn swap_some(rng: &mut Rng, frames: &mut [Frame]) {
    for at in 0..frames.len() - 8 {
        if rng.chance(Ratio::from_ppm(100_000)) {
            frames.swap(at, at + rng.below(8) as usize);
        }
    }
}

fn measure(name: &str, config: Config, frames: &[Frame]) {
    let mut delivery = Delivery::new(config);
    let mut now = Instant::ZERO;
    let mut best = f64::MAX;
    for _ in 0..5 {
        let clock = Clock::now();
        for _ in 0..ROUNDS {
            for frame in frames {
                now += Duration::from_micros(20);
                delivery.hear(now, frame);
            }
            black_box(delivery.estimate(now));
        }
        best = best.min(clock.elapsed().as_secs_f64());
    }
    let million = (frames.len() * ROUNDS) as f64 / best / 1e6;
    let answer = match delivery.estimate(now) {
        Estimate::Known { delivered, frames } => format!("{delivered} of {frames} frames"),
        other => format!("{other:?}"),
    };
    println!("{name:44} {million:6.1} M frames/s   {answer}");
}

fn main() {
    let everybody = Config {
        scope: Scope::Everybody,
        ..Config::HT
    };
    measure("to us, one counter per TID", Config::HT, &stream(0, Some(0)));
    measure(
        "to us and 7 others, only ours counted",
        Config::HT,
        &stream(7, Some(0)),
    );
    measure("to us and 7 others, all counted", everybody, &stream(7, Some(0)));
    measure(
        "to us and 60 others, all counted",
        everybody,
        &stream(60, Some(0)),
    );
    measure(
        "to us and 7 others, one shared counter",
        Config::HT,
        &stream(7, None),
    );
}
