//! Synthetic cellular rate traces: a rate that wanders, and outages.
//!
//! # Sources
//! - Winstein, Sivaraman, Balakrishnan: Stochastic forecasts achieve high throughput and low delay over
//!   cellular networks (Sprout, NSDI 2013), §3.1: deliveries are a Poisson process whose rate is in Brownian
//!   motion with 200 packets/s/√s, observed every 20 ms, at most 1,000 packets/s. A rate of zero is sticky,
//!   and is left once a second on average.
//! - 3GPP TS 36.211 §4.1 (LTE: subframes of 1 ms), TS 25.308 §5.2 (HSDPA: 2 ms).
//!
//! # Where we differ, and why
//! 1. Outages may last a given time and begin at random ([`Outages::Drawn`]), so that a test knows what to
//!    find. The paper's begin with a rate of zero ([`Outages::AtZero`]).
//! 2. The rate is reflected at its bounds, so that a minute of it has the mean that they promise. The paper
//!    clips its forecast there.
//! 3. A Poisson count is drawn as a series of trials of 50 µs, which needs no logarithm and is the same on
//!    every machine.
//! 4. Delivery times are in whole milliseconds, as in Mahimahi's format.
//!
//! # Checked by
//! `tests`; `tests/shipped.rs`: mean, gaps and period; and that the shipped trace is what this makes.

#[cfg(test)]
mod tests;

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
    /// When nothing is delivered.
    pub outages: Outages,
    /// Deliveries happen at multiples of this, in milliseconds.
    pub subframe_ms: u32,
}

/// When nothing is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outages {
    /// In turn with coverage, beginning with coverage.
    Drawn {
        /// How long an outage lasts.
        lasts: Duration,
        /// From the end of one outage to the next: uniform between these.
        covered: (Duration, Duration),
    },
    /// An outage begins whenever the rate has wandered to its lower bound, zero. Its length is exponentially
    /// distributed with this mean.
    AtZero(Duration),
}

impl Synthetic {
    /// The shipped `lte-gaps.down`: 1.2 to 10.8 Mb/s, 500 ms of nothing every 4 to 9 s.
    pub const LTE_GAPS: Self = Self {
        seed: 1,
        period: Duration::from_secs(60),
        packets_per_s: (100, 900),
        volatility: 200,
        outages: Outages::Drawn {
            lasts: Duration::from_millis(500),
            covered: (Duration::from_secs(4), Duration::from_secs(9)),
        },
        subframe_ms: 1,
    };
    /// LTE as Sprout models it: up to 12 Mb/s, 2.4 Mb/s of deviation after a second, outages of a second.
    pub const LTE: Self = Self {
        packets_per_s: (0, 1_000),
        outages: Outages::AtZero(Duration::from_secs(1)),
        ..Self::LTE_GAPS
    };
    /// HSDPA: a quarter of that.
    pub const UMTS: Self = Self {
        packets_per_s: (0, 250),
        volatility: 50,
        subframe_ms: 2,
        ..Self::LTE
    };

    /// The delivery opportunities, in milliseconds; the last one is the period.
    pub fn times_ms(&self) -> Vec<u32> {
        let outages = self.drawn_outages();
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
            let at = ms.next_multiple_of(self.subframe_ms.max(1));
            if at < period && !outages.iter().any(|outage| outage.contains(&ms)) {
                times.extend(std::iter::repeat_n(at, delivered));
            }
        }
        times.push(period);
        times
    }

    /// Outages in milliseconds that are no matter of the rate; the last one ends before the period does.
    fn drawn_outages(&self) -> Vec<std::ops::Range<u32>> {
        let Outages::Drawn { lasts, covered } = self.outages else {
            return Vec::new();
        };
        let mut rng = Rng::named(self.seed, "synthetic/outages");
        let mut next = |end: u32| {
            let covered = covered.0 + rng.duration_up_to(covered.1 - covered.0);
            let begin = end + covered.as_millis() as u32;
            let outage = begin..begin + lasts.as_millis() as u32;
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
    /// Where a rate of zero is sticky: how likely it is left in a tick.
    escape: Option<Ratio>,
}

impl Walk {
    fn new(of: &Synthetic) -> Self {
        let bounds = (f64::from(of.packets_per_s.0), f64::from(of.packets_per_s.1));
        let ticks = |mean: Duration| mean.as_secs_f64() * 1e3 / f64::from(TICK_MS);
        Self {
            rng: Rng::named(of.seed, "synthetic/rate"),
            rate: (bounds.0 + bounds.1) / 2.0,
            bounds,
            deviation: f64::from(of.volatility) * (f64::from(TICK_MS) / 1e3).sqrt(),
            escape: match of.outages {
                Outages::Drawn { .. } => None,
                Outages::AtZero(mean) => Some(Ratio::clamped(1.0 / ticks(mean).max(1.0))),
            },
        }
    }

    fn step(&mut self) {
        let step = self.rng.normal() * self.deviation;
        self.rate = match self.escape {
            None => self.reflected(self.rate + step),
            // Upwards, or the outage would begin anew at once.
            Some(escape) if self.rate <= 0.0 => {
                if self.rng.chance(escape) {
                    self.reflected(step.abs())
                } else {
                    0.0
                }
            }
            Some(_) => self.reflected((self.rate + step).max(0.0)),
        };
    }

    fn reflected(&self, free: f64) -> f64 {
        let (low, high) = self.bounds;
        let reflected = if free < low {
            2.0 * low - free
        } else if free > high {
            2.0 * high - free
        } else {
            free
        };
        reflected.clamp(low, high)
    }

    fn per_trial(&self) -> Ratio {
        Ratio::clamped(self.rate / 1e3 / f64::from(TRIALS_PER_MS))
    }
}
