//! The radio path between one access point and the client: distance, walls, shadowing, fading, and the rates that fit.
//!
//! # Sources
//! - Log-distance path loss (Rappaport, Wireless Communications, §4.9), with the numbers of ITU-R P.1238 by default; walls on the
//!   straight line as in COST 231's multi-wall model.
//! - Gudmundson 1991: shadowing in dB is normal, and its correlation falls exponentially with the distance moved.
//! - Rice fading: a steady path and a complex Gaussian one; the scattered part is a first-order Gauss–Markov process.
//!
//! # Where we differ, and why
//! 1. The autocorrelation of the scattered part is exponential (`coherence`), not Jakes' Bessel function: it can be advanced to any
//!    time in one step, whenever a frame is sent.
//! 2. Shadowing belongs to the way walked: back at the same place it has another value.
//!
//! # Checked by
//! `signal_tests`: distances by hand, walls crossed and missed, moments of shadowing and fading.

use alloc::format;
use alloc::vec::Vec;
use units::wifi::{NOISE_FLOOR_MBM, Standard};
use units::{Bitrate, Db, Dbm, Duration, Instant, Rng};

use super::airtime;
use crate::config::{Fading, Propagation, Radio, Wall, WifiConfig};
use crate::io::side;
use crate::{Direction, Position};

const NOISE: Dbm = Dbm::from_mbm(NOISE_FLOOR_MBM);

impl WifiConfig {
    /// The mean received power with the client's radio there, without shadowing and fading.
    pub fn received(&self, direction: Direction, radio: Radio, walls: &[Wall]) -> Dbm {
        let power = match direction {
            Direction::Up => radio.power,
            Direction::Down => self.power,
        };
        power - self.propagation.loss(self.position, radio.position, walls)
    }

    /// The mean signal-to-noise ratio at the decoder (implementation loss taken off), without shadowing and fading.
    pub fn snr(&self, direction: Direction, radio: Radio, walls: &[Wall]) -> Db {
        self.received(direction, radio, walls) - NOISE - self.propagation.implementation_loss
    }
}

impl Propagation {
    /// The mean loss between two places; nobody is nearer than a metre.
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

/// Whether two lines cross; a line that only touches the other's end does not.
fn cross(one: (Position, Position), other: (Position, Position)) -> bool {
    let side = |(from, to): (Position, Position), point: Position| {
        let (line, way) = (step(from, to), step(from, point));
        let across = i128::from(line.0) * i128::from(way.1);
        across.cmp(&(i128::from(line.1) * i128::from(way.0))) as i8
    };
    let parted = |line, by: (Position, Position)| side(line, by.0) * side(line, by.1) < 0;
    parted(one, other) && parted(other, one)
}

/// The path between one access point and the client as it is now.
#[derive(Debug)]
pub(crate) struct Signal {
    standard: Standard,
    /// The only rate, if the access point has but one.
    fixed: Option<Bitrate>,
    /// Mean signal-to-noise ratio of this place, per direction: see [`side`].
    place: [Db; 2],
    attenuation: Db,
    shadow: Option<Shadow>,
    fading: Option<Rice>,
    /// Gains in dB at which the rates are weighed: equally likely values of the fading.
    gains: Vec<f64>,
    rates: [Bitrate; 2],
    /// The steps of the mean that the rates were chosen for.
    chosen_for: Option<[i32; 2]>,
}

/// Rates are chosen anew when the mean enters another step of this size, in hundredths of a decibel: choosing weighs all rates.
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

    /// The client stands there now, `moved_mm` from where it stood before.
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

    /// Mean signal-to-noise ratio at the decoder, shadowing and attenuation included.
    pub(crate) fn mean(&self, direction: Direction) -> Db {
        let shadow = self
            .shadow
            .as_ref()
            .map_or(Db::default(), |shadow| Db::round_from(shadow.value));
        self.place[side(direction)] + shadow - self.attenuation
    }

    /// The fading's gain at this moment, in dB: the same both ways.
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

/// Log-normal shadowing along the client's way, in dB.
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
    /// The scattered part, each component with variance ½.
    state: [f64; 2],
    at: Instant,
}

/// No fade is deeper than this: a receiver's own noise hides it anyway.
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

/// Middles of equally likely ranges of the fading's gain, by drawing from it.
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
