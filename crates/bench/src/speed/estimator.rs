//! `estimator`: frames of an access point that the delivery estimator processes per second on one core.
//!
//! There are five streams, with one receiver to sixty. The quoted figure is that of the slowest one.

use std::hint::black_box;
use std::time::Instant as Wall;

use policy::estimate::delivery::{Config, Delivery, Frame, Receiver, Scope};
use trace::{BenchRow, Better};
use units::{Bitrate, Duration, Instant, MacAddr, Ratio, Rng, SeqNum};

use crate::declaration::Setup;

/// Frames of one stream, a multiple of an aggregate's.
const FRAMES: usize = 1 << 16;
/// How often a stream is processed in one run.
const ROUNDS: usize = 64;
/// Time between frames. 50,000 frames per second are 600 Mb/s of full frames.
const SPACING: Duration = Duration::from_micros(20);
/// Share of the sent frames that are never heard, and of the heard ones that have the retry bit set.
const A_FIFTH: Ratio = Ratio::from_ppm(200_000);

/// A stream of frames, and whose frames count.
#[derive(Debug, Clone, Copy)]
struct Stream {
    name: &'static str,
    /// Receivers beside us.
    others: u32,
    /// Whether every receiver has a counter of its own.
    own_counters: bool,
    scope: Scope,
}

const STREAMS: [Stream; 5] = [
    stream("to_us", 0, true, Scope::Ours),
    stream("to_8_ours_counted", 7, true, Scope::Ours),
    stream("to_8_all_counted", 7, true, Scope::Everybody),
    stream("to_61_all_counted", 60, true, Scope::Everybody),
    stream("to_8_one_counter", 7, false, Scope::Ours),
];

const fn stream(name: &'static str, others: u32, own_counters: bool, scope: Scope) -> Stream {
    Stream {
        name,
        others,
        own_counters,
        scope,
    }
}

/// Runs the benchmark.
pub fn run(setup: &Setup) -> anyhow::Result<Vec<BenchRow>> {
    let runs = setup.trials();
    let measured: Vec<(&str, Vec<f64>)> = STREAMS
        .iter()
        .map(|stream| (stream.name, stream.rates(setup.seed, runs)))
        .collect();
    let slowest = measured
        .iter()
        .min_by(|one, other| median(&one.1).total_cmp(&median(&other.1)));
    let row = setup.only_row();
    let row = slowest.map_or(row.clone(), |(_, rates)| row.trials(rates));
    Ok(vec![measured.iter().fold(row, |row, (name, rates)| {
        row.with(name, median(rates).round())
    })])
}

fn median(figures: &[f64]) -> f64 {
    let row = BenchRow::new("", "", Better::Higher).trials(figures);
    row.ours.unwrap_or(f64::NAN)
}

impl Stream {
    fn rates(self, seed: u64, runs: u32) -> Vec<f64> {
        let frames = self.frames(seed);
        (0..runs).map(|_| self.frames_per_second(&frames)).collect()
    }

    fn frames_per_second(self, frames: &[Frame]) -> f64 {
        let config = Config {
            scope: self.scope,
            ..Config::HT
        };
        let mut delivery = Delivery::new(config);
        let started = Wall::now();
        let mut now = Instant::ZERO;
        for _ in 0..ROUNDS {
            for frame in frames {
                now += SPACING;
                delivery.hear(now, frame);
            }
            black_box(delivery.estimate(now));
        }
        (frames.len() * ROUNDS) as f64 / started.elapsed().as_secs_f64()
    }

    /// Frames of an access point: some are lost, some repeated, some late.
    fn frames(self, seed: u64) -> Vec<Frame> {
        let mut rng = Rng::named(seed, self.name);
        let mut frames = Vec::with_capacity(FRAMES);
        let mut numbers = vec![SeqNum::default(); self.others as usize + 1];
        while frames.len() < FRAMES {
            let station = rng.below(u64::from(self.others) + 1) as u32;
            let number = &mut numbers[if self.own_counters { station as usize } else { 0 }];
            *number = number.next();
            if !rng.chance(A_FIFTH) {
                let aggregate = self.own_counters.then_some(frames.len() as u32 / 16);
                frames.push(Frame {
                    receiver: receiver(station),
                    tid: self.own_counters.then_some(0),
                    number: *number,
                    retry: rng.chance(A_FIFTH),
                    rate: Bitrate::from_mbps(54),
                    bytes: 1_536,
                    aggregate,
                });
            }
        }
        delay_some(&mut rng, &mut frames);
        frames
    }
}

fn receiver(station: u32) -> Receiver {
    match station {
        0 => Receiver::Us,
        station => Receiver::Other(MacAddr::local(station)),
    }
}

/// Delays one frame in ten by up to seven places.
fn delay_some(rng: &mut Rng, frames: &mut [Frame]) {
    for at in 0..frames.len() - 8 {
        if rng.chance(Ratio::from_ppm(100_000)) {
            frames.swap(at, at + rng.below(8) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::estimate::delivery::Estimate;

    /// Of 100 first attempts 80 are heard, 64 of them with the retry bit clear. So the benchmark measures a
    /// working estimator.
    #[test]
    fn every_stream_leads_to_the_estimate_it_was_made_for() {
        for stream in STREAMS {
            let mut delivery = Delivery::new(Config {
                scope: stream.scope,
                ..Config::HT
            });
            let mut now = Instant::ZERO;
            for frame in &stream.frames(1) {
                now += SPACING;
                delivery.hear(now, frame);
            }
            let Estimate::Known { delivered, frames } = delivery.estimate(now) else {
                panic!("{}: {:?}", stream.name, delivery.estimate(now))
            };
            assert!(frames > 2_500, "{}: {frames}", stream.name);
            // 2,500 frames: 0.01 is one standard deviation. Sixty receivers are more than the estimator can
            // track.
            let error = (delivered.as_f64() - 0.64).abs();
            assert!(error < 0.035, "{}: {delivered}", stream.name);
        }
    }
}
