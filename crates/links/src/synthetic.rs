//! Synthetic cellular traces: rates that wander, and outages that hold on for a while.
//!
//! # Sources
//! - Winstein, Sivaraman and Balakrishnan 2013 ("Stochastic forecasts achieve high throughput and low delay over cellular networks", §3.1):
//!   deliveries are a Poisson process whose rate is a Brownian motion; a rate of zero is sticky and is left with a certain rate. Their
//!   parameters: σ = 200 packets/s/√s, one outage a second left, at most 1,000 packets/s.
//! - 3GPP TS 36.211 §4.1 (LTE: subframes of 1 ms), TS 25.308 §5.2 (HSDPA: 2 ms).
//!
//! # Where we differ, and why
//! 1. The rate is reflected at its largest value, so that it is a fixed number on the mean; the paper clips its forecast there.
//! 2. The rate moves in steps of 20 ms, the paper's tick.
//!
//! # Checked by
//! `tests`: mean rate, outages, the spacing of subframes, one seed one trace.

use alloc::vec::Vec;
use units::{Bitrate, Duration, Rng};

use crate::opportunities::OPPORTUNITY;

/// How a synthetic cell behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synthetic {
    /// The largest rate.
    pub most: Bitrate,
    /// How far the rate wanders in a second, in Mb/s: the standard deviation, which grows as the square root of time.
    pub wander: Bitrate,
    /// How long an outage lasts in the mean; one begins whenever the rate has wandered to zero.
    pub outage: Duration,
    /// Deliveries happen at multiples of this.
    pub subframe: Duration,
}

impl Synthetic {
    /// LTE of Sprout's measurements: up to 12 Mb/s, σ of 2.4 Mb/s in a second, outages of a second.
    pub const LTE: Self = Self {
        most: Bitrate::from_kbps(12_000),
        wander: Bitrate::from_kbps(2_400),
        outage: Duration::from_secs(1),
        subframe: Duration::from_millis(1),
    };
    /// HSDPA: a quarter of that.
    pub const UMTS: Self = Self {
        most: Bitrate::from_kbps(3_000),
        wander: Bitrate::from_kbps(600),
        outage: Duration::from_secs(1),
        subframe: Duration::from_millis(2),
    };

    /// A trace of delivery opportunities for [`crate::CellRate::Trace`]; the last one is at `length`, where it begins again.
    pub fn trace(&self, seed: u64, name: &str, length: Duration) -> Vec<Duration> {
        let mut rng = Rng::named(seed, &alloc::format!("{name}/synthetic"));
        let (most, wander) = (packets(self.most), packets(self.wander));
        let tick = TICK.as_secs_f64();
        let escape = tick / self.outage.as_secs_f64().max(tick);
        let (mut rate, mut at) = (most * rng.unit(), Duration::ZERO);
        let mut times = Vec::new();
        while at < length {
            let step = wander * libm::sqrt(tick) * rng.normal();
            // Out of an outage only by chance; otherwise a step, down to zero at most.
            rate = if rate > 0.0 || rng.unit() < escape {
                let next = (rate + step).max(0.0);
                if next > most { 2.0 * most - next } else { next }
            } else {
                0.0
            };
            self.deliver(&mut rng, at, rate * tick, &mut times);
            at += TICK;
        }
        times.retain(|&time| time < length);
        times.push(length);
        times
    }

    /// One tick's deliveries: their number is Poisson, their places uniform.
    fn deliver(&self, rng: &mut Rng, at: Duration, mean: f64, times: &mut Vec<Duration>) {
        let first = times.len();
        let (limit, mut product) = (libm::exp(-mean), rng.unit());
        while product > limit {
            let offset = TICK.mul_f64(rng.unit());
            let subframes = (at + offset).as_nanos().div_ceil(self.subframe.as_nanos().max(1));
            times.push(self.subframe * subframes as u32);
            product *= rng.unit();
        }
        times[first..].sort_unstable();
    }
}

/// The rate changes once in this time.
const TICK: Duration = Duration::from_millis(20);

fn packets(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 / f64::from(OPPORTUNITY * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn mbps(trace: &[Duration], length: Duration) -> f64 {
        trace.len() as f64 * 12_000.0 / 1e6 / length.as_secs_f64()
    }

    #[test]
    fn the_mean_is_that_of_a_wandering_rate_less_its_outages() {
        for (cell, most) in [(Synthetic::LTE, 12.0), (Synthetic::UMTS, 3.0)] {
            let trace = cell.trace(1, "cell", HOUR);
            let mean = mbps(&trace, HOUR);
            // Uniform between zero and the largest, less the outages.
            assert!((0.15..0.5).contains(&(mean / most)), "{mean} of {most}");
            assert!(trace.is_sorted() && trace.last() == Some(&HOUR));
            assert!(
                trace
                    .iter()
                    .all(|time| time.as_nanos() % cell.subframe.as_nanos() == 0)
            );
        }
    }

    #[test]
    fn outages_happen_and_end() {
        let trace = Synthetic::LTE.trace(2, "cell", HOUR);
        let gaps = trace.windows(2).map(|pair| pair[1] - pair[0]);
        let long: Vec<_> = gaps.filter(|gap| *gap > Duration::from_millis(500)).collect();
        assert!(long.len() > 20, "{}", long.len());
        let mean = long.iter().sum::<Duration>() / long.len() as u32;
        assert!(
            (Duration::from_millis(800)..Duration::from_secs(6)).contains(&mean),
            "{mean:?}"
        );
    }

    #[test]
    fn one_seed_is_one_trace_and_names_tell_them_apart() {
        let trace = |seed, name| Synthetic::UMTS.trace(seed, name, Duration::from_secs(60));
        assert_eq!(trace(1, "a"), trace(1, "a"));
        assert_ne!(trace(1, "a"), trace(2, "a"));
        assert_ne!(trace(1, "a"), trace(1, "b"));
    }
}
