//! Radio path between one access point and the client: distance, walls, shadowing, fading, and the best
//! rates.
//!
//! # Sources
//! - Log-distance path loss (Rappaport, Wireless Communications, §4.9), by default with the numbers of ITU-R
//!   P.1238. Walls on the straight line as in COST 231's multi-wall model.
//! - Gudmundson 1991: shadowing in dB is normal, and its correlation falls exponentially with the distance
//!   moved.
//! - Rice fading: a line-of-sight component and a complex Gaussian one. The scattered part is a first-order
//!   Gauss–Markov process.
//!
//! # Where we differ, and why
//! 1. The autocorrelation of the scattered part is exponential (`coherence`), not Jakes' Bessel function. The
//!    process can then advance to any time in one step, whenever a frame is sent.
//! 2. Shadowing depends on the path walked: a return to the same place gives another value.
//!
//! # Checked by
//! `signal_tests`: distances by hand, walls crossed and missed, moments of shadowing and fading.

use alloc::format;
use alloc::vec::Vec;
use units::wifi::Standard;
use units::{Bitrate, Db, Dbm, Duration, Instant, Rng};

use super::airtime;
use crate::config::{Fading, Propagation, Radio, Wall, WifiConfig};
use crate::io::side;
use crate::{Direction, Position};

impl WifiConfig {
    /// Mean received power with the client's radio there, without shadowing and fading.
    pub fn received(&self, direction: Direction, radio: Radio, walls: &[Wall]) -> Dbm {
        self.received_from(self.position, direction, radio, walls)
    }

    /// Mean SNR at the decoder (after implementation loss), without shadowing and fading.
    pub fn snr(&self, direction: Direction, radio: Radio, walls: &[Wall]) -> Db {
        self.snr_from(self.position, direction, radio, walls)
    }

    /// As [`WifiConfig::snr`], with the access point there.
    pub(crate) fn snr_from(&self, there: Position, direction: Direction, radio: Radio, walls: &[Wall]) -> Db {
        self.propagation
            .snr(self.received_from(there, direction, radio, walls))
    }

    fn received_from(&self, there: Position, direction: Direction, radio: Radio, walls: &[Wall]) -> Dbm {
        let power = match direction {
            Direction::Up => radio.power,
            Direction::Down => self.power,
        };
        power - self.propagation.loss(there, radio.position, walls)
    }
}

impl Propagation {
    /// Mean path loss between two places, at a distance of at least 1 m.
    pub fn loss(&self, from: Position, to: Position, walls: &[Wall]) -> Db {
        let metres = (distance_mm(from, to) / 1_000.0).max(1.0);
        let distance = f64::from(self.exponent_centi) / 10.0 * libm::log10(metres);
        let crossed = walls
            .iter()
            .filter(|wall| cross((from, to), (wall.from, wall.to)));
        crossed.fold(self.reference + Db::round_from(distance), |loss, wall| {
            loss + wall.loss
        })
    }
}

fn distance_mm(from: Position, to: Position) -> f64 {
    let (x, y) = step(from, to);
    libm::hypot(x as f64, y as f64)
}

fn step(from: Position, to: Position) -> (i64, i64) {
    (
        to.x_mm.saturating_sub(from.x_mm),
        to.y_mm.saturating_sub(from.y_mm),
    )
}

/// Whether two lines cross. A line that only touches the other's end does not.
fn cross(one: (Position, Position), other: (Position, Position)) -> bool {
    let side = |(from, to): (Position, Position), point: Position| {
        let (line, way) = (step(from, to), step(from, point));
        let across = i128::from(line.0) * i128::from(way.1);
        across.cmp(&(i128::from(line.1) * i128::from(way.0))) as i8
    };
    let parted = |line, by: (Position, Position)| side(line, by.0) * side(line, by.1) < 0;
    parted(one, other) && parted(other, one)
}

/// Current radio path between one access point and the client.
#[derive(Debug)]
pub(crate) struct Signal {
    standard: Standard,
    /// The fixed rate, if the access point has one.
    fixed: Option<Bitrate>,
    /// Mean SNR at this place, per direction: see [`side`].
    place: [Db; 2],
    attenuation: Db,
    shadow: Option<Shadow>,
    fading: Option<Rice>,
    /// Equally likely gains of the fading in dB, at which the rates are compared.
    gains: Vec<f64>,
    rates: [Bitrate; 2],
    /// The quantised mean SNR, per direction, for which the rates were chosen.
    chosen_for: Option<[i32; 2]>,
}

/// Quantisation of the mean SNR, in hundredths of a dB. Rates are chosen again only when it changes, because
/// that compares all rates.
const RATE_STEP: i32 = 20;

impl Signal {
    pub(crate) fn new(seed: u64, config: &WifiConfig, radio: Radio, walls: &[Wall]) -> Self {
        let stream = |what| Rng::named(seed, &format!("{}/{what}", config.name));
        let fading = config.propagation.fading;
        let mut signal = Self {
            standard: config.standard,
            fixed: config.rate,
            place: [Db::default(); 2],
            attenuation: Db::default(),
            shadow: config
                .propagation
                .shadowing
                .map(|shadowing| Shadow::new(shadowing, stream("shadow"))),
            fading: fading.map(|fading| Rice::new(fading, stream("fading"))),
            gains: fading.map_or_else(
                || [0.0].into(),
                |fading| equally_likely_gains(fading, stream("gains")),
            ),
            rates: [config.standard.basic_rate(); 2],
            chosen_for: None,
        };
        signal.stand(config, radio, walls);
        signal
    }

