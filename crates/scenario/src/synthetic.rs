//! Synthetic cellular rate traces.
//!
//! # Sources
//! - Winstein, Sivaraman, Balakrishnan: Stochastic forecasts achieve high throughput and low delay over cellular networks
//!   (Sprout, NSDI 2013), §3.1: deliveries are a Poisson process whose rate is in Brownian motion with 200 packets/s/√s,
//!   looked at every 20 ms, with outages from time to time.
//!
//! # Where we differ, and why
//! 1. Outages last a given time instead of an exponentially distributed one, so that a test knows what to find.
//! 2. The rate is reflected at two bounds, so that a minute of it has the mean that the bounds promise.
//! 3. A Poisson count is drawn as a row of trials of 50 µs, which needs no logarithm and is the same on every machine.
//!
//! # Checked by
//! `tests/shipped.rs`: mean, gaps and period; and that the shipped trace is what this makes.

use units::{Duration, Ratio, Rng};

/// What a synthetic trace is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// Where its numbers come from.
    pub seed: u64,
    /// It begins again after this long.
    pub period: Duration,
    /// The rate stays between these, in packets per second: at most 10,000.
    pub packets_per_s: (u32, u32),
    /// Deviation of the rate after one second, in packets per second.
    pub volatility: u32,
    /// How long an outage lasts.
    pub outage: Duration,
    /// From the end of one outage to the next: uniform between these.
    pub covered: (Duration, Duration),
}

impl Synthetic {
    /// The shipped `lte-gaps.down`: 1.2 to 10.8 Mb/s, 500 ms of nothing every 4 to 9 s.
    pub const LTE_GAPS: Self = Self {
        seed: 1,
        period: Duration::from_secs(60),
        packets_per_s: (100, 900),
        volatility: 200,
        outage: Duration::from_millis(500),
        covered: (Duration::from_secs(4), Duration::from_secs(9)),
    };

    /// The delivery opportunities, in milliseconds; the last one is the period.
    pub fn times_ms(&self) -> Vec<u32> {
        let outages = self.outages();
        let mut rate = Walk::new(self);
        let mut trials = Rng::named(self.seed, "synthetic/deliveries");
        let period = self.period.as_millis() as u32;
        let mut times: Vec<u32> = Vec::new();
        for ms in 0..period {
            if ms % TICK_MS == 0 {
                rate.step();
            }
            let delivered = (0..TRIALS_PER_MS)
                .filter(|_| trials.chance(rate.per_trial()))
                .count();
            if !outages.iter().any(|outage| outage.contains(&ms)) {
                times.extend(std::iter::repeat_n(ms, delivered));
            }
        }
        times.push(period);
        times
    }

    /// Outages in milliseconds; the last one ends before the period does.
    fn outages(&self) -> Vec<std::ops::Range<u32>> {
        let mut rng = Rng::named(self.seed, "synthetic/outages");
        let mut next = |end: u32| {
            let covered = self.covered.0 + rng.duration_up_to(self.covered.1 - self.covered.0);
            let begin = end + covered.as_millis() as u32;
            let outage = begin..begin + self.outage.as_millis() as u32;
            (u128::from(outage.end) < self.period.as_millis()).then_some(outage)
        };
        let first = next(0);
        std::iter::successors(first, |last| next(last.end)).collect()
    }
}

const TICK_MS: u32 = 20;
const TRIALS_PER_MS: u32 = 20;

/// The rate in Brownian motion between two bounds.
struct Walk {
    rng: Rng,
    rate: f64,
    bounds: (f64, f64),
    deviation: f64,
}

impl Walk {
    fn new(of: &Synthetic) -> Self {
        let bounds = (f64::from(of.packets_per_s.0), f64::from(of.packets_per_s.1));
        Self {
            rng: Rng::named(of.seed, "synthetic/rate"),
            rate: (bounds.0 + bounds.1) / 2.0,
            bounds,
            deviation: f64::from(of.volatility) * (f64::from(TICK_MS) / 1e3).sqrt(),
        }
    }

    fn step(&mut self) {
        let (low, high) = self.bounds;
        let free = self.rate + self.rng.normal() * self.deviation;
        let reflected = if free < low {
            2.0 * low - free
        } else if free > high {
            2.0 * high - free
        } else {
            free
        };
        self.rate = reflected.clamp(low, high);
    }

    fn per_trial(&self) -> Ratio {
        Ratio::clamped(self.rate / 1e3 / f64::from(TRIALS_PER_MS))
    }
}