    /// Moves the client to a place that is `moved_mm` from its last one.
    pub(crate) fn moved(&mut self, moved_mm: f64, config: &WifiConfig, radio: Radio, walls: &[Wall]) {
        if let Some(shadow) = &mut self.shadow {
            shadow.walk(moved_mm);
        }
        self.stand(config, radio, walls);
    }

    pub(crate) fn attenuate(&mut self, attenuation: Db) {
        self.attenuation = attenuation;
        self.choose_rates();
    }

    /// Mean SNR at the decoder, with shadowing and attenuation.
    pub(crate) fn mean(&self, direction: Direction) -> Db {
        let shadow = self
            .shadow
            .as_ref()
            .map_or(Db::default(), |shadow| Db::round_from(shadow.value));
        self.place[side(direction)] + shadow - self.attenuation
    }

    /// Gain of the fading at this moment, in dB: the same in both directions.
    pub(crate) fn fade(&mut self, now: Instant) -> f64 {
        self.fading.as_mut().map_or(0.0, |fading| fading.gain_db(now))
    }

    /// The rate with the highest expected goodput.
    pub(crate) fn rate(&self, direction: Direction) -> Bitrate {
        self.rates[side(direction)]
    }

    fn stand(&mut self, config: &WifiConfig, radio: Radio, walls: &[Wall]) {
        self.place = [Direction::Up, Direction::Down].map(|direction| config.snr(direction, radio, walls));
        self.choose_rates();
    }

    fn choose_rates(&mut self) {
        let steps = [Direction::Up, Direction::Down]
            .map(|direction| self.mean(direction).as_centi().div_euclid(RATE_STEP));
        if self.chosen_for == Some(steps) {
            return;
        }
        self.chosen_for = Some(steps);
        let [up, down] = steps.map(|step| Db::from_centi(step * RATE_STEP + RATE_STEP / 2).as_db_f64());
        self.rates = [self.best_rate(up, down), self.best_rate(down, up)];
    }

    fn best_rate(&self, there: f64, back: f64) -> Bitrate {
        let loss = |rate, bytes| {
            let losses = self.gains.iter();
            let losses = losses
                .map(|gain| airtime::attempt_loss(self.standard, rate, there + gain, back + gain, bytes));
            losses.sum::<f64>() / self.gains.len() as f64
        };
        airtime::best(self.standard, self.fixed, loss).0
    }
}

/// Log-normal shadowing along the client's path, in dB.
#[derive(Debug)]
struct Shadow {
    config: crate::config::Shadowing,
    rng: Rng,
    value: f64,
}

impl Shadow {
    fn new(config: crate::config::Shadowing, mut rng: Rng) -> Self {
        let value = rng.normal() * config.deviation.as_db_f64();
        Self { config, rng, value }
    }

    fn walk(&mut self, moved_mm: f64) {
        let kept = libm::exp(-moved_mm / (self.config.distance_mm.max(1) as f64));
        let fresh = self.config.deviation.as_db_f64() * libm::sqrt(1.0 - kept * kept);
        self.value = kept * self.value + fresh * self.rng.normal();
    }
}

/// Rice (or Rayleigh) fading with mean power 1.
#[derive(Debug)]
struct Rice {
    steady: f64,
    scattered: f64,
    coherence: Duration,
    rng: Rng,
    /// The scattered part. Each component has variance ½.
    state: [f64; 2],
    at: Instant,
}

/// Deepest fade. Below it, the receiver's own noise dominates anyway.
const DEEPEST_POWER: f64 = 1e-6;

impl Rice {
    fn new(config: Fading, mut rng: Rng) -> Self {
        let k = config.k_factor.map_or(0.0, Db::linear);
        let state = [(); 2].map(|()| rng.normal() * core::f64::consts::FRAC_1_SQRT_2);
        Self {
            steady: libm::sqrt(k / (k + 1.0)),
            scattered: libm::sqrt(1.0 / (k + 1.0)),
            coherence: config.coherence.max(Duration::from_nanos(1)),
            rng,
            state,
            at: Instant::ZERO,
        }
    }

    fn gain_db(&mut self, now: Instant) -> f64 {
        let passed = now.since(self.at);
        if !passed.is_zero() {
            self.advance(passed.as_secs_f64() / self.coherence.as_secs_f64());
            self.at = now;
        }
        let [re, im] = self.state.map(|part| part * self.scattered);
        let power = (self.steady + re) * (self.steady + re) + im * im;
        10.0 * libm::log10(power.max(DEEPEST_POWER))
    }

    fn advance(&mut self, coherences: f64) {
        let kept = libm::exp(-coherences);
        let fresh = libm::sqrt((1.0 - kept * kept) / 2.0);
        for part in &mut self.state {
            *part = kept * *part + fresh * self.rng.normal();
        }
    }
}

const GAINS: usize = 16;
const SAMPLES_PER_GAIN: usize = 64;

/// Centres of equally likely ranges of the fading's gain, from random draws.
fn equally_likely_gains(config: Fading, rng: Rng) -> Vec<f64> {
    let mut rice = Rice::new(config, rng);
    let apart = rice.coherence * 20;
    let mut at = Instant::ZERO;
    let mut draws: Vec<f64> = (0..GAINS * SAMPLES_PER_GAIN)
        .map(|_| {
            at += apart;
            rice.gain_db(at)
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    draws
        .chunks(SAMPLES_PER_GAIN)
        .map(|range| range[SAMPLES_PER_GAIN / 2])
        .collect()
}

pub(crate) fn moved_mm(from: Position, to: Position) -> f64 {
    distance_mm(from, to)
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
